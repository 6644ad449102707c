from __future__ import annotations

import pytest

from echomq_app.protocol.errors import InvalidInput, InvalidJobId
from echomq_app.protocol.ids import (
    EPOCH_MS,
    LAST_MS,
    MAX_SNOWFLAKE,
    encode,
    hash32,
    is_branded,
    lowest_at,
    minted_ms,
    parse,
    valid_job_id,
    window,
)

VECTORS = [
    (0, "00000000000", 0, 1704067200000, 0, 0),
    (1, "00000000001", 2466077478, 1704067200000, 0, 1),
    (61, "0000000000z", 3864657888, 1704067200000, 0, 61),
    (62, "00000000010", 274485891, 1704067200000, 0, 62),
    (4095, "00000000143", 1721934925, 1704067200000, 0, 4095),
    (4096, "00000000144", 1437757290, 1704067200000, 1, 0),
    (4194303, "0000000Hb83", 1052680694, 1704067200000, 1023, 4095),
    (4194304, "0000000Hb84", 1237166769, 1704067200001, 0, 0),
    (274557032793636864, "0KHTOWnGLuC", 234878118, 1769526697641, 0, 0),
    (320636799581945856, "0NgWEfAEJfs", 3694611501, 1780512970164, 0, 0),
    (328190303616122882, "0OF78KyaKfa", 1267796739, 1782313865863, 68, 2),
    (MAX_SNOWFLAKE, "AzL8n0Y58m7", 2186628710, 3903090455551, 1023, 4095),
]
REFUSED = [
    "USRzzzzzzzzzzz",
    "JOBAzL8n0Y58m8",
    "usr0KHTOWnGLuC",
    "J0B0KHTOWnGLuC",
    "JOB0KHTOWnGL-C",
    "JOB0KHTOWnGLu",
    "JOB0KHTOWnGLuCC",
    "12345678901234",
    "order-receipt1",
    "JOB0KHTOWnGLu\n",
    "JOB0KHTOWnGLuC\n",
    "JOB0KHTOWnGLu\0",
    "JOB0KHTOWnGL\u00e9",
    "JOB0KHTOWnGLu\u00e9",
    "\u00c9OB0KHTOWnGLuC",
    "JOB0KHTOWnGL\u0661C",
    "not-a-branded-id",
    "",
    None,
    b"JOB0KHTOWnGLuC",
    14,
]
WINDOW_START = 1_780_000_000_000


@pytest.mark.parametrize(("snowflake", "digits", "placement", "ms", "node", "sequence"), VECTORS)
def test_an_id_and_its_snowflake_say_the_same(
    snowflake: int, digits: str, placement: int, ms: int, node: int, sequence: int
) -> None:
    job_id = encode(snowflake)

    assert job_id == "JOB" + digits
    assert parse(job_id) == ("JOB", snowflake, ms, node, sequence)
    assert minted_ms(job_id) == ms
    assert hash32(snowflake) == placement


def test_an_id_carries_the_kind_it_was_branded_with() -> None:
    assert encode(274557032793636864, "USR") == "USR0KHTOWnGLuC"
    assert parse("USR0NgWEfAEJfs")[:2] == ("USR", 320636799581945856)
    assert parse("EVT000xY9Wvvcd")[1:] == (209715201620567, EPOCH_MS + 50_000_000, 395, 2647)


@pytest.mark.parametrize("value", REFUSED, ids=repr)
def test_what_is_not_branded_is_refused_with_what_was_seen(value: object) -> None:
    assert not is_branded(value)
    with pytest.raises(InvalidJobId) as refused:
        valid_job_id(value)

    assert str(refused.value) == (
        "a job id is 14 ASCII characters, three letters A-Z and eleven base62 digits up to "
        f"AzL8n0Y58m7; got {value!r:.60}"
    )


def test_any_kind_is_well_formed_because_the_server_judges_the_kind() -> None:
    assert valid_job_id("ORD0KHTOWnGLuC") == "ORD0KHTOWnGLuC"


@pytest.mark.parametrize("snowflake", [-1, MAX_SNOWFLAKE + 1])
def test_a_snowflake_out_of_range_is_refused_and_never_wrapped(snowflake: int) -> None:
    with pytest.raises(InvalidJobId, match=rf"a snowflake is 0 to 2\*\*63 - 1; got {snowflake}"):
        encode(snowflake)


@pytest.mark.parametrize("namespace", ["job", "JO", "JOBX", "J0B", "J B", "", "JOB\n"])
def test_a_namespace_is_three_capital_letters(namespace: str) -> None:
    with pytest.raises(InvalidJobId, match="a namespace is three letters A-Z"):
        encode(1, namespace)


def test_byte_order_is_number_order() -> None:
    snowflakes = sorted(snowflake for snowflake, *_ in VECTORS)

    assert sorted(encode(snowflake) for snowflake in snowflakes) == [
        encode(snowflake) for snowflake in snowflakes
    ]


def test_the_lowest_id_of_an_instant_is_below_every_id_of_it() -> None:
    lowest = lowest_at(WINDOW_START)

    assert parse(lowest)[2:] == (WINDOW_START, 0, 0)
    assert lowest_at(WINDOW_START - 1) < lowest < lowest_at(WINDOW_START + 1)
    assert lowest_at(0) == "JOB00000000000"


def test_a_window_holds_its_first_instant_and_not_its_last() -> None:
    low, high = window(WINDOW_START, WINDOW_START + 10)

    assert (low, high) == ("[" + lowest_at(WINDOW_START), "(" + lowest_at(WINDOW_START + 10))


@pytest.mark.parametrize(
    ("since", "until", "bounds"),
    [
        (None, None, ("-", "+")),
        (None, EPOCH_MS, ("-", "(JOB00000000000")),
        (0, None, ("[JOB00000000000", "+")),
        (LAST_MS, LAST_MS + 1, ("[" + lowest_at(LAST_MS), "+")),
        (
            WINDOW_START,
            WINDOW_START,
            ("[" + lowest_at(WINDOW_START), "(" + lowest_at(WINDOW_START)),
        ),
    ],
)
def test_a_window_may_be_open_empty_or_at_the_ends_of_time(
    since: int | None, until: int | None, bounds: tuple[str, str]
) -> None:
    assert window(since, until) == bounds


def test_a_window_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(InvalidInput, match="a window ends after it starts; got 2 to 1"):
        window(2, 1)
