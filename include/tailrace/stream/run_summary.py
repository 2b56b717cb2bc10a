"""The summary of a run: the records accepted and rejected, the reasons, and the likely cause of a low coverage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.engine.output_tables import WITHHELD
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.time_limits import EARLIEST_MS
from tailrace.ground.words import counted, floored_of, overflow_of
from tailrace.kind.failed_pairs import FailedPairs
from tailrace.storage.progress import EndOfRun
from tailrace.storage.rejections import Rejections
from tailrace.storage.table_schemas import LATE_TIMES
from tailrace.tables.every import in_ms
from tailrace.windows.windows import Ints

_MANY = 0.5  # a greater share of rejected records is more likely a mistake than the nature of a stream
_ZONE_MS, _SPREAD = 25 * 60_000, 0.15  # the least delay that a wrong time zone causes, and their spread
_SAMPLE = 10_000  # late rows whose delays are examined
_SHOWN = "; explain FILE --sample shows what where compares"


def all_of(*callbacks: Callable[..., None]) -> Callable[..., None]:
    """Return a callback that calls each of these in turn."""

    def call(*arguments: Any) -> None:
        for callback in callbacks:
            callback(*arguments)

    return call


def where_of(stream: str, rows: int, filtered: int, unmatched: int) -> str:
    """Return in words that a stream's `where` leaves out each record that fits; `filtered` includes `unmatched`."""
    counts = f"{filtered - unmatched:,} of {rows:,}, {rows - filtered:,} rejected"
    return f"where of stream {stream} is false or null for each record that fits: {counts}{_SHOWN}"


