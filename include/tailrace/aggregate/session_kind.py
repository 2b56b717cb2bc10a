"""The aggregate kind over sessions, in which the tuples of a key determine the windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tailrace.aggregate.kind import Aggregate
from tailrace.aggregate.partials import combine
from tailrace.answers.by_session import BySession
from tailrace.disorder.clock import Frontier
from tailrace.kind.step import Step
from tailrace.operators import sessions
from tailrace.operators.sessions import SessionState
from tailrace.windows.panes import KeyedRows
from tailrace.windows.sessions import START, Sessions, evaluate_sessions
from tailrace.windows.sliding import Sliding

_EACH_MS = Sliding(1, 1)


@dataclass(frozen=True, kw_only=True)
class SessionAggregate(Aggregate):
    """One or more aggregates over the sessions of each key.

    Corrections evaluate sessions from history, as late tuples may join answers, which can't be amended.
    """

    _of_windows = (*Aggregate._of_windows, START)
    _state = SessionState

    @property
    def sessions(self) -> Sessions:
        """Its windows."""
        assert isinstance(self.windows, Sessions)
        return self.windows

    @property
    def answers(self) -> BySession:
        return BySession(self.sessions)

    def combine(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Combine rows into partials by key, event time and tick, as a session may begin and end at any ms."""
        return combine(_EACH_MS, self.summary, rows)

    def step(self, state: Any, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        """Advance a state to the frontier (the watermark), and answer the sessions that closed."""
        return self._finished(*sessions.step(self.sessions, self.summary, state, arrived[0], frontier), frontier)

    def amend(self, answers: pa.Table, late: pa.Table) -> pa.RecordBatch:
        """Return no rows, see `IncrementallyCorrectable`."""
        return pa.RecordBatch.from_pylist([], self.answer)

    def _evaluate(self, panes: KeyedRows) -> KeyedRows:
        return evaluate_sessions(self.sessions, self.summary, panes)

    def _starts(self, rows: pa.RecordBatch) -> pa.Array:
        return rows.column(START)
