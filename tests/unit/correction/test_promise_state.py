"""The state of a promise by the newest measured errors."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tailrace.correction.promise_state import NEWEST, PromiseState, judge
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables


def quality(*rows, error=None, risk=None, accuracy=None, answer=None):
    """Rows of (answers, off, mean_error), one a bucket, of a column of answers."""
    whole = [
        {"bucket_start": n, "answers": answers, "missing": 0, "off": off, "mean_error": mean_error}
        | {"error": error, "risk": risk, "accuracy": accuracy, "answer": answer}
        for n, (answers, off, mean_error) in enumerate(rows)
    ]
    names = ("bucket_start", "answers", "missing", "off", "mean_error", "error", "risk", "accuracy", "answer")
    types = [pa.int64()] * 4 + [pa.float64()] * 4 + [pa.string()]
    return pa.Table.from_pylist(whole, schema=pa.schema(list(zip(names, types, strict=True))))


@pytest.mark.parametrize(("off", "state"), [(10, "kept"), (11, "broken")])
def test_a_promise_of_error_and_risk_is_broken_by_the_share_of_answers_that_are_off(off, state):
    assert judge(quality((50, 0, 0.0), (50, off, 0.0), error=0.05, risk=0.1)).state == state


@pytest.mark.parametrize(("mean_error", "state"), [(0.08, "kept"), (0.12, "broken")])
def test_a_promise_of_accuracy_is_broken_by_the_mean_error_weighted_by_answers(mean_error, state):
    assert judge(quality((10, 0, 0.0), (90, 0, mean_error), accuracy=0.9)).state == state


def test_only_the_newest_buckets_are_judged():
    rows = [(10, 10, 1.0)] * 5 + [(10, 0, 0.0)] * NEWEST
    assert judge(quality(*rows, error=0.05, risk=0.1)).state == "kept"
    assert judge(quality(*rows[:-1], error=0.05, risk=0.01)).state == "broken"


def test_answers_that_are_missing_count_as_off():
    rows = quality((5, 5, 1.0), error=0.05, risk=0.6)
    assert judge(rows).state == "broken"
    assert judge(rows.set_column(2, "missing", pa.array([5]))).state == "kept"


def test_without_a_promise_or_a_measurement_the_state_is_unknown(tmp_path):
    assert judge(quality((10, 10, 1.0))).state == "unknown"
    assert judge(quality(error=0.05, risk=0.1)).state == "unknown"
    assert PromiseState.read(Tables(Layout.for_query(tmp_path, "readings"))).state == "unknown"


def test_the_detail_has_the_figures():
    state = judge(quality((100, 25, 0.1), error=0.05, risk=0.1))
    assert state.detail == "25.00% of the newest 100 answers are off by 0.05 or more, at most 10.00% promised"


def test_each_column_of_answers_is_judged_by_itself_and_the_broken_ones_are_named():
    kept, broken, worse = (
        quality(*[(100, off, 0.0)] * NEWEST, error=0.05, risk=0.1, answer=name)
        for name, off in (("purchases", 9), ("revenue", 11), ("users", 50))
    )
    free = quality(*[(100, 100, 1.0)] * NEWEST, answer="newest")
    both = judge(pa.concat_tables([kept, broken, worse, free]).sort_by("bucket_start"))
    assert both == PromiseState(
        "broken",
        "users: 50.00% of the newest 1,000 answers are off by 0.05 or more, at most 10.00% promised; "
        "revenue: 11.00% of the newest 1,000 answers are off by 0.05 or more, at most 10.00% promised",
    )
    assert judge(pa.concat_tables([kept, free]).sort_by("bucket_start")) == PromiseState(
        "kept", "purchases: 9.00% of the newest 1,000 answers are off by 0.05 or more, at most 10.00% promised"
    )
    assert judge(free) == PromiseState("unknown", "its policy promises nothing")
    assert judge(free).word == "none"


def test_the_newest_buckets_are_counted_not_their_rows():
    rows = [(10, 10, 1.0)] + [(10, 0, 0.0)] * (NEWEST - 1)
    parts = [quality(*rows, error=0.05, risk=0.1, answer=name) for name in ("a", "b", "c")]
    assert judge(pa.concat_tables(parts).sort_by("bucket_start")).detail.startswith("a: 10.00% of the newest 100 ")
