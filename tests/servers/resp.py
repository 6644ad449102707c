"""Where a RESP value ends, and the words of a request; versions 2 and 3."""

from __future__ import annotations

AGGREGATES = {b"*": 1, b"~": 1, b">": 1, b"%": 2, b"|": 2}
BULKS = (b"$", b"=", b"!")
LINES = (b"+", b"-", b":", b"_", b"#", b",", b"(")


def value_end(data: bytes | bytearray, start: int = 0) -> int | None:
    """The offset behind the value that begins at ``start``; None while it is incomplete.

    Raises ``ValueError`` for what is not RESP, an inline command among it.
    """
    line_end = data.find(b"\r\n", start)
    if line_end < 0:
        return None
    kind, head, end = bytes(data[start : start + 1]), data[start + 1 : line_end], line_end + 2
    if kind in LINES:
        return end
    if kind in BULKS:
        size = int(head)
        end += size + 2 if size >= 0 else 0
        return end if end <= len(data) else None
    if kind not in AGGREGATES:
        raise ValueError(f"not RESP: {bytes(data[start : start + 40])!r}")
    values = max(int(head), 0) * AGGREGATES[kind] + (kind == b"|")
    for _ in range(values):
        inner = value_end(data, end)
        if inner is None:
            return None
        end = inner
    return end


def words_of(request: bytes) -> tuple[bytes, ...]:
    """The words of one complete request, which is an array of bulk strings."""
    count_end = request.index(b"\r\n")
    words = []
    at = count_end + 2
    for _ in range(int(request[1:count_end])):
        size_end = request.index(b"\r\n", at)
        begin = size_end + 2
        at = begin + int(request[at + 1 : size_end]) + 2
        words.append(request[begin : at - 2])
    return tuple(words)
