"""Detects records that an earlier release rejected, and that this release accepts as tuples."""

from __future__ import annotations

from dataclasses import replace

from tailrace.aggregate.function_section import FunctionSection
from tailrace.query.query import Query
from tailrace.query.windowed import AggregateQuery
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.tables import Tables

_SKIPS_NULLS = 8
"""The version of the tasks' states from which on an unnamed aggregate skips nulls."""


def with_rejected_nulls(manifest: CheckpointManifest, query: Query, layout: Layout) -> CheckpointManifest:
    """Mark the manifest as changed if its release rejected records for a null value.

    These are tuples now, so windows close at other batches, and no answer of the tables can be kept. The rule counts as
    a changed part of the structure.
    """
    if manifest.state >= _SKIPS_NULLS or not isinstance(query, AggregateQuery):
        return manifest
    section, tables = query.aggregate, Tables(layout)
    if not isinstance(section, FunctionSection) or section.column is None or not tables.has("quarantine"):
        return manifest
    if f"{section.column} is null" not in tables.read("quarantine", ["reason"])["reason"].unique().to_pylist():
        return manifest
    return replace(manifest, structure=manifest.structure | {"aggregate.nulls": "in quarantine"})
