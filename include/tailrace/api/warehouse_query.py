"""A query and its tables in a warehouse: corrections, calibrations, rebuilds, and reading."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from tailrace.api import reading
from tailrace.api.answers import Answers
from tailrace.api.changed_query import require_same
from tailrace.api.engines import correct_on, engine_named, rebuild_on
from tailrace.api.explanation import Explanation
from tailrace.api.rows import Rows
from tailrace.api.scratch import Scratch
from tailrace.api.stored_rows import over_stored
from tailrace.api.times import Time, range_of, time_ms
from tailrace.ground.errors import Problem, Refused
from tailrace.query.loading import located
from tailrace.query.query import Query as Declared
from tailrace.sources.record_place import naming_rows
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.storage.warehouses import Warehouse

if TYPE_CHECKING:
    from tailrace.api.picture_file import Picture
    from tailrace.api.rebuilt import Rebuilt
    from tailrace.calibration.report import CalibrationReport
    from tailrace.correction.report import CorrectionReport
    from tailrace.stream.run import OnBatch


@dataclass(frozen=True, repr=False)
class WarehouseQuery:
    """A declared query and its tables in a warehouse.

    Attributes
    ----------
    declared : tailrace.query.query.Query
        The frozen model of the declaration.
    file, streams_file : Path or None
        The file that declares the query, and for SQL text the file with its streams; None for a query declared in code.
    rows : dict
        The in-memory rows of streams, by stream.
    place : path or URL or None
        The named warehouse.
    names_options : bool
        Whether refusals name options of the command in place of arguments.
    """

    declared: Declared
    file: Path | None = None
    streams_file: Path | None = None
    rows: Mapping[str, pa.Table] = field(default_factory=dict)
    place: Warehouse | None = None
    scratch: Scratch = field(default_factory=Scratch)
    names_options: bool = False

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def kind(self) -> str:
        return self.declared.kind

    @property
    def warehouse(self) -> Warehouse:
        """The folder, or the URL of an object store, with the query's tables.

        It is the named one. For a query with rows in memory the default is a temporary folder, which is removed with
        the query's objects; for others the environment variable TAILRACE_WAREHOUSE, else `warehouse` in the current
        folder.
        """
        if self.place is not None:
            return self.place
        if self.rows:
            return self.scratch.path / "warehouse"
        return os.environ.get("TAILRACE_WAREHOUSE") or Path("warehouse")

    def correct(
        self,
        *,
        start: Time = None,
        end: Time = None,
        arrived_from: Time = None,
        arrived_to: Time = None,
        engine: str | None = None,
    ) -> CorrectionReport:
        """Recompute from history the answers that late tuples missed, and write their next versions (idempotent).

        Parameters
        ----------
        start, end : time, optional
            Event times [start, end): correct the windows that overlap them.
        arrived_from, arrived_to : time, optional
            Arrival times [from, to): correct for the tuples that came late in them.
        engine : str, optional
            As for `Query.run`.
        """
        with self._refusing(locates=True):
            correction_range = range_of(start, end, arrived_from, arrived_to)
            require_same(self, engine)
            report: CorrectionReport = correct_on(engine_named(engine))(self.stored(), self.warehouse, correction_range)
            return report

    def calibrate(self, *, dry_run: bool = False) -> CalibrationReport:
        """Measure the accuracy of answers with several waits, over the newest windows of history, and propose K.

        Parameters
        ----------
        dry_run : bool
            Only measure, and write nothing.
        """
        from tailrace.calibration.calibrate import calibrate  # noqa: PLC0415 (its search takes long to import)

        with self._refusing():
            return calibrate(self.stored(), self.warehouse, dry_run)

    def rebuild(self, *, dry_run: bool = False, engine: str | None = None, on_batch: OnBatch | None = None) -> Rebuilt:
        """Rebuild a drained query's state from history: for another parallelism or window, or a lost checkpoint.

        Parameters
        ----------
        dry_run : bool
            Only plan it, and write nothing.
        engine : str, optional
            As for `Query.run`.
        """
        from tailrace.api.rebuilt import Rebuilt  # noqa: PLC0415 (a rebuild is rare)
        from tailrace.stream.rebuild import plan_rebuild  # noqa: PLC0415

        with self._refusing(locates=True):
            query, file = self.stored(), self.file or Path(f"query {self.name}")
            if dry_run:
                return Rebuilt.from_plan(plan_rebuild(query, self.layout, file), self.layout, is_done=False)
            done = rebuild_on(engine_named(engine))(query, self.warehouse, file, on_batch)
            return Rebuilt.from_plan(done, self.layout, is_done=True)

    def rescale(self, tasks: int) -> int:
        """Request another number of tasks from the stream's next batch on; return the number until then.

        A running stream changes it without a restart; otherwise the next run does.
        """
        from tailrace.storage.tasks_in_force import request_tasks  # noqa: PLC0415 (it is rare)

        with self._refusing(locates=True):
            return request_tasks(self.layout, self.stored(), tasks)

    def results(
        self,
        as_of: Literal["corrected", "stream"] = "corrected",
        *,
        start: Time = None,
        end: Time = None,
        key: str | None = None,
        where: str | None = None,
        order_by: str | None = None,
        limit: int | None = None,
    ) -> Answers:
        """Return the answers, by default ordered by time.

        Parameters
        ----------
        as_of : str
            corrected: the newest version of each. stream: as streamed.
        start, end : time, optional
            Event times: windows that end after `start` and start before `end`, pairs with a tuple in [start, end).
        key : str, optional
            Only the answers of this key; for a composite key, a JSON array.
        where : str, optional
            An expression over the columns of answers; answers for which it is false or null are left out.
        order_by : str, optional
            Expressions separated by commas, such as `value desc, key`; nulls are ordered as in Spark SQL.
        limit : int, optional
            The most answers to return.
        """
        with self._refusing():
            answers = reading.answers_of(self.declared, self.warehouse, as_of, reading.part_of(start, end, key))
            chosen = reading.chosen_of(answers, where, order_by, limit)
        return chosen if self.names_options else replace(chosen, why_none=_in_python(chosen.why_none))

    def quality(self) -> Rows:
        """Return the errors of streamed answers, compared with corrected ones, over time, and the policy's promise."""
        with self._refusing():
            return reading.quality_of(self.declared, self.warehouse)

    def late(self, *, records: bool = False, limit: int | None = None) -> Rows:
        """Return the late tuples: for windows their number by key, pane and tick; for pairs their ids.

        Parameters
        ----------
        records : bool
            Return each tuple in place of the numbers, in order of arrival, with the place of its record.
        limit : int, optional
            The most records to return.
        """
        if not records:
            with self._refusing():
                return reading.rows_of(self.declared, self.warehouse, "late")
        from tailrace.api.late_rows import late_rows  # noqa: PLC0415 (the panels' import takes long)

        with self._refusing(locates=True):
            return late_rows(self.stored(), self.layout, limit)

    def quarantine(self) -> Rows:
        """Return the rejected records, each with its place and the reason."""
        with self._refusing():
            return reading.rows_of(self.declared, self.warehouse, "quarantine")

    def explain(self) -> Explanation:
        """Explain the query's plan: kind, partition and method, with the reason; and its sections and SQL text."""
        with self._refusing():
            return Explanation.from_query(self.declared, self.file)

    def plot(self, *, start: Time = None, end: Time = None, key: str | None = None) -> Picture:
        """Draw the query; needs the extra `plots`.

        Parameters
        ----------
        start, end : time, optional
            Draw arrival and event times after `start`, up to `end`; by default all.
        key : str, optional
            Draw the answers of this key, as streamed and as corrected.
        """
        from tailrace.api.picture_file import read_picture  # noqa: PLC0415 (numpy's and the panels' import takes long)

        with self._refusing():
            return read_picture(self.declared, self.layout, time_ms("--from", start), time_ms("--to", end), key)

    def status(self) -> Status | None:
        """Return the last status that the query's stream has reported; None if it never ran."""
        with self._refusing():
            return Status.read(self.layout)

    @property
    def layout(self) -> Layout:
        """The folders and files of the query in its warehouse."""
        return Layout.for_query(self.warehouse, self.name)

    def stored(self) -> Declared:
        """Return the declaration with the locations of all sources, including stored in-memory rows."""
        return over_stored(self.declared, self.rows, self.layout)

    @contextmanager
    def _refusing(self, locates: bool = False) -> Iterator[None]:
        """Reword refusals in the block: name Python's arguments and, if `locates`, the line of the query file."""
        words = nullcontext() if self.names_options else naming_arguments()
        places = located(self.file, self.streams_file) if locates and self.file else nullcontext()
        with words, places:
            yield

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}: {self.kind} in {self.warehouse})"


_OPTION = re.compile(r"--([a-z][a-z-]*)")
_ARGUMENTS = {"from": "start", "to": "end"}


@contextmanager
def naming_arguments() -> Iterator[None]:
    """Replace command options in refusals by Python's arguments, and files of stored rows by their streams."""
    try:
        yield
    except Refused as refused:
        said = [Problem(*map(_in_python, (each.where, each.fault, each.remedy))) for each in refused.problems]
        if tuple(said) == refused.problems:
            raise
        raise refused.restated(said) from refused


def _in_python(text: str) -> str:
    """Replace options in a text by arguments, and files of stored rows by their streams; whole commands stay."""
    text = naming_rows(text)
    if "tailrace " in text:
        return text
    return _OPTION.sub(lambda option: _ARGUMENTS.get(option[1], option[1].replace("-", "_")), text)
