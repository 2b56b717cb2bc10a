"""The guards of tailrace, a file for each room of the package.

Each has the text that makes it, and the quick tests that go red without it.
"""

from __future__ import annotations

from guards import (
    aggregate,
    answers,
    bench,
    calibration,
    cli,
    correction,
    demo,
    disorder,
    drivers,
    emd_join,
    engine,
    expressions,
    ground,
    kernels,
    kind,
    operators,
    orchestration,
    panels,
    query,
    sources,
    spark,
    spatial_join,
    sql,
    storage,
    stream,
    terminal,
    topk,
    windows,
)
from guards.mutation import Mutation

ROOMS = (
    aggregate,
    answers,
    bench,
    calibration,
    cli,
    correction,
    demo,
    disorder,
    drivers,
    emd_join,
    engine,
    expressions,
    ground,
    kernels,
    kind,
    operators,
    orchestration,
    panels,
    query,
    sources,
    spark,
    spatial_join,
    sql,
    storage,
    stream,
    terminal,
    topk,
    windows,
)
MUTATIONS: tuple[Mutation, ...] = tuple(mutation for room in ROOMS for mutation in room.MUTATIONS)

__all__ = ["MUTATIONS", "ROOMS", "Mutation"]
