"""A finished run of a query: its summary, and the query in the warehouse in which it ran."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tailrace.api.failed import Failed
from tailrace.api.next_command import next_command
from tailrace.api.warehouse_query import WarehouseQuery
from tailrace.correction import outlying_events, repeated_ids
from tailrace.correction.uncorrected import count_uncorrected
from tailrace.engine.other_contents import OTHER
from tailrace.ground import html
from tailrace.ground.errors import SourceChanged
from tailrace.ground.words import counted
from tailrace.query.joins import SpatialJoinQuery
from tailrace.query.windowed import WindowedQuery
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.progress import EndOfRun, end_of_run, held_back
from tailrace.stream.opening_lines import lines_about_times
from tailrace.stream.run_summary import RunSummary
from tailrace.windows.sliding import Sliding
from tailrace.windows.windows import Ints


@dataclass(frozen=True, repr=False)
class Run(WarehouseQuery):
    """A finished run, with all methods of its query in this warehouse, such as `correct` and `results`.

    Attributes
    ----------
    batches : int
        The number of batches that were run; 0 if there was nothing new to read.
    summary : RunSummary
        The numbers of records that were `read`, `accepted`, `filtered` and `late`, and the reasons of rejections.
    engine : str or None
        The requested engine.

    >>> import tailrace
    >>> table = {"at": ["2024-05-01T00:00:01Z", None], "id": [7, 8]}
    >>> rows = tailrace.Stream(table, event_time="at", id="id")
    >>> run = tailrace.query("aggregate", streams={"rows": rows}, window="5 s", aggregate={"function": "count"}).run()
    >>> run.summary.accepted
    1
    >>> run.quarantine().dicts()[0]["reason"]
    'at is null'
    """

    batches: int = 0
    summary: RunSummary = field(default_factory=RunSummary)
    engine: str | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the query's stream has ever had a record."""
        return self.layout.manifest() is not None

    def lines(self, is_corrected_next: bool = False) -> list[str]:
        """Describe the run in lines: accepted and rejected records, rows in an open tick, late tuples to correct.

        `is_corrected_next` says that a correction follows at once.
        """
        lines = [*self._lines()]
        if self.summary.first:
            lines += self._looked_at_again(is_corrected_next)
        return [*lines, *([] if is_corrected_next else self._late())]

    def require_accepted(self) -> None:
        """Raise `Failed` if the run has read records, but accepted none."""
        if self.summary.failed:
            raise Failed(self)

    def _lines(self) -> Iterator[str]:
        if not self.has_begun:
            yield "the input has no rows: there is nothing to answer, nor to correct"
            return
        if not self.batches:
            yield "nothing new to read"
        yield from self.summary.lines(self._end_before, self._first_end)
        # a join with a table holds back no row
        if self.declared.has_late_tuples and (held := held_back(OpenedTables(self.layout))):
            keep_open = "--keep-open" if self.names_options else "keep_open"
            ends = f"the tick ends when later records come, or at the end of a run without {keep_open}"
            yield f"{counted(held, 'row')} {'waits' if held == 1 else 'wait'} in an open tick: {ends}"

    def _end_before(self) -> EndOfRun | None:
        """Return the end of the previous run; None if it left windows open."""
        return end_of_run(OpenedTables(self.layout), (self.summary.first_batch or 0) - 1)

    def _first_end(self, time: Ints) -> Ints:
        """Return the end of the earliest window over each late tuple, given its time in ms; else the time itself."""
        declared = self.declared
        if isinstance(declared, WindowedQuery):
            return declared.window.windows.first_end(time)
        if not isinstance(declared, SpatialJoinQuery) or declared.window is None:
            return time
        windows = Sliding(declared.window.size_ms, declared.window.slide_ms)
        return windows.first_end(windows.pane(time))

    def _looked_at_again(self, is_corrected_next: bool) -> list[str]:
        """Examine again the records that the run has read; if a source has changed since, the run does not fail."""
        try:
            return [*self._outlying(), *self._repeats(is_corrected_next)]
        except (SourceChanged, OSError) as error:
            why = str(error).partition("\n")[0]
            return [f"warning: repeats and implausible times were not looked for, and a correction may fail: {why}"]

    def _repeats(self, is_corrected_next: bool) -> Iterator[str]:
        """Yield the number of records of the run that repeat an id, with equal and with other content.

        A stream that drops repeats has counted the repeats with equal content.
        """
        drops = self.declared.disorder.deduplicate
        once = "" if is_corrected_next or drops else f" once {self._correction} has run"
        for repeats in repeated_ids.of_run(self.declared, self.layout, self.summary.first):
            if repeats is None:
                yield repeated_ids.NOT_LOOKED_AT
            for each in repeats or ():
                if each.content == OTHER or not drops:
                    yield each.words(once)

    def _outlying(self) -> Iterator[str]:
        """Warn of implausible event times among the records that the run has read."""
        for outlying in outlying_events.of_run(self.declared, self.layout, self.summary.first):
            yield from map("warning: {}".format, outlying.lines())

    def _late(self) -> Iterator[str]:
        """Yield the number of late tuples, of all runs so far, that wait for a correction, and the command for it."""
        if self.batches and self.declared.has_late_tuples and (late := count_uncorrected(OpenedTables(self.layout))):
            yield f"{counted(late, 'late tuple')} {'waits' if late == 1 else 'wait'} for {self._correction}"

    @property
    def _correction(self) -> str:
        """The command that corrects."""
        return next_command(self, self.engine)("correct")

    def _shown(self) -> list[str]:
        """Describe the run in lines, how its times are read first."""
        return [*lines_about_times(self.declared, self.layout), *self.lines()]

    def _repr_html_(self) -> str:
        return html.named_texts({"run of": self.name, "warehouse": str(self.warehouse), "": "\n".join(self._shown())})

    def __repr__(self) -> str:
        return f"Run({self.name}: {'; '.join(self._shown())})"
