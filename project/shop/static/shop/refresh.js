"use strict";

// Keeps the table of an order's jobs fresh until nothing can change by itself any more.
const live = document.getElementById("live");
const everyMs = 1000;
let shown = null;

async function latest() {
  try {
    const answer = await fetch(live.dataset.source);
    return answer.ok ? (await answer.text()).trim() : shown;
  } catch {
    return shown; // the site is away: keep what was last seen
  }
}

async function refresh() {
  const fresh = await latest();
  // A replaced table would take the keyboard's focus with it.
  if (fresh !== shown && !live.contains(document.activeElement)) {
    live.innerHTML = fresh;
    shown = fresh;
  }
  plan();
}

function plan() {
  if (!live.querySelector("[data-settled]")) {
    setTimeout(refresh, everyMs);
  }
}

plan();
