"""Two claims write the same row at the same time: the later one stands, whoever came first."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from django.db import connections

from echomq_app.fencing import FencedOff
from tests.django.fenced import Claim, Sheet, tables_in
from tests.eventually import eventually
from tests.servers.postgresql import PostgreSQL

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


@pytest.fixture
def sheet(on_postgresql: str, settings: Settings) -> Iterator[Sheet]:
    """A row on PostgreSQL."""
    settings.DATABASE_ROUTERS = ["tests.django.fenced.ToTheOther"]
    with tables_in(on_postgresql):
        yield Sheet.objects.create(text="blank")


def write(sheet: Sheet, claim: Claim, text: str) -> None:
    """Write as another process does that read the row a moment ago."""
    try:
        Sheet.objects.get(pk=sheet.pk).fenced_update(claim, text=text)
    finally:
        connections.close_all()


@pytest.mark.parametrize(("second", "text"), [(1, "by the first"), (3, "by the second")])
def test_a_write_that_waits_for_another_is_judged_by_what_that_has_written(
    sheet: Sheet, postgresql: PostgreSQL, second: int, text: str
) -> None:
    def waits() -> bool:
        return bool(postgresql.ask("SELECT pid FROM pg_locks WHERE NOT granted"))

    with ThreadPoolExecutor(1) as elsewhere:
        with sheet.fenced(Claim(2)):
            written = elsewhere.submit(write, sheet, Claim(second), "by the second")
            eventually(waits)
            sheet.text = "by the first"
            sheet.save()
        refused = written.exception()

    assert isinstance(refused, FencedOff) == (second == 1)
    assert Sheet.objects.get().text == text
