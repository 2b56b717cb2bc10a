"""Workloads of the benchmarks: the same seeded files for all contestants, and windows over them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from bench.questions import SEVERAL, SUM, TOP_K, TOP_K_AT_ONCE, Question
from generators.delays import Exponential, epoch_ms
from generators.replay import generate, write
from tailrace.query.declared import declared_query
from tailrace.query.query import Query

MEAN_DELAY_MS = 200


@dataclass(frozen=True)
class Case:
    """A question over windows of a stream of `sensors` sensors, with `rate` tuples a second of event time.

    Attributes
    ----------
    part : int
        Divisor of the number of rows, more than 1 for a case that takes longer than others.
    keyed : bool
        True: answered by sensor; False: over all sensors together.
    """

    name: str
    question: Question
    sensors: int
    rate: int
    size_ms: int
    slide_ms: int
    part: int = 1
    keyed: bool = True


CASES = {
    "aggregate": [
        Case(f"{density} {windows}", SUM, sensors, 20_000, *lengths, part)
        for density, sensors, part in (("dense", 100, 1), ("sparse", 100_000, 8))
        for windows, lengths in (("500/100 ms", (500, 100)), ("60/5 s", (60_000, 5_000)))
    ]
    + [Case("several 500/100 ms", SEVERAL, 100, 20_000, 500, 100)],
    "topk": [
        Case("dense 60/5 s", TOP_K, 100, 100_000, 60_000, 5_000),
        Case("of all 60/5 s", TOP_K, 100, 100_000, 60_000, 5_000, keyed=False),
        Case("at once 60/5 s", TOP_K_AT_ONCE, 100, 5_000, 60_000, 5_000, part=16),
    ],
}
"""Cases by the kind of query that is measured."""


@dataclass(frozen=True)
class Workload:
    """A case and the files of its rows; a file is a batch.

    Attributes
    ----------
    bound_ms : int
        The largest delay in the files, rounded up to 100 ms: a slack K (allowed lateness) with which nothing is late.
    """

    case: Case
    rows: int
    files: list[Path]
    bound_ms: int

    @property
    def directory(self) -> Path:
        return self.files[0].parent

    @property
    def source(self) -> dict[str, str]:
        """The declared source of the query's stream."""
        return {"format": "parquet", "path": str(self.directory)}

    def as_json(self) -> dict[str, Any]:
        """Return the workload as JSON values, for a contestant in another process."""
        places = ((system, cases.index(self.case)) for system, cases in CASES.items() if self.case in cases)
        return vars(self) | {"case": next(places), "files": [str(file) for file in self.files]}

    @classmethod
    def of_json(cls, values: dict[str, Any]) -> Self:
        """Restore the workload from the result of `as_json`."""
        system, case_name = values["case"]
        return cls(**values | {"case": CASES[system][case_name], "files": [Path(file) for file in values["files"]]})

    def query(self, parallelism: int) -> Query:
        """Return the workload as a declared query."""
        columns = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id"}
        columns |= {"key": "sensor"} if self.case.keyed else {}
        return declared_query(
            {
                "name": "bench",
                "streams": {"readings": {"source": self.source} | columns | self.case.question.stream},
                "window": {"size": f"{self.case.size_ms} ms", "slide": f"{self.case.slide_ms} ms"},
                "disorder": {"policy": "k_slack", "k": f"{self.bound_ms} ms"},
                "parallelism": parallelism,
            }
            | self.case.question.declared
        )


def make_files(directory: Path, case: Case, rows: int, files: int) -> tuple[list[Path], int]:
    """Write a case's stream; return its files and the bound on its delays."""
    table = generate(rows, case.rate, case.sensors, Exponential(MEAN_DELAY_MS), seed=1)
    return write(table, directory, files), largest_delay(table)


def largest_delay(table: pa.Table) -> int:
    """Return the largest t_max − event_time, rounded up to 100 ms."""
    event = epoch_ms(table["event_time"])
    return int(-(-(np.maximum.accumulate(event) - event).max() // 100) * 100)
