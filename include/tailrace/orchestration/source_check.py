"""A check of a new stream's sources before its driver is created."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailrace.ground.errors import Unfit
from tailrace.query.query import Query


def check_sources(query: Query, file: Path, log: Any) -> None:
    """Refuse sources whose columns or types don't fit; log a source that can't be read, as the driver may reach it.

    A refusal names the query file's line with the column.

    Raises
    ------
    Unfit
    """
    from tailrace.query.loading import located  # noqa: PLC0415
    from tailrace.stream.source_sample import sample_sources  # noqa: PLC0415 (DAG files import this)

    try:
        with located(file):
            sample_sources(query)
    except Unfit:
        raise
    except Exception as error:
        log.warning("the sources can't be looked at from here: %s", error)
