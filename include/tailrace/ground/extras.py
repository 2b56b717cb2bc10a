"""The extras of the package: the modules of each, and the refusal if one is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from tailrace.ground.errors import refuse
from tailrace.ground.fields import field_error

EXTRAS = {
    "airflow": ("airflow", "fastapi", "httpx", "psutil", "supervisor"),
    "emd": ("ot", "scipy"),
    "external": ("duckdb_extension_spatial", "duckdb"),
    "kafka": ("confluent_kafka",),
    "pandas": ("pandas",),
    "plots": ("matplotlib",),
    "postgres": ("psycopg2",),
    "spark": ("pyspark", "delta"),
    "spatial": ("shapely", "pyproj"),
    "sql": ("sqlglot", "duckdb"),
    "video": ("av",),
}
"""The modules of each extra, imported where they are used; a module of two extras belongs to the later one."""

_TITLES = {
    "airflow": "Apache Airflow",
    "av": "PyAV",
    "confluent_kafka": "confluent-kafka",
    "delta": "delta-spark",
    "duckdb": "DuckDB",
    "duckdb_extension_spatial": "the spatial extension of DuckDB",
    "ot": "POT",
    "psycopg2": "psycopg2-binary",
    "pyspark": "PySpark",
    "scipy": "SciPy",
}
_EXTRA_OF = {module: extra for extra, modules in EXTRAS.items() for module in modules}


def require_extra(where: str, extra: str, instead: str | None = None) -> None:
    """Refuse an option or setting if a module of the extra that it needs is not installed.

    Parameters
    ----------
    where : str
        The option, or the place in a query file, that needs the extra.
    instead : str, optional
        An alternative that does not need the extra.

    Raises
    ------
    Refused
    """
    if (fault := missing_from(extra)) is not None:
        remedy = remedy_of(extra)
        raise refuse(where, fault, remedy if instead is None else f"{remedy}; or {instead}")


def validate_extra(extra: str) -> None:
    """Raise a section's validation error if a module of the extra that it needs is not installed.

    Raises
    ------
    PydanticCustomError
    """
    if (fault := missing_from(extra)) is not None:
        raise field_error(fault, remedy_of(extra))


@contextmanager
def refused_if_missing(where: str) -> Iterator[None]:
    """Turn a failed import of an extra's module into a refusal that names the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _EXTRA_OF:
            raise
        raise refuse(where, _fault(module), remedy_of(_EXTRA_OF[module])) from error


def missing_from(extra: str) -> str | None:
    """Return in words which module of an extra is not installed; None if all are."""
    return next((_fault(module) for module in EXTRAS[extra] if not _is_installed(module)), None)


def remedy_of(extra: str) -> str:
    """Return the remedy for a missing extra."""
    return f"the extra: pip install 'tailrace[{extra}]'; make setup brings it"


def _fault(module: str) -> str:
    return f"{_TITLES.get(module, module)} is not installed"


def _is_installed(module: str) -> bool:
    """Test whether a module can be imported, without importing it."""
    return sys.modules[module] is not None if module in sys.modules else find_spec(module) is not None
