// Tick or untick all jobs of a page. Without it each job is ticked for itself.
"use strict";

for (const form of document.querySelectorAll("form.emq-selection")) {
  const all = form.querySelector(".emq-all");
  const jobs = [...form.querySelectorAll("input[name=job]")];
  all.hidden = false;
  all.addEventListener("change", () => jobs.forEach((job) => { job.checked = all.checked; }));
  form.addEventListener("change", () => {
    const ticked = jobs.filter((job) => job.checked).length;
    all.checked = ticked === jobs.length;
    all.indeterminate = ticked > 0 && ticked < jobs.length;
  });
}
