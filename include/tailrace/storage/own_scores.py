"""Refuses a ranking of an earlier version, whose scores were rounded to doubles."""

from __future__ import annotations

import pyarrow as pa

from tailrace.engine.stream_reader import readers_of
from tailrace.ground.errors import refuse
from tailrace.ground.facts import is_table
from tailrace.ground.object_path import Location
from tailrace.query.query import Query
from tailrace.query.windowed import TopKQuery
from tailrace.storage.manifest import OWN_SCORES, CheckpointManifest
from tailrace.storage.warehouses import moving_away


def require_own_scores(manifest: CheckpointManifest, query: Query, home: Location) -> None:
    """Refuse a ranking that an earlier version began, unless its scores are doubles in the source, too.

    Its states, tables and history have rounded scores, which no rebuild makes exact.

    Raises
    ------
    Refused
    """
    if manifest.format >= OWN_SCORES or not isinstance(query, TopKQuery):
        return
    if query.streams.keys() != {name for name in manifest.types if not is_table(name)}:
        return  # it is refused for that
    dtype = _score_type(manifest, query, home)
    if dtype is not None and pa.types.is_floating(dtype):
        return
    now = "other columns were read then" if dtype is None else f"its type is {dtype}"
    fault = f"an earlier version of tailrace ranked {query.topk.score} as doubles, and {now}"
    remedy = f"that version, to go on with it; or {moving_away(home, 'old')}, to begin again and read the source"
    raise refuse(str(home), fault, remedy)


def _score_type(manifest: CheckpointManifest, query: Query, home: Location) -> pa.DataType | None:
    """Return the type of a ranking's scores in its source; None where the checkpoint does not know it."""
    try:
        (reader,) = readers_of(query, manifest.types, dict.fromkeys(query.streams, home))
    except KeyError:
        return None
    return reader.column_types.carried["score"]
