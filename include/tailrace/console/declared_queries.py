"""The queries that the console knows: declared ones, those with a stream in the warehouse, those on the driver host."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from tailrace.console.failures import NotFound
from tailrace.ground.errors import Problem, Refused
from tailrace.ground.query_names import is_query_name
from tailrace.orchestration import settings
from tailrace.orchestration.settings import Declared
from tailrace.panels.query_view import QueryView
from tailrace.storage.layout import Layout
from tailrace.storage.warehouses import location_of

_Read = Declared | Refused


class DeclaredQueries:
    """Reads query files; each is read again only when it has changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[Path, tuple[tuple[int, int], _Read]] = {}

    def all(self) -> tuple[list[Declared], list[Problem]]:
        """Return every declared query and the problems of the other files, as `settings.declared` does."""
        return settings.declared(self._cached)

    def _cached(self, file: Path) -> Declared:
        stat = file.stat()
        stamp = stat.st_mtime_ns, stat.st_size
        with self._lock:
            known, result = self._read.get(file, (None, None))
            if known != stamp or result is None:
                try:
                    result = Declared.read(file)
                except Refused as refused:
                    result = refused
                self._read[file] = stamp, result
        if isinstance(result, Refused):
            raise result
        return result


QUERIES = DeclaredQueries()


@dataclass(frozen=True)
class Known:
    """All queries by name, with their declarations as far as they are right; and what is wrong with the others."""

    views: dict[str, QueryView]
    declared: dict[str, Declared]
    problems: list[Problem]

    @staticmethod
    def read() -> Known:
        """Read what is declared, and which streams the warehouse has."""
        declared, problems = QUERIES.all()
        by_name = {each.query.name: each for each in declared}
        warehouse = settings.warehouse()
        homes = location_of(warehouse).glob("[a-z]*")
        begun = [home.name for home in homes if is_query_name(home.name) and (home / "_stream").is_dir()]
        views = {
            name: QueryView(Layout.of(warehouse, name), by_name[name].file if name in by_name else None)
            for name in sorted({*by_name, *begun})
        }
        return Known(views, by_name, problems)


def view_of(name: str) -> QueryView:
    """Return the query of this name.

    Raises
    ------
    NotFound
        When it is neither declared nor in the warehouse.
    """
    if is_query_name(name):
        declared, _ = QUERIES.all()
        layout = Layout.of(settings.warehouse(), name)
        file = next((each.file for each in declared if each.query.name == name), None)
        if file is not None or layout.stream.is_dir():
            return QueryView(layout, file)
    raise NotFound([Problem(f"query {name}"[:200], "it is neither declared nor in the warehouse", "one of Streams")])
