"""The queries that the console shows: declared ones, refused ones, and those with a stream in the warehouse."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from tailrace.console.failures import NotFound
from tailrace.correction.quality import Promise
from tailrace.ground.errors import Problem, Refused
from tailrace.ground.query_names import is_query_name
from tailrace.orchestration import settings
from tailrace.orchestration.settings import Declared
from tailrace.panels.query_view import QueryView
from tailrace.storage.begun import begun
from tailrace.storage.layout import Layout
from tailrace.storage.table_log import stamp
from tailrace.storage.warehouses import location_of

_Read = Declared | Refused


class DeclaredQueries:
    """Reads query files; each is read again only if it has changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[Path, tuple[object, _Read]] = {}

    def all(self) -> tuple[list[Declared], list[Problem]]:
        """Return every declared query and the problems of the other files, like `settings.declared`."""
        seen = []

        def read(file: Path) -> Declared:
            try:
                declared = self._cached(file)
            except OSError:  # such as for a dangling link
                return Declared.read(file)
            finally:
                seen.append(file)
            return declared

        declarations = settings.declared(read)
        with self._lock:
            self._read = {file: self._read[file] for file in seen if file in self._read}
        return declarations

    def clashing(self) -> dict[str, list[Path]]:
        """Return the files of each name that is declared by several; the name is refused in all of them."""
        files: dict[str, list[Path]] = {}
        with self._lock:
            for file, (_, read) in sorted(self._read.items()):
                if not isinstance(read, Refused):
                    files.setdefault(read.query.name, []).append(file)
        return {name: sharing for name, sharing in files.items() if len(sharing) > 1}

    def refused(self) -> dict[Path, Refused]:
        """Return the files that were refused at the last call of `all`, with their faults."""
        with self._lock:
            return {file: read for file, (_, read) in self._read.items() if isinstance(read, Refused)}

    def _cached(self, file: Path) -> Declared:
        written = stamp(file)
        if written is None:
            raise FileNotFoundError(file)
        with self._lock:
            known, result = self._read.get(file, (None, None))
            if known != written or result is None:
                try:
                    result = Declared.read(file)
                except Refused as refused:
                    result = refused
                self._read[file] = written, result
        if isinstance(result, Refused):
            raise Refused(result.problems)  # a new exception, as one that is raised repeatedly grows
        return result


QUERIES = DeclaredQueries()


@dataclass(frozen=True)
class QueryCatalogue:
    """The queries by name, including those with refused files, with their faults.

    A refused file is attributed to the query of the file's name.

    Attributes
    ----------
    kinds : dict of str to str
        The kind of each query with a valid file.
    faults : dict of str to str
        The first fault of each query whose file is refused.
    unpromised : frozenset of str
        The queries with a valid file whose policy promises nothing.
    """

    views: dict[str, QueryView]
    kinds: dict[str, str]
    faults: dict[str, str]
    problems: list[Problem]
    unpromised: frozenset[str]

    @staticmethod
    def read() -> QueryCatalogue:
        """Read the declared queries, and the streams in the warehouse."""
        declared, problems = QUERIES.all()
        files, faults = _refused()
        files |= {each.query.name: each.file for each in declared}
        warehouse = settings.warehouse()
        names = sorted({*files, *begun(location_of(warehouse))})
        views = {name: QueryView(Layout.for_query(warehouse, name), files.get(name)) for name in names}
        kinds = {each.query.name: each.query.kind for each in declared}
        faults = {name: faults[name] for name in faults.keys() - kinds.keys()}
        queries = [each.query for each in declared]
        unpromised = frozenset(query.name for query in queries if not Promise.of_policy(query.policy).is_given)
        return QueryCatalogue(views, kinds, faults, problems, unpromised)

    @staticmethod
    def view(name: str) -> QueryView:
        """Return the query of this name, without looking at others in the warehouse.

        Raises
        ------
        NotFound
            When it is neither declared nor in the warehouse.
        """
        if is_query_name(name):
            declared, _ = QUERIES.all()
            files, _ = _refused()
            files |= {each.query.name: each.file for each in declared}
            layout = Layout.for_query(settings.warehouse(), name)
            if name in files or layout.stream.is_dir():
                return QueryView(layout, files.get(name))
        fault = "it is neither declared nor in the warehouse"
        raise NotFound([Problem(f"query {name}"[:200], fault, "to choose one of the page Streams")])

    @staticmethod
    def fault(name: str) -> str | None:
        """Return the reason why no file declares a query now; None if one does."""
        declared, _ = QUERIES.all()
        if any(each.query.name == name for each in declared):
            return None
        _, faults = _refused()
        if name in faults:
            return f"its query file is refused: {faults[name]}"
        return "its query file is gone: put it back where queries are declared, and Airflow reads it again"


def _refused() -> tuple[dict[str, Path], dict[str, str]]:
    """Return the files of refused queries by the queries' names, and the first fault of each."""
    refused = {file: error for file, error in QUERIES.refused().items() if is_query_name(file.stem)}
    files = {file.stem: file for file in refused}
    faults = {file.stem: str(error).split("\n")[0] for file, error in refused.items()}
    for name, sharing in QUERIES.clashing().items():
        files[name] = sharing[0]
        faults[name] = f"{' and '.join(file.name for file in sharing)} declare it: none of them is taken"
    return files, faults
