"""What every server, group of servers and proxy here has in common: it starts and it ends."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Running:
    """A context manager of ``start`` and ``close``; a start that fails leaves nothing behind."""

    def start(self) -> Self:
        """Start; return when it serves."""
        raise NotImplementedError

    def close(self) -> None:
        """End it and remove what it left on disk."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
