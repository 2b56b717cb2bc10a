"""The only stateful operator: one task of the query for each group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState

from tailrace.engine.chunk_stores import LostChunk
from tailrace.engine.stage import Stage
from tailrace.spark.source import ROWS
from tailrace.storage.manifest import STATE_VERSION


def run_tasks(rows: DataFrame, stage: Stage, keys: list[int]) -> DataFrame:
    """Run the tasks on the messages to them; the result is rows for the tables, opaque, too."""

    def advance(group: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        messages = [pair for frame in frames for pair in zip(frame["what"], frame["bytes"], strict=True)]
        task_state = None
        if state.exists:
            version, task_state = state.get
            if version != STATE_VERSION:  # the manifest tells it before, unless the checkpoint is another one's
                raise LostChunk(f"the state is of version {version}, this tailrace reads {STATE_VERSION}")
        task_state, output = stage.task(keys.index(group[0])).advance(task_state, messages)
        state.update((STATE_VERSION, task_state))
        what, data = zip(*output, strict=True)
        yield pd.DataFrame({"task": group[0], "what": what, "bytes": data})

    return rows.groupBy("task").applyInPandasWithState(advance, ROWS, "version int, kept binary", "append", "NoTimeout")
