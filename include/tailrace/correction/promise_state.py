"""The state of a query's promise: what its policy promises, against the measured errors of the newest answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables

NEWEST = 10
"""The number of newest buckets of the table `quality` that are judged together."""

_COLUMNS = ("bucket_start", "answers", "missing", "off", "mean_error", "error", "risk", "accuracy")


@dataclass(frozen=True)
class PromiseState:
    """Whether a promise is kept, and the figures behind that.

    Attributes
    ----------
    state : str
        `unknown`: nothing was measured, which takes a correction, or nothing is promised.
    """

    state: Literal["unknown", "kept", "broken"]
    detail: str

    @staticmethod
    def read(layout: Layout) -> PromiseState:
        """Judge the newest buckets of the table `quality`."""
        tables = Tables(layout)
        if not tables.has("quality"):
            return PromiseState("unknown", "nothing is measured yet")
        return judge(tables.read("quality", _COLUMNS).sort_by("bucket_start"))


def judge(quality: pa.Table) -> PromiseState:
    """Judge the newest rows of the table `quality`, in order of time, by the newest row's promise.

    P(error ≥ `error`) ≤ `risk` is broken where the share of answers that are off exceeds `risk`; `accuracy` is broken
    where 1 − the mean error falls below it.
    """
    newest = quality.slice(max(quality.num_rows - NEWEST, 0))
    counts = pc.add(newest["answers"], newest["missing"])
    count = _total(counts)
    if not count:
        return PromiseState("unknown", "nothing is measured yet")
    promise = newest.slice(newest.num_rows - 1).to_pylist()[0]
    if promise["accuracy"] is not None:
        accuracy = 1 - _total(pc.multiply(newest["mean_error"], counts)) / count
        detail = (
            f"accuracy {accuracy:.4g} of the newest {count:,.0f} answers, at least {promise['accuracy']:g} promised"
        )
        return PromiseState("broken" if accuracy < promise["accuracy"] else "kept", detail)
    if promise["risk"] is None:
        return PromiseState("unknown", "its policy promises nothing")
    share = _total(newest["off"]) / count
    detail = (
        f"{share:.2%} of the newest {count:,.0f} answers are off by {promise['error']:g} or more, at most "
        f"{promise['risk']:.2%} promised"
    )
    return PromiseState("broken" if share > promise["risk"] else "kept", detail)


def _total(column: Any) -> float:
    return float(pc.sum(column).as_py() or 0)
