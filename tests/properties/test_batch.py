"""History up to a cut-off, without repeats, evaluated: the batch answer. And which windows an interval is about."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_tables import MemoryTables
from oracle import batch, missed, stream, ticks_of, windows_of
from oracle_assertions import assert_close
from streams import cuts, disordered
from tailrace.correction.correction_range import CorrectionRange

SOME = settings(max_examples=100, deadline=None)
FAR = 1 << 60


@SOME
@given(st.data(), disordered(min_tuples=1, duplicates=True))
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
@given(st.data(), disordered(min_tuples=1, duplicates=True))
def test_windows_with_repeats_are_found_wherever_the_other_tuple_is(data, case):
    tuples, query = case
    desk = MemoryTables(tuples, query, data.draw(cuts(len(tuples)), label="cuts"))
    ends = [tick.end for tick in stream(tuples, query).trace]
    a, b = sorted(data.draw(st.tuples(*[st.sampled_from([0, *ends])] * 2), label="interval"))
    touched = desk.arrived(a, b)
    found = {(row["key"], row["window_end"]) for row in desk.past(b).windows_with_repeats(touched).to_pylist()}
    came = [item for item, (_, end) in zip(tuples, ticks_of(tuples, query.tick), strict=True) if end <= b]
    again = [item for item in came if sum(item.id == other.id for other in came) > 1]
    expected = {(item.key, end) for item in again for _, end in windows_of(item.event_time, query.size, query.slide)}
    mine = {(row["key"], row["window_end"]) for row in touched.windows.to_pylist()}
    assert found & mine == expected & mine
    assert found <= expected


@SOME
@given(st.data(), disordered(min_tuples=1))
def test_the_windows_an_interval_touches_are_those_its_late_tuples_missed(data, case):
    tuples, query = case
    desk, outcome = MemoryTables(tuples, query, []), stream(tuples, query)
    ends = [tick.end for tick in outcome.trace]
    a, b = sorted(data.draw(st.tuples(*[st.sampled_from([0, *ends])] * 2), label="interval"))
    touched = desk.arrived(a, b).windows.to_pylist()
    expected = {(key, end) for key, _, end in missed(outcome, a, b)}
    assert {(row["key"], row["window_end"]) for row in touched} == expected
    assert len(touched) == len(expected)
