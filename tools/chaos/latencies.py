"""How soon answers come: from the plan of a batch, and from the writing of a file, to the commit of its answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from deltalake import DeltaTable

from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout

_PERCENTILES = (50, 99, 100)


class Latencies:
    """The commits of a stream's answers. To be looked at now and then: a compaction may remove old ones from the log.

    Attributes
    ----------
    committed_s : dict
        The wall-clock time at which `results` got each batch, in s, by the batch's number.
    """

    def __init__(self, home: Path) -> None:
        self.layout = Layout(home)
        self.committed_s: dict[int, float] = {}
        self._next = 0

    def look(self) -> None:
        """Read what the log of `results` has got since the last call."""
        while (file := self.layout.table("results") / "_delta_log" / f"{self._next:020d}.json").exists():
            actions = [json.loads(line) for line in file.read_text().splitlines()]
            found: dict[str, Any] = {name: content for action in actions for name, content in action.items()}
            if "txn" in found:
                self.committed_s[found["txn"]["version"]] = found["commitInfo"]["timestamp"] / 1000
            self._next += 1

    def of_plans(self, since_s: float) -> np.ndarray:
        """Return the time in s from plan to answer of each batch that was planned at or after a wall-clock time in s.

        Batches without rows count, too: by the silence that they record, windows close.
        """
        journal = Journal(self.layout.journal)
        planned_s = {batch: journal[batch].position.planned_ms / 1000 for batch in self.committed_s}
        return np.array([self.committed_s[batch] - at_s for batch, at_s in planned_s.items() if at_s >= since_s])

    def of_files(self, written_s: Mapping[str, float], since_s: float) -> np.ndarray:
        """Return the time in s from writing to answer of each file that was written at or after a wall-clock time in s.

        This is what a reader of answers waits past K, which is a span of the stream's own time.
        """
        segments = DeltaTable(self.layout.table("segments")).to_pyarrow_table(columns=["path", "batch"]).to_pylist()
        batch_of: dict[str, int] = {}  # the last one, of a file that came in parts
        for segment in sorted(segments, key=lambda one: one["batch"]):
            batch_of[Path(segment["path"]).name] = segment["batch"]
        return np.array(
            [
                self.committed_s[batch_of[name]] - at_s
                for name, at_s in written_s.items()
                if at_s >= since_s and batch_of.get(name) in self.committed_s
            ]
        )


def described(name: str, seconds: np.ndarray) -> str:
    """Describe latencies in a line."""
    if not seconds.size:
        return f"{name}: no commit"
    p50, p99, most = np.percentile(seconds, _PERCENTILES)
    return f"{name}: {p50:.2f} s in the median, {p99:.2f} s at the 99th percentile, {most:.2f} s at most"