class RunSummary:
    """Sums up the batches of a run, as its callback after each batch.

    Attributes
    ----------
    read, accepted, filtered, unmatched, late, repeats : int
        The numbers of records that were read, that were accepted, that were left out, and that were left out because
        they met no row of a lookup; of late tuples; and of repeats that the stream dropped.
    first : dict
        The position of the first record that was read in its stream's log, by stream.
    overflowed : int
        The number of answer values that are null because they overflow their type.
    answers, withheld : int
        The numbers of answers that were given, and of those that do not meet the query's `having`.
    failed_pairs : FailedPairs
        The pairs for which the condition of a join fails.
    rejections : Rejections
    floored : dict
        The columns with times that are finer than microseconds, by stream.
    """

    def __init__(self) -> None:
        self.read = self.accepted = self.filtered = self.unmatched = self.late = self.overflowed = 0
        self.repeats = self.answers = self.withheld = 0
        self.first: dict[str, int] = {}
        self._of_stream: dict[str, list[int]] = {}
        self.failed_pairs = FailedPairs()
        self.rejections = Rejections()
        self.floored: dict[str, set[str]] = {}
        self._last: dict[str, Any] = {}
        none = np.zeros(0, np.int64)
        self._late: list[tuple[Ints, Ints, Ints]] = [(none, none, none)]  # of late rows time (or pane's start), F and K
        self.first_batch: int | None = None

    def __call__(self, batch: int, rows_left: int, written: dict[str, pa.Table]) -> None:
        metrics = in_ms(written["metrics"], "metrics")
        self.first_batch = batch if self.first_batch is None else self.first_batch
        self._last = metrics.slice(metrics.num_rows - 1).to_pylist()[0]
        self.late += sum(metrics["late"].to_pylist())
        self.repeats += sum(metrics["repeats"].to_pylist())
        self.answers += sum(metrics["answers"].to_pylist())
        for counts in metrics["counts"].drop_null().to_pylist():
            self.overflowed += dict(counts).get("overflowed", 0)
            self.withheld += dict(counts).get(WITHHELD, 0)
            self.failed_pairs += FailedPairs.of_counts(counts)
        if "segments" in written:
            self.read += sum(written["segments"]["rows"].to_pylist())
            self.accepted += sum(written["segments"]["accepted"].to_pylist())
            self.filtered += sum(written["segments"]["filtered"].to_pylist())
            self.unmatched += sum(written["segments"]["unmatched"].to_pylist())
            columns = ("stream", "position", "rows", "accepted", "filtered", "unmatched")
            for name, position, *counts in zip(
                *(written["segments"][each].to_pylist() for each in columns), strict=True
            ):
                self.first.setdefault(name, position)
                before = self._of_stream.get(name, [0] * len(counts))
                self._of_stream[name] = [one + other for one, other in zip(before, counts, strict=True)]
            names, floored = (written["segments"][each].to_pylist() for each in ("stream", "floored"))
            for name, cut in zip(names, floored, strict=True):
                self.floored.setdefault(name, set()).update(cut.split(", ") if cut else ())
        if "quarantine" in written:
            self.rejections.add(written["quarantine"])
        if "late" in written and sum(len(time) for time, *_ in self._late) < _SAMPLE:
            late = in_ms(written["late"].slice(0, _SAMPLE), "late")
            name = next(name for name in LATE_TIMES if name in late.column_names)
            time, frontier = (late[column].to_numpy().astype(np.int64) for column in (name, "frontier"))
            self._late.append((time, frontier, np.full(len(time), self._last["k_ms"])))

    @property
    def failed(self) -> bool:
        """True if no record was accepted, though some were read; those that are left out are no fault."""
        return self.read > self.filtered and not self.accepted

    def lines(
        self,
        end_before: Callable[[], EndOfRun | None] = lambda: None,
        first_end: Callable[[Ints], Ints] = lambda time: time,
    ) -> Iterator[str]:
        """Yield the lines for the end of a run.

        Parameters
        ----------
        end_before : callable
            Returns the end of the previous run; None if it left windows open.
        first_end : callable
            Returns the end of the earliest window over each late tuple, by its time in `late`, ms.
        """
        if not self.read:
            return
        rejected = self.read - self.accepted - self.filtered
        by_where = self.filtered - self.unmatched
        if self.filtered == self.read:
            if by_where:
                yield f"warning: no record is a tuple: where is false or null for all of them{_SHOWN}"
            else:
                yield "no record is a tuple: none of them meets a row of a lookup"
        filtered = f"{by_where:,} filtered, " if by_where else ""
        filtered += f"{self.unmatched:,} without a row of a lookup, " if self.unmatched else ""
        yield f"read {counted(self.read, 'record')}: {self.accepted:,} accepted, {filtered}{rejected:,} rejected"
        for line in self.rejections.lines():
            yield f"  {line}"
        if self.repeats:
            yield f"{counted(self.repeats, 'repeat')} of ids dropped, by deduplicate"
        if self.withheld:
            found = f"{self.withheld:,} of {counted(self.withheld + self.answers, 'answer')} withheld"
            yield f"{'' if self.answers else 'warning: '}{found}: having is not true for them"
        yield from map("warning: {}".format, self._warnings(rejected, end_before, first_end))

    def _warnings(
        self, rejected: int, end_before: Callable[[], EndOfRun | None], first_end: Callable[[Ints], Ints]
    ) -> Iterator[str]:
        for stream, (rows, accepted, filtered, unmatched) in self._of_stream.items():
            if filtered > unmatched and not accepted and self.filtered < self.read:
                yield where_of(stream, rows, filtered, unmatched)
        if rejected > _MANY * (self.read - self.filtered) and self.accepted:
            yield f"{rejected / (self.read - self.filtered):.0%} of the records were rejected, for the reasons above"
        coverage = self._last.get("coverage")
        if self.late > _MANY * self.accepted or (coverage is not None and coverage < _MANY):
            shown = "" if coverage is None else f", coverage is {coverage:.2%}"
            cause = self._cause(end_before(), first_end)
            yield f"{counted(self.late, 'tuple')} of {self.accepted:,} came late{shown}: {cause}"
        if self.overflowed:
            yield overflow_of(self.overflowed)
        yield from (floored_of(stream, columns) for stream, columns in self.floored.items() if columns)
        if self.failed_pairs.number:
            yield self.failed_pairs.warning
        newest, reached = (
            self._last.get("newest_event"),
            [ms for ms in self._last.get("reached") or () if ms is not None],
        )
        if newest is not None and reached and newest - max(reached) >= _ZONE_MS:
            ahead = f"event times are up to {_rough(newest - max(reached))} ahead of arrival ({format_time(newest)})"
            yield f"{ahead}: are they of another time zone?"

    def _cause(self, end: EndOfRun | None, first_end: Callable[[Ints], Ints]) -> str:
        """Return the likely cause of most tuples being late."""
        time, frontier, k_ms = map(np.concatenate, zip(*self._late, strict=True))
        if end is not None:
            is_by_end = frontier == end.frontier
            if (is_by_end & (first_end(time) > end.unflushed)).sum() > _MANY * len(time):
                wait = "a run with --keep-open leaves them open for what comes next"
                cause = "the end of the run before had closed the windows of most"
                return f"{cause}; {wait}, and a correction adds what came late"
            frontier = np.where(is_by_end, end.unflushed, frontier)
        delays = (frontier - time + k_ms)[frontier > EARLIEST_MS]  # how far they are behind t_max
        if not len(delays):
            return "earlier runs wrote them"
        low, median, high = (float(each) for each in np.quantile(delays, [0.1, 0.5, 0.9]))
        behind = f"half of the late ones are {_rough(median)} or more behind the newest event time"
        if median >= _ZONE_MS and high - low <= _SPREAD * median:
            return f"{behind}, and most as far: are their times of another time zone than the others'?"
        k = format_duration(self._last["k_ms"])
        return f"{behind}, and K is {k}. A larger k waits for them, so does policy quantile; tailrace calibrate finds K"


def _rough(duration_ms: float) -> str:
    """Return a duration in its largest unit, to a tenth."""
    for unit, length in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if duration_ms >= length:
            return f"{duration_ms / length:.1f} {unit}".replace(".0 ", " ")
    return f"{duration_ms:.0f} ms"
