"""One set of a queue, page by page."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, QueryDict

from echomq_app.admin.forms import PAGE_SIZE, PageForm
from echomq_app.admin.job_rows import COLUMNS, EMPTY, TITLES, JobRow, job_rows
from echomq_app.admin.notes import notes
from echomq_app.admin.pages.frame import framed
from echomq_app.admin.tabs import Tab, tabs
from echomq_app.admin.trouble import FAILURES, Trouble, trouble
from echomq_app.connections import queue_named
from echomq_app.protocol.states import JobSet
from echomq_app.service.records import PageRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class SetContent:
    """What a set's page shows, or the trouble that hides it."""

    paused: bool | None = None
    tabs: list[Tab]
    rows: list[JobRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    next_cursor: str | None = None
    trouble: Trouble | None = None


def show_set(request: HttpRequest, site: AdminSite, queue: str, which: JobSet) -> HttpResponse:
    """Jobs of one set in the order and window that the query string asks for."""
    form = PageForm(which, request.GET)
    cursor = request.GET.get("after")
    asked = form.page_request(cursor) if form.is_valid() else None
    content = _read(queue, which, asked)
    return framed(
        request,
        site,
        "set.html",
        title=queue,
        subtitle=TITLES[which],
        queue=queue,
        which=which,
        form=form,
        cursor=cursor,
        content=content,
        columns=COLUMNS[which],
        empty=EMPTY[which],
        page_size=PAGE_SIZE,
        first_link=_link(request.GET, None),
        next_link=_link(request.GET, content.next_cursor),
        here=request.get_full_path(),
    )


def _read(queue: str, which: JobSet, asked: PageRequest | None) -> SetContent:
    shown = tabs(which, None)
    paused = None
    try:
        verbs = queue_named(queue)
        facts = verbs.facts()
        shown, paused = tabs(which, facts.counts), facts.paused
        if asked is None:
            return SetContent(tabs=shown, paused=paused)
        page = verbs.page(asked)
    except FAILURES as failure:
        return SetContent(tabs=shown, paused=paused, trouble=trouble(failure))
    return SetContent(
        paused=paused,
        tabs=shown,
        rows=job_rows(page),
        notes=notes(asked, page, facts),
        next_cursor=page.next_cursor,
    )


def _link(query: QueryDict, cursor: str | None) -> str:
    """This page's query string at ``cursor``, or at the start."""
    there = query.copy()
    there.pop("after", None)
    if cursor is not None:
        there["after"] = cursor
    return f"?{there.urlencode()}"
