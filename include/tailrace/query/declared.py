"""A declared continuous query, discriminated by its kind; loading.py loads it from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from tailrace.query.joins import EmdJoinQuery, SpatialJoinQuery
from tailrace.query.query import Query
from tailrace.query.windowed import AggregateQuery, TopKQuery

AnyQuery = Annotated[AggregateQuery | TopKQuery | EmdJoinQuery | SpatialJoinQuery, Field(discriminator="kind")]
ADAPTER: TypeAdapter[Query] = TypeAdapter(AnyQuery)


def declared_query(fields: Mapping[str, Any], directory: Path | None = None) -> Query:
    """Return the query with these fields, as in a file of this directory.

    Raises
    ------
    pydantic.ValidationError
    """
    return ADAPTER.validate_python(fields, context={} if directory is None else {"directory": directory})
