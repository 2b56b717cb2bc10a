"""History up to a cut-off, without repeats, evaluated: the batch answer. And which windows an interval is about."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.streams import cuts, disordered
from kit.oracles.oracle import batch, in_order, missed, stream
from kit.oracles.oracle_assertions import assert_close
from kit.runs.memory_tables import MemoryTables
from kit.suite.examples import drawn
from tailrace.correction.correction_range import CorrectionRange

SOME = drawn(100)
FAR = 1 << 60


@SOME
@given(st.data(), disordered(min_tuples=1, duplicates=True, placed=True))
def test_evaluated_history_is_the_batch_answer_at_any_cut_off(data, case):
    tuples, query = case
    desk = MemoryTables(tuples, query, data.draw(cuts(len(tuples)), label="cuts"))
    ends = sorted({tick.end for tick in stream(tuples, query).trace})
    before = data.draw(st.sampled_from([*ends, ends[-1] + 1000]), label="before")
    truth = batch(tuples, query, before=before)
    rows = desk.past(before).evaluate(desk.model.closed(CorrectionRange().bounds, FAR)).to_pylist()
    found = {(row["key"], row["window_start"], row["window_end"]): row for row in rows}
    assert found.keys() == truth.keys()
    for window, true in truth.items():
        assert found[window]["tuples"] == true.tuples
        assert_close(found[window]["value"], true.value, max(true.sum_abs, 1e-300))


@SOME
@given(st.data(), disordered(min_tuples=1, duplicates=True, placed=True))
def test_repeats_are_found_wherever_the_first_tuple_is(data, case):
    tuples, query = case
    desk = MemoryTables(tuples, query, data.draw(cuts(len(tuples)), label="cuts"))
    outcome = stream(tuples, query)
    ends, times = [tick.end for tick in outcome.trace], sorted({item.event_time for item in tuples})
    b = data.draw(st.sampled_from([0, *ends]), label="before")
    low, high = sorted(data.draw(st.tuples(*[st.sampled_from([*times, times[-1] + 1])] * 2), label="event times"))
    again = [tuples[i] for i, is_first in in_order(tuples, query.tick, b) if not is_first]
    expected = sorted((one.id, one.key, one.event_time) for one in again if low <= one.event_time < high)
    some = slice(0, int(low < high))
    found = desk.past(b).repeats(0, (np.array([low])[some], np.array([high])[some]))
    assert sorted(zip(*found.select(["id", "key", "event_time"]).to_pydict().values(), strict=True)) == expected


@SOME
@given(st.data(), disordered(min_tuples=1, placed=True))
def test_the_windows_an_interval_touches_are_those_its_late_tuples_missed(data, case):
    tuples, query = case
    desk, outcome = MemoryTables(tuples, query, []), stream(tuples, query)
    ends = [tick.end for tick in outcome.trace]
    a, b = sorted(data.draw(st.tuples(*[st.sampled_from([0, *ends])] * 2), label="interval"))
    touched = desk.arrived(a, b).windows.to_pylist()
    expected = {(key, end) for key, _, end in missed(outcome, a, b)}
    assert {(row["key"], row["window_end"]) for row in touched} == expected
    assert len(touched) == len(expected)
