"""Records that are tuples now, and that the release which began a stream has rejected."""

from __future__ import annotations

from tailrace.aggregate.function_section import FunctionSection
from tailrace.query.query import Query
from tailrace.query.windowed import AggregateQuery
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.tables import Tables

_SKIPS_NULLS = 8
"""The version of the tasks' states from which on an aggregate without a name skips nulls."""


def takes_rejected(query: Query, layout: Layout, manifest: CheckpointManifest) -> bool:
    """Test whether an earlier release rejected records for a null in the column of an aggregate without a name.

    They are tuples now, so that windows close at other batches: no answer of the tables can be taken over.
    """
    if manifest.state >= _SKIPS_NULLS or not isinstance(query, AggregateQuery):
        return False
    section, tables = query.aggregate, Tables(layout)
    if not isinstance(section, FunctionSection) or section.column is None or not tables.has("quarantine"):
        return False
    return f"{section.column} is null" in tables.read("quarantine", ["reason"])["reason"].unique().to_pylist()
