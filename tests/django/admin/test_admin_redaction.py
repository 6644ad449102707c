from __future__ import annotations

import pytest

from echomq_app.admin.redaction import is_secret, redacted


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "userPassword",
        "DB_PASSWORD",
        "secret",
        "client-secret",
        "token",
        "access_token",
        "X-CSRF-Token",
        "Authorization",
        "api_key",
        "API-KEY",
        "apikey",
        "private_key",
        "aws_secret_access_key",
        "credentials",
        "Set-Cookie",
        "pwd",
        "jwt",
        "PIN",
    ],
)
def test_a_secrets_name_is_known_in_any_spelling(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["order", "key", "author", "pinned", "email", "spin", "", "passes"]
)
def test_other_names_are_shown(name: str) -> None:
    assert not is_secret(name)


def test_values_are_hidden_at_any_depth_and_the_original_is_untouched() -> None:
    value = {"a": [{"password": "x", "b": {"token": {"deep": 1}}}], "secret": None}

    hidden = redacted(value)

    assert hidden == {
        "a": [{"password": "(hidden)", "b": {"token": "(hidden)"}}],
        "secret": None,
    }
    assert value["a"] == [{"password": "x", "b": {"token": {"deep": 1}}}]
