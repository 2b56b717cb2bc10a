"""A stream that reads a file at a time, and whose number of tasks changes; and the jobs of Spark without Spark."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from kit.oracles.oracle import Settings, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.oracles.rankings import rankings_of, streamed
from kit.runs.local_driver import Driver
from kit.runs.warehouse import make_query, make_stream, rows_of, write_files
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.executor import rows_by_table
from tailrace.engine.messages import Inbox, messages_of, unpacked_tables
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.task_states import TaskStates
from tailrace.ground.facts import TASKS
from tailrace.query.query import Query
from tailrace.sources.segments import Segment
from tailrace.spark.batch_job import WorkerJob
from tailrace.storage.tasks_in_force import request_tasks

TUPLES = make_stream(150, seed=7)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 200))
TOPK = {"k": 2, "score": "value"}
PART = 30
"""Tuples of a file, and at most of a batch."""


class Rescaled:
    """A stream that reads a file at a time."""

    def __init__(self, home: Path, topk: dict | None = None) -> None:
        self.home, self.files, self.topk = home, 0, topk
        (home / "in").mkdir()
        self.driver = Driver(self.query(), home / "wh")

    def query(self, parallelism: int = 2) -> Query:
        return make_query(self.home / "in", SETTINGS, parallelism, topk=self.topk)

    def write(self, files: int = 1) -> None:
        for _ in range(files):
            part = TUPLES[PART * self.files : PART * (self.files + 1)]
            write_files(part, self.home / "in", [0, len(part)], first=self.files)
            self.files += 1

    def read(self, files: int = 1, flush: bool = False, parallelism: int = 2) -> None:
        self.write(files)
        replace(self.driver, query=self.query(parallelism)).run(PART, flush)

    def request(self, tasks: int) -> int:
        return request_tasks(self.driver.layout, self.driver.query, tasks)

    @property
    def tasks(self) -> list[int]:
        """The number of tasks of each batch."""
        of_batch = defaultdict(set)
        for row in rows_of(self.home / "wh", "metrics")["metrics"]:
            of_batch[row["batch"]].add(row["task"])
        assert all(tasks == set(range(len(tasks))) for tasks in of_batch.values())
        return [len(of_batch[number]) for number in sorted(of_batch)]

    @property
    def facts(self) -> list[dict]:
        facts = [row for row in rows_of(self.home / "wh", "facts")["facts"] if row["about"] == TASKS]
        return sorted(facts, key=lambda row: row["version"])

    def assert_streamed(self, flush: bool = False) -> None:
        rows, tuples = rows_of(self.home / "wh"), TUPLES[: PART * self.files]
        outcome = stream(tuples, SETTINGS, flush=flush)
        if self.topk is None:
            assert_streamed(rows, outcome)
        else:
            assert rankings_of(rows["results"]) == streamed(outcome, tuples, SETTINGS, self.topk["k"])


@dataclass
class WorkerJobs:
    """The executor on Spark without Spark: its groups, one after the other, with the messages as they travel."""

    pipeline: Pipeline
    states: TaskStates

    def run(self, header: BatchHeader, segments: Sequence[Segment], before: int) -> dict[str, pa.Table]:
        groups, sent = self.pipeline.tasks_in(header).now, defaultdict(list)
        for segment in segments:
            for group, message in messages_of(self.pipeline.prepare(segment, header), groups):
                sent[group].append(message)
        job = WorkerJob(uuid.uuid4().hex, self.pipeline, self.states, before)
        messages = [
            each for group in range(groups) for each in job.advance(group, header, Inbox.from_messages(sent[group]))
        ]
        return rows_by_table(unpacked_tables(messages))

    def cancel(self) -> None:
        pass
