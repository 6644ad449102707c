"""The vectors that lie beside the repository; only there, so a clone runs the rows in test_ids."""

from __future__ import annotations

import json
from typing import Any

import pytest

from echomq_app.protocol.errors import EchoMQError
from echomq_app.protocol.ids import encode, hash32, is_branded, parse
from echomq_app.protocol.keyspace import QueueKeys, slot
from tests.servers.parts import SHARED

pytestmark = pytest.mark.part("shared")

REFUSED_BY_NAME = {"a}b"}


@pytest.fixture(scope="module")
def vectors() -> dict[str, Any]:
    """What the file holds, by kind."""
    loaded: dict[str, Any] = json.loads((SHARED / "vectors.json").read_text())
    assert set(loaded) == {
        "encode",
        "parse",
        "extract",
        "hash32",
        "slot",
        "job_key",
        "backoff",
        "wire_version",
    }
    return loaded


def test_ids_are_encoded_as_the_vectors_say(vectors: dict[str, Any]) -> None:
    for vector in vectors["encode"]:
        try:
            told: Any = ["ok", encode(int(vector["snowflake"]), vector["ns"])]
        except EchoMQError:
            told = "error"
        assert told == vector["reply"], vector


def test_ids_are_parsed_as_the_vectors_say(vectors: dict[str, Any]) -> None:
    for vector in vectors["parse"]:
        valid = is_branded(vector["id"])
        told = ["ok", *parse(vector["id"])[:2]] if valid else "error"
        assert (told, valid) == (vector["reply"], vector["valid"]), vector


def test_the_parts_of_an_id_are_what_the_vectors_say(vectors: dict[str, Any]) -> None:
    for vector in vectors["extract"]:
        mint = parse(vector["id"])
        assert vector["reply"] == {
            "sequence": mint.sequence,
            "snowflake": mint.snowflake,
            "timestamp_ms": mint.ms,
            "worker_id": mint.node,
        }


def test_placement_is_what_the_vectors_say(vectors: dict[str, Any]) -> None:
    for vector in vectors["hash32"]:
        assert hash32(int(vector["snowflake"])) == vector["reply"], vector


def test_slots_are_what_the_vectors_say(vectors: dict[str, Any]) -> None:
    for vector in vectors["slot"]:
        assert slot(vector["key"]) == vector["reply"], vector


def test_row_keys_are_what_the_vectors_say_but_for_the_names_we_refuse(
    vectors: dict[str, Any],
) -> None:
    refused = set()
    for vector in vectors["job_key"]:
        try:
            told: Any = QueueKeys(vector["queue"]).row(vector["id"])
        except EchoMQError:
            told = "raise"
        expected = "raise" if isinstance(vector["reply"], dict) else vector["reply"]
        if told != expected:
            refused.add(vector["queue"])
    assert refused == REFUSED_BY_NAME
