"""The tasks of a query, one for each group: as the only stateful operator of a stream, or on one batch of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState

from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.chunk_stores import LostChunk
from tailrace.engine.stage import Stage
from tailrace.engine.task_states import VERSION, TaskStates
from tailrace.spark.source import ROWS


def run_tasks(rows: DataFrame, stage: Stage, keys: list[int]) -> DataFrame:
    """Run the tasks on the messages to them; the result is rows for the tables, opaque, too."""

    def advance(group: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        messages = [pair for frame in frames for pair in zip(frame["what"], frame["bytes"], strict=True)]
        task_state = None
        if state.exists:
            version, task_state = state.get
            if version != VERSION:  # the manifest tells it before, unless the checkpoint is another one's
                raise LostChunk(f"the state is of version {version}, this tailrace reads {VERSION}")
        task_state, output = stage.task(keys.index(group[0])).advance(task_state, messages)
        state.update((VERSION, task_state))
        what, data = zip(*output, strict=True)
        yield pd.DataFrame({"task": group[0], "what": what, "bytes": data})

    return rows.groupBy("task").applyInPandasWithState(advance, ROWS, "version int, kept binary", "append", "NoTimeout")


def run_stored_tasks(rows: DataFrame, stage: Stage, states: TaskStates, keys: list[int]) -> DataFrame:
    """Run the tasks on the messages of one batch, with their states in an object store; the result is as above."""

    def advance(group: tuple[Any, ...], messages: pa.Table) -> pa.Table:
        task = keys.index(group[0].as_py())
        pairs = list(zip(messages["what"].to_pylist(), messages["bytes"].to_pylist(), strict=True))
        batch = next(BatchHeader.unpack(data).batch for what, data in pairs if what == "entry")
        state, output = stage.task(task).advance(states.read(task, batch - 1), pairs)
        states.write(task, batch, state)
        what, data = zip(*output, strict=True)
        columns = [pa.repeat(group[0], len(what)), pa.array(what, pa.string()), pa.array(data, pa.binary())]
        return pa.table(columns, names=["task", "what", "bytes"])

    return rows.groupBy("task").applyInArrow(advance, ROWS)
