"""Records that the release which began a stream has rejected, and that are tuples now."""

from __future__ import annotations

from dataclasses import replace

from tailrace.aggregate.function_section import FunctionSection
from tailrace.query.query import Query
from tailrace.query.windowed import AggregateQuery
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.tables import Tables

_SKIPS_NULLS = 8
"""The version of the tasks' states from which on an aggregate without a name skips nulls."""


def with_rejected_nulls(manifest: CheckpointManifest, query: Query, layout: Layout) -> CheckpointManifest:
    """Return the manifest with the rule of its release, if this rejected records for a null in the column of values.

    They are tuples now, so that windows close at other batches: no answer of the tables can be taken over. The rule
    counts as a part of the structure that has changed.
    """
    if manifest.state >= _SKIPS_NULLS or not isinstance(query, AggregateQuery):
        return manifest
    section, tables = query.aggregate, Tables(layout)
    if not isinstance(section, FunctionSection) or section.column is None or not tables.has("quarantine"):
        return manifest
    if f"{section.column} is null" not in tables.read("quarantine", ["reason"])["reason"].unique().to_pylist():
        return manifest
    return replace(manifest, structure=manifest.structure | {"aggregate.nulls": "in quarantine"})
