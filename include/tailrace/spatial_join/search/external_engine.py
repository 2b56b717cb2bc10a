"""The external engine of a process: DuckDB in memory, with its spatial extension.

DuckDB was chosen because its join gives the pairs of unprepared GEOS for all relations. SedonaDB 0.5 prepares polygons,
and is ten times as fast for points in large ones. But it is silently wrong about `touches` and `disjoint` by default,
and about `within` and `covered_by` when set to use GEOS.

The extension's package on PyPI is not DuckDB's own, but it contains DuckDB's signed binary; DuckDB loads no other.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.ground.extras import require_extra

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_SETTINGS: dict[str, Any] = {
    "threads": 1,  # a task has one core
    "autoinstall_known_extensions": False,  # nothing is fetched
    "autoload_known_extensions": False,
    "temp_directory": "",  # nothing is written
}

_AS_WRITTEN = "SET disabled_optimizers = 'join_order,build_side_probe_side'"
"""Keeps the order of a join's sides, so that the R-tree indexes the rows, and GEOS gets our order, which matters for
few
pairs.
"""


@cache
def engine_of(process: int) -> Connection:
    """Return the engine of a process by its id, so that an engine made before a fork is not used after it.

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
    """Return the file of the spatial extension.

    Raises
    ------
    Refused
        When the engine or its extension is not installed.
    """
    require_extra("method external", "external")
    package = find_spec("duckdb_extension_spatial")
    assert package is not None
    assert package.origin is not None
    return next(Path(package.origin).parent.glob("extensions/*/spatial.duckdb_extension"))
