"""The site on PostgreSQL, with every way in which a project keeps its connections."""

from __future__ import annotations

from typing import Any, Self

from tests.processes.project import TABLES, Project
from tests.servers.postgresql import DATABASES, PostgreSQL
from tests.servers.server import Server

KEPT: dict[str, dict[str, Any]] = {
    "closed after each job": {"CONN_MAX_AGE": 0},
    "kept for a minute": {"CONN_MAX_AGE": 60},
    "kept for ever": {"CONN_MAX_AGE": None},
    "kept and checked": {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True},
    "from a pool": {"CONN_HEALTH_CHECKS": True, "OPTIONS": {"pool": {"min_size": 1}}},
}
ALIASES = ("default", "other")


class ProjectOnPostgreSQL(Project):
    """Its aliases ``default`` and ``other`` are two databases, both with the settings ``kept``."""

    def __init__(self, server: Server, postgresql: PostgreSQL, kept: dict[str, Any]) -> None:
        names = zip(ALIASES, DATABASES, strict=True)
        super().__init__(server, {alias: postgresql.django(name, **kept) for alias, name in names})
        self.postgresql = postgresql

    def start(self) -> Self:
        for database in DATABASES:
            for table in TABLES:
                self.postgresql.ask(f"CREATE TABLE {table}", database)
        return self

    def ask(self, query: str, database: str = DATABASES[0]) -> list[tuple[Any, ...]]:
        """Rows of one of the site's databases."""
        return self.postgresql.ask(query, database)
