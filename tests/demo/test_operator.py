"""The demo's operator and its password."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from project.demo.operator import NAME, ensure_operator

pytestmark = pytest.mark.django_db


def test_the_password_stays_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "operator.txt"

    password = ensure_operator(file)

    assert ensure_operator(file) == password
    assert file.stat().st_mode & 0o777 == 0o600
    operator = User.objects.get(username=NAME)
    assert operator.check_password(password)
    assert operator.is_superuser
    assert password not in operator.password


def test_a_password_that_fits_no_more_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "operator.txt"
    first = ensure_operator(file)
    operator = User.objects.get(username=NAME)
    operator.set_password("chosen by hand")
    operator.save()

    second = ensure_operator(file)

    assert second != first
    assert User.objects.get(username=NAME).check_password(second)
    assert file.stat().st_mode & 0o777 == 0o600


def test_each_state_folder_has_its_own_password(tmp_path: Path) -> None:
    first = ensure_operator(tmp_path / "one")
    User.objects.all().delete()

    assert ensure_operator(tmp_path / "two") != first
