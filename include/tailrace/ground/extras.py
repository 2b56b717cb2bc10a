"""The extras of the package: which modules each one brings, and the refusal of what needs a missing one."""

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
"""The modules of each extra, imported where they are used; of a module of two extras the later one is its own."""

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
    """Refuse what needs an extra of which a module is not installed.

    Parameters
    ----------
    where : str
        What needs it: an option, or a place in a query file.
    instead : str, optional
        What would do without it.

    Raises
    ------
    Refused
    """
    if (fault := missing_from(extra)) is not None:
        remedy = remedy_of(extra)
        raise refuse(where, fault, remedy if instead is None else f"{remedy}; or {instead}")


def validate_extra(extra: str) -> None:
    """Raise the validation error of a section that needs an extra of which a module is not installed.

    Raises
    ------
    PydanticCustomError
    """
    if (fault := missing_from(extra)) is not None:
        raise field_error(fault, remedy_of(extra))


@contextmanager
def refused_if_missing(where: str) -> Iterator[None]:
    """Turn the failed import of a module of an extra into the refusal that names the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _EXTRA_OF:
            raise
        raise refuse(where, _fault(module), remedy_of(_EXTRA_OF[module])) from error


def missing_from(extra: str) -> str | None:
    """Return which module of an extra is not installed, as a fault in words; None where all are."""
    return next((_fault(module) for module in EXTRAS[extra] if not _is_installed(module)), None)


def remedy_of(extra: str) -> str:
    """Return how an extra is installed."""
    return f"the extra: pip install 'tailrace[{extra}]'; make setup brings it"


def _fault(module: str) -> str:
    return f"{_TITLES.get(module, module)} is not installed"


def _is_installed(module: str) -> bool:
    """Test whether a module can be imported, without importing it."""
    return sys.modules[module] is not None if module in sys.modules else find_spec(module) is not None
