"""A declared continuous query that can be run."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from tailrace.api.changed_query import require_same
from tailrace.api.engines import engine_named, run_on
from tailrace.api.run import Run
from tailrace.api.scratch import Scratch
from tailrace.api.stored_rows import storing
from tailrace.api.stream import in_place_of
from tailrace.api.warehouse_query import WarehouseQuery
from tailrace.ground.errors import refuse
from tailrace.query.chain import chain_of
from tailrace.query.late_tuples import require_late_tuples
from tailrace.storage.query_file import QueryFile
from tailrace.storage.warehouses import Warehouse
from tailrace.stream.run import OnBatch
from tailrace.stream.run_options import BATCH_ROWS, RunOptions
from tailrace.stream.run_summary import RunSummary, all_of
from tailrace.stream.written_answers import noting_written


@dataclass(frozen=True, repr=False)
class Query(WarehouseQuery):
    """A declared query, from `tailrace.load`, `tailrace.query` or `tailrace.sql`.

    >>> import tailrace
    >>> rows = [{"at": "2024-05-01T00:00:00Z", "id": 1}, {"at": "2024-05-01T00:00:09Z", "id": 2}]
    >>> visits = tailrace.Stream(rows, event_time="at", id="id")
    >>> count = tailrace.query("aggregate", streams={"visits": visits}, window="5 s", aggregate={"function": "count"})
    >>> run = count.run()
    >>> run
    Run(aggregate: read 2 records: 2 accepted, 0 rejected)
    >>> run.results().arrow()["value"].to_pylist()
    [1.0, 1.0]
    """

    def at(self, warehouse: Warehouse) -> Query:
        """Return the query in another warehouse."""
        return replace(self, place=warehouse)

    def over(self, **streams: Any) -> Query:
        """Return the query with rows in memory in place of sources: `query.over(readings=rows)`.

        Rows are a `Stream`, or a table with the columns that the query's file names. The warehouse is a temporary one,
        and answers are sent nowhere: the section `answers` of the query's file is left out.

        Raises
        ------
        Refused
            When the query has no such stream, or its stream takes ids from a topic, and the rows name no column of ids.
        """
        declared, rows = in_place_of(self.declared, streams)
        return replace(self, declared=declared, rows={**self.rows, **rows}, place=None, scratch=Scratch())

    def run(
        self,
        warehouse: Warehouse | None = None,
        *,
        engine: str | None = None,
        bounded: bool = True,
        keep_open: bool = False,
        correct: bool = False,
        batch_rows: int = BATCH_ROWS,
        strict: bool = True,
        on_batch: OnBatch | None = None,
    ) -> Run:
        """Run the query to the end of its input, or live until it is interrupted; a later run resumes.

        Parameters
        ----------
        engine : str, optional
            local or spark; by default the value of the environment variable TAILRACE_ENGINE, else local.
        bounded : bool
            True: stop at the end of the input. False: go on until the process is interrupted or drained.
        keep_open : bool
            Leave open windows open at the end.
        correct : bool
            Correct everything after the run.
        batch_rows : int
            The most rows of a batch; no answer depends on it.
        strict : bool
            Whether to raise `Failed` if records were read, but none was accepted.
        on_batch : callable, optional
            Called after each batch with its number, the number of unread rows, and the rows written to each table.

        Returns
        -------
        Run
            The query in its warehouse, with the summary of the run.

        Raises
        ------
        Refused
            When the source does not fit the query, or the warehouse has another query's stream.
        Failed
            When records were read, but none was accepted.
        """
        query = self if warehouse is None else self.at(warehouse)
        with query._refusing(locates=True):
            query.require_runnable(bounded, keep_open, correct, engine)
            options = RunOptions(batch_rows, live=not bounded, flush=not keep_open)
            summary = RunSummary()
            callbacks: list[OnBatch] = [summary] if on_batch is None else [on_batch, summary]
            note = None if query.file is None else QueryFile(query.layout, query.file, query.streams_file)
            callbacks += [] if note is None else [note]
            with storing(query.rows, query.layout):
                batches = run_on(engine_named(engine))(query.stored(), query.warehouse, options, all_of(*callbacks))
        own = {each.name: getattr(query, each.name) for each in fields(query)}
        run = Run(**own, batches=batches, summary=summary, engine=engine)
        if note is not None and run.has_begun:
            note()
        if correct and run.has_begun:
            with noting_written(query.layout):
                run.correct(engine=engine)
        if strict:
            run.require_accepted()
        return run

    def require_runnable(
        self, bounded: bool = True, keep_open: bool = False, correct: bool = False, engine: str | None = None
    ) -> None:
        """Refuse a run before it begins if arguments conflict, or the warehouse has another query's stream.

        Parameters
        ----------
        bounded, keep_open, correct, engine
            As for `run`.
        """
        if self.file is None:
            chain_of(self.declared, None)
        if not bounded and (keep_open or correct):
            fault = "without --bounded the stream goes on until it is stopped"
            raise refuse("--keep-open" if keep_open else "--correct", fault, "--bounded beside it")
        if correct:
            require_late_tuples(self.declared)
        with self._refusing(locates=True):
            require_same(self, engine)
