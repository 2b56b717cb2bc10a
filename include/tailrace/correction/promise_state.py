"""The state of a query's promise: compares the policy's promise with the measured errors of the newest answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.table_log import Commit, newest_commit
from tailrace.storage.tables import Tables, within

NEWEST = 10
"""The number of newest buckets of the table `quality` that are judged together."""

NOT_MEASURED = "nothing is measured yet"
"""The detail before the first correction, even if nothing is promised."""

NOTHING_PROMISED = "its policy promises nothing"
"""The detail if the policy promises nothing."""


@dataclass(frozen=True)
class PromiseState:
    """Whether a promise is kept, with the figures.

    Attributes
    ----------
    state : str
        `unknown`: nothing was measured yet (a correction measures), or nothing is promised. `kept`, or `broken` for at
        least one of the promised columns of answers.
    """

    state: Literal["unknown", "kept", "broken"]
    detail: str

    def of_policy(self, is_promised: bool) -> PromiseState:
        """Return the state; if nothing is measured yet and the policy promises nothing, its detail says so."""
        is_none = self.detail == NOT_MEASURED and not is_promised
        return PromiseState("unknown", NOTHING_PROMISED) if is_none else self

    @property
    def word(self) -> str:
        """The state as a word for people: `none` if nothing is promised."""
        return "none" if self.detail == NOTHING_PROMISED else self.state

    @staticmethod
    def read(tables: Tables) -> PromiseState:
        """Judge the newest buckets of the table `quality`."""
        if not tables.has("quality"):
            return PromiseState("unknown", NOT_MEASURED)
        starts = pc.unique(tables.read("quality", ["bucket_start"])["bucket_start"]).sort()[-NEWEST:].to_pylist()
        newest = within("bucket_start", starts[0] - 1, starts[-1]) if starts else None
        return judge(tables.read("quality", where=newest))


class PromiseReader:
    """Reads the state of a query's promise repeatedly; it reads `quality` only when its version has changed."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._commit: Commit | None = None
        self._state = PromiseState("unknown", NOT_MEASURED)

    def read(self) -> PromiseState:
        """Return the state according to the table's newest version."""
        commit = newest_commit(self._layout.table("quality"))
        if commit is None or commit != self._commit:  # refuses a table with a lost log
            self._state, self._commit = PromiseState.read(OpenedTables(self._layout)), commit
        return self._state


def judge(quality: pa.Table) -> PromiseState:
    """Judge the newest buckets among rows of the table `quality` by the newest promise.

    P(error ≥ `error`) ≤ `risk` is broken if the share of answers that are off exceeds `risk`; `accuracy` is broken if 1
    − the mean error falls below it. Each column of answers is judged separately. The detail names the columns with a
    broken promise, the worst first; if there are none, the column nearest to it.
    """
    buckets = pc.unique(quality["bucket_start"]).sort()
    newest = quality.filter(pc.is_in(quality["bucket_start"], buckets[-NEWEST:]))
    if not _total(pc.add(newest["answers"], newest["missing"])):
        return PromiseState("unknown", NOT_MEASURED)
    latest = newest.filter(pc.equal(newest["bucket_start"], buckets[-1])).to_pylist()
    verdicts = sorted(
        _verdict(newest.filter(_is_of(newest["answer"], promise["answer"])), promise)
        for promise in latest
        if promise["accuracy"] is not None or promise["risk"] is not None
    )
    if not verdicts:
        return PromiseState("unknown", NOTHING_PROMISED)
    broken = [verdict for verdict in verdicts if verdict.margin < 0]
    return PromiseState("broken" if broken else "kept", "; ".join(each.detail for each in broken or verdicts[:1]))


class _Verdict(NamedTuple):
    """The margin by which a promise is kept for a column of answers, as a share; negative if it is broken."""

    margin: float
    detail: str


def _verdict(rows: pa.Table, promise: dict[str, Any]) -> _Verdict:
    """Judge the rows of a column of answers."""
    counts = pc.add(rows["answers"], rows["missing"])
    count, prefix = _total(counts), "" if promise["answer"] is None else f"{promise['answer']}: "
    if promise["accuracy"] is not None:
        accuracy, bound = 1 - _total(pc.multiply(rows["mean_error"], counts)) / count, promise["accuracy"]
        measured = f"accuracy {accuracy:.4g} of the newest {count:,.0f} answers"
        return _Verdict(accuracy - bound, f"{prefix}{measured}, at least {bound:g} promised")
    share = _total(rows["off"]) / count
    measured = f"{share:.2%} of the newest {count:,.0f} answers are off by {promise['error']:g} or more"
    return _Verdict(promise["risk"] - share, f"{prefix}{measured}, at most {promise['risk']:.2%} promised")


def _is_of(column: Any, answer: str | None) -> Any:
    return pc.is_null(column) if answer is None else pc.fill_null(pc.equal(column, answer), False)


def _total(column: Any) -> float:
    return float(pc.sum(column).as_py() or 0)
