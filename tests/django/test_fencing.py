"""A row refuses what an older claim writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from asgiref.sync import async_to_sync
from django.db import migrations
from django.db.migrations.state import ModelState
from django.db.migrations.writer import MigrationWriter
from django.db.models import F

from echomq_app.fencing import FencedModel, FencedOff
from echomq_app.protocol.ids import encode
from tests.django.fenced import NEWER, OLDER, Audited, Bound, Claim, Sheet, tables_in

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.part("postgresql"))],
    autouse=True,
)
def _tables(request: pytest.FixtureRequest, settings: Settings) -> Iterator[None]:
    alias = "default"
    if request.param == "postgresql":
        alias = request.getfixturevalue("on_postgresql")
        settings.DATABASE_ROUTERS = ["tests.django.fenced.ToTheOther"]
    with tables_in(alias):
        yield


@pytest.fixture
def sheet() -> Sheet:
    """A row that nobody has written under a fence."""
    return Sheet.objects.create(text="blank", pages=1)


def text_of(sheet: Sheet) -> str:
    return Sheet.objects.get(pk=sheet.pk).text


def test_a_later_claim_writes_and_the_earlier_one_is_refused_from_then_on(sheet: Sheet) -> None:
    zombie = Sheet.objects.get()
    sheet.fenced_update(Claim(1), text="first")
    sheet.fenced_update(Claim(2), text="second")

    with pytest.raises(FencedOff) as refused:
        zombie.fenced_update(Claim(1), text="late")

    assert text_of(sheet) == "second"
    assert zombie.text == "blank"
    assert (refused.value.newer_job_id, refused.value.newer_fence) == (OLDER, 2)
    assert str(refused.value) == (
        f"fenced.Sheet {sheet.pk} was not written: claim 1 of job {OLDER} came too late: "
        "claim 2 of the same job has written it; stop, and write nothing more"
    )


def test_a_claim_may_write_as_often_as_it_likes(sheet: Sheet) -> None:
    for text in ("one", "two"):
        sheet.fenced_update(Claim(3), text=text)
        assert text_of(sheet) == sheet.text == text


def test_of_two_jobs_the_newer_wins_whatever_their_tokens(sheet: Sheet) -> None:
    sheet.fenced_update(Claim(7), text="older")
    sheet.fenced_update(Claim(1, NEWER), text="newer")

    with pytest.raises(FencedOff, match=f"claim 1 of the newer job {NEWER} has"):
        sheet.fenced_update(Claim(8), text="older again")

    assert text_of(sheet) == "newer"


def test_jobs_are_ordered_as_minted_though_text_would_be_sorted_otherwise(sheet: Sheet) -> None:
    assert (encode(10), encode(36)) == ("JOB0000000000A", "JOB0000000000a")
    sheet.fenced_update(Claim(1, encode(36)), text="a")

    with pytest.raises(FencedOff):
        sheet.fenced_update(Claim(1, encode(35)), text="Z")


def test_a_fence_is_raised_without_writing_anything_else(sheet: Sheet) -> None:
    sheet.fenced_update(Claim(2))

    with pytest.raises(FencedOff):
        sheet.fenced_update(Claim(1), text="late")
    assert text_of(sheet) == "blank"


def test_saving_what_was_read_long_ago_lowers_no_fence(sheet: Sheet) -> None:
    read_before = Sheet.objects.get()
    sheet.fenced_update(Claim(2), text="second")
    read_before.pages = 5
    read_before.save()

    with pytest.raises(FencedOff):
        sheet.fenced_update(Claim(1), text="late")
    sheet.refresh_from_db()
    assert (sheet.pages, sheet.fence) == (5, 2)


def test_a_row_that_is_gone_is_said_to_be_gone(sheet: Sheet) -> None:
    Sheet.objects.all().delete()

    with pytest.raises(Sheet.DoesNotExist):
        sheet.fenced_update(Claim(1), text="late")


def test_what_the_database_computes_is_read_back(sheet: Sheet) -> None:
    sheet.fenced_update(Claim(1), pages=F("pages") + 1, text="more")

    assert (sheet.pages, sheet.text, sheet.fence) == (2, "more", 1)


def test_an_awaited_write_is_refused_alike(sheet: Sheet) -> None:
    async_to_sync(sheet.afenced_update)(Claim(2), text="second")

    with pytest.raises(FencedOff):
        async_to_sync(sheet.afenced_update)(Claim(1), text="late")
    assert text_of(sheet) == "second"


def test_nothing_in_a_block_runs_when_a_newer_claim_has_written(sheet: Sheet) -> None:
    sheet.fenced_update(Claim(2))

    with pytest.raises(FencedOff), sheet.fenced(Claim(1)):
        Sheet.objects.all().delete()

    assert text_of(sheet) == "blank"


def test_a_block_that_raises_takes_its_writes_and_its_fence_back(sheet: Sheet) -> None:
    def write_and_fail() -> None:
        with sheet.fenced(Claim(2)):
            Sheet.objects.create(text="another")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()

    assert Sheet.objects.get().fence == 0


def test_a_block_writes_what_one_update_cannot() -> None:
    bound = Bound.objects.create(cover="none")
    with bound.fenced(Claim(1)):
        bound.cover = "linen"
        bound.save()

    with pytest.raises(FencedOff), bound.fenced(Claim(0)):
        bound.delete()
    assert Bound.objects.get().cover == "linen"


def test_a_model_below_the_fence_writes_beside_it(sheet: Sheet) -> None:
    bound = Bound.objects.create(cover="none")
    bound.fenced_update(Claim(1), text="one")

    with pytest.raises(FencedOff):
        bound.fenced_update(Claim(0), text="late")
    assert [text_of(one) for one in (sheet, bound)] == ["blank", "one"]


def test_a_value_in_another_table_than_the_fence_is_refused() -> None:
    audited = Audited.objects.create(title="2026")
    audited.fenced_update(Claim(1), verdict="sound")

    with pytest.raises(
        ValueError, match=r"fenced\.Audited\.title is not in the table of the fence"
    ):
        audited.fenced_update(Claim(2), title="2027", verdict="unsound")

    found = Audited.objects.get()
    assert (found.title, found.verdict, found.fence) == ("2026", "sound", 1)


def test_a_migration_of_a_project_needs_nothing_of_this_app() -> None:
    state = ModelState.from_model(Sheet)

    class First(migrations.Migration):
        operations = [migrations.CreateModel("Sheet", list(state.fields.items()), {}, state.bases)]

    written = MigrationWriter(First("0001_initial", "shop"), include_header=False).as_string()

    assert "('fence', models.BigIntegerField(default=0, editable=False))" in written
    assert "echomq" not in written
    assert FencedModel._meta.abstract
