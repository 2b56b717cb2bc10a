"""A look at the sources of a new stream before its driver is made."""

from __future__ import annotations

from typing import Any

from tailrace.ground.errors import Unfit
from tailrace.query.query import Query


def check_sources(query: Query, log: Any) -> None:
    """Refuse sources whose columns or types don't fit; one that can't be looked at is logged, as a driver may reach it.

    Raises
    ------
    Unfit
    """
    from tailrace.stream.source_sample import sample_sources  # noqa: PLC0415 (DAG files import this)

    try:
        sample_sources(query)
    except Unfit:
        raise
    except Exception as error:
        log.warning("the sources can't be looked at from here: %s", error)
