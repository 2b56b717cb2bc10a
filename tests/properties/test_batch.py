"""History up to a cut-off, without repeats, evaluated: the batch answer, and what an interval's correction gives."""

from __future__ import annotations

import itertools
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from expect import assert_close
from harness import Memory, make_stage, raw_table, run
from oracle import batch, missed, stream
from streams import cuts, disordered
from tailrace.spark.batch import Evaluation, Log, first_of_each
from tailrace.spark.touched import Missed
from tailrace.streams.formats import FORMATS
from tailrace.streams.segments import Segment
from tailrace.windows.sliding import Sliding

SOME = settings(max_examples=100, deadline=None)


def evaluate(tuples, query, at, rows, before) -> dict:
    """The batch job's steps, as its workers take them, without Spark between them."""
    bounds = [0, *at, len(tuples)]
    tables = {str(i): raw_table(tuples[a:b]) for i, (a, b) in enumerate(itertools.pairwise(bounds))}
    stage = make_stage(query, keyed=all(t.key is not None for t in tuples))
    read = pd.DataFrame(rows["segments"]).sort_values("ordinal")
    segments = [Segment(r.path, 0, r.rows, r.ordinal, r.position) for r in read.itertuples()]
    columns = (read[name].to_numpy() for name in ("position", "before_tick", "before_end"))
    log = Log(segments, *columns, [])
    with mock.patch.dict(FORMATS, {"memory": Memory(tables)}):
        job = Evaluation(stage, log, before, (0, 0), None)
        parts = [log.arrived(job._tuples(i), before).select(job._columns) for i in range(len(segments))]
    content = pa.Table.from_batches(parts).combine_chunks().to_batches()
    if not content:
        return {}
    answers = stage.kind.evaluate(first_of_each(content[0])).to_pylist()
    return {(row["key"], row["window_start"], row["window_end"]): row for row in answers}


@SOME
@given(st.data(), disordered(min_tuples=1, duplicates=True))
def test_evaluated_history_is_the_batch_answer_at_any_cut_off(data, case):
    tuples, query = case
    at = data.draw(cuts(len(tuples)), label="cuts")
    rows = run(tuples, query, cuts=at)
    ends = sorted({tick.end for tick in stream(tuples, query).trace})
    before = data.draw(st.sampled_from([*ends, ends[-1] + 1000]), label="before")
    truth = batch(tuples, query, before=before)
    found = evaluate(tuples, query, at, rows, before)
    assert found.keys() == truth.keys()
    for window, true in truth.items():
        assert found[window]["tuples"] == true.tuples
        assert_close(found[window]["value"], true.value, max(true.sum_abs, 1e-300))


@SOME
@given(st.data(), disordered(min_tuples=1))
def test_the_windows_an_interval_touches_are_those_its_late_tuples_missed(data, case):
    tuples, query = case
    rows, outcome = run(tuples, query), stream(tuples, query)
    ends = [tick.end for tick in outcome.trace]
    a, b = sorted(data.draw(st.tuples(*[st.sampled_from([0, *ends])] * 2), label="interval"))
    late = pd.DataFrame(rows.get("late", []), columns=["key", "pane_start", "frontier", "arrived"])
    late = late[(late["arrived"] > a) & (late["arrived"] <= b)]
    windows = Sliding(query.size, query.slide)
    touched = Missed.by(late.astype({"pane_start": np.int64, "frontier": np.int64}), windows).pairs
    expected = {(key, end) for key, _, end in missed(outcome, a, b)}
    assert set(zip(touched["key"], touched["window_end"], strict=True)) == expected
