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
        seen = []

        def read(file: Path) -> Declared:
            seen.append(file)
            return self._cached(file)

        found = settings.declared(read)
        with self._lock:
            self._read = {file: self._read[file] for file in seen if file in self._read}
        return found

    def refused(self) -> dict[Path, Refused]:
        """Return the files that were refused when `all` last read them, with what is wrong."""
        with self._lock:
            return {file: read for file, (_, read) in self._read.items() if isinstance(read, Refused)}

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
            raise Refused(result.problems)  # a new one: an exception that is raised again and again grows
        return result


QUERIES = DeclaredQueries()


@dataclass(frozen=True)
class Known:
    """All queries by name, those included whose files are refused; and what is wrong with these.

    A refused file counts as the one of the query that it is called after.

    Attributes
    ----------
    kinds : dict of str to str
        The kind of each query whose file is right.
    faults : dict of str to str
        What is wrong with the file of each query that has a wrong one.
    """

    views: dict[str, QueryView]
    kinds: dict[str, str]
    faults: dict[str, str]
    problems: list[Problem]

    @staticmethod
    def read() -> Known:
        """Read what is declared, and which streams the warehouse has."""
        declared, problems = QUERIES.all()
        refused = {file: error for file, error in QUERIES.refused().items() if is_query_name(file.stem)}
        files = {file.stem: file for file in refused}
        files |= {each.query.name: each.file for each in declared}
        warehouse = settings.warehouse()
        homes = location_of(warehouse).glob("[a-z]*")
        begun = [home.name for home in homes if is_query_name(home.name) and (home / "_stream").is_dir()]
        views = {name: QueryView(Layout.of(warehouse, name), files.get(name)) for name in sorted({*files, *begun})}
        kinds = {each.query.name: each.query.kind for each in declared}
        faults = {file.stem: str(error).split("\n")[0] for file, error in refused.items()}
        return Known(views, kinds, {name: faults[name] for name in faults.keys() - kinds.keys()}, problems)

    def view(self, name: str) -> QueryView:
        """Return the query of this name.

        Raises
        ------
        NotFound
            When it is neither declared nor in the warehouse.
        """
        if name not in self.views:
            fault = "it is neither declared nor in the warehouse"
            raise NotFound([Problem(f"query {name}"[:200], fault, "one of the page Streams")])
        return self.views[name]
