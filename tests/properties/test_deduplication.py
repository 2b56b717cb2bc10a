"""`deduplicate: true`: the stream drops repeats of an id, as far back as it keeps tuples, as a plain loop says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.streams import cuts, disordered
from kit.oracles.oracle import Settings, Tuple, aggregate, pane_of, stream, ticks_of, windows_of
from kit.oracles.oracle_assertions import assert_close
from kit.runs.harness import run
from kit.suite.examples import drawn


def expected(tuples: list[Tuple], query: Settings) -> tuple[dict, dict, int]:
    """(windows by key with value and tuples, late tuples by key, pane and tick, repeats) without repeats.

    t_max, K and F are those of all tuples. An id is remembered until F has passed the last window of a tuple with it.
    """
    trace = {tick.tick: tick.frontier for tick in stream(tuples, query).trace}
    numbers = ticks_of(tuples, query.tick)
    order = sorted(range(len(tuples)), key=lambda i: (numbers[i][0], tuples[i].arrival_time, i))
    remembered: dict[str, int] = {}
    here: set[tuple[str, int]] = set()
    held: dict[tuple, list[float]] = {}
    late: dict[tuple, int] = {}
    repeats = 0
    for i in order:
        item, number = tuples[i], numbers[i][0]
        before = max((frontier for tick, frontier in trace.items() if tick < number), default=None)
        windows = windows_of(item.event_time, query.size, query.slide)
        is_repeat = (item.id, number) in here
        is_repeat |= item.id in remembered and (before is None or remembered[item.id] > before)
        here.add((item.id, number))
        remembered[item.id] = max(windows[-1][1], remembered.get(item.id, windows[-1][1]))
        repeats += is_repeat
        if is_repeat:
            continue
        closed = [end for _, end in windows if before is not None and end <= before]
        if closed:
            row = item.key, pane_of(item.event_time, query), number
            late[row] = late.get(row, 0) + 1
        for start, end in windows:
            if end not in closed:
                held.setdefault((item.key, start, end), []).append(item.value)
    answers = {window: aggregate(query.function, values, query.q) for window, values in held.items()}
    return answers, late, repeats


@pytest.mark.parametrize("function", ["sum", "count", "max"])
@drawn(40)
@given(data=st.data(), case=disordered(min_tuples=2))
def test_repeats_are_dropped_as_far_back_as_tuples_are_kept(function: str, data: st.DataObject, case) -> None:
    tuples, query = case
    query = replace(query, function=function, q=None)
    ids = data.draw(st.lists(st.integers(0, 5), min_size=len(tuples), max_size=len(tuples)), label="ids")
    tuples = [item._replace(id=f"t{number}") for item, number in zip(tuples, ids, strict=True)]
    rows = run(
        tuples,
        query,
        data.draw(cuts(len(tuples)), label="cuts"),
        tasks=data.draw(st.integers(1, 3), label="tasks"),
        deduplicates=True,
    )
    answers, late, repeats = expected(tuples, query)
    found = {(row["key"], row["window_start"], row["window_end"]): row for row in rows.get("results", [])}
    assert len(found) == len(rows.get("results", []))
    assert {window: row["tuples"] for window, row in found.items()} == {
        window: count for window, (_, count, _) in answers.items()
    }
    for window, (value, _, sum_abs) in answers.items():
        assert_close(found[window]["value"], value, sum_abs)
    assert {(row["key"], row["pane_start"], row["tick"]): row["tuples"] for row in rows.get("late", [])} == late
    assert sum(row["repeats"] for row in rows["metrics"]) == repeats
    assert sum(row["rows"] for row in rows["metrics"]) == len(tuples)


def test_a_repeat_in_the_same_tick_is_one_though_the_windows_of_its_id_have_closed() -> None:
    query = Settings(size=20, slide=10, tick=10, function="count", policy="none")
    passes = Tuple(29, 29, "b", None, 1.0)
    late, again = Tuple(5, 31, "a", None, 1.0), Tuple(5, 32, "a", None, 1.0)
    rows = run([passes, late, again], query, deduplicates=True)
    assert [row["tuples"] for row in rows["late"]] == [1]
    assert sum(row["repeats"] for row in rows["metrics"]) == 1


def test_an_id_is_forgotten_when_its_windows_have_closed() -> None:
    query = Settings(size=10, slide=10, tick=1, function="count", policy="none")
    early, again = Tuple(5, 5, "a", None, 1.0), Tuple(6, 6, "a", None, 1.0)
    passes, later = Tuple(25, 25, "b", None, 1.0), Tuple(26, 26, "a", None, 1.0)
    rows = run([early, again, passes, later], query, deduplicates=True)
    assert [(row["window_end"], row["tuples"]) for row in rows["results"]] == [(10, 1), (30, 2)]
    assert sum(row["repeats"] for row in rows["metrics"]) == 1


def test_a_repeat_with_another_key_is_a_repeat_too() -> None:
    query = Settings(size=10, slide=10, tick=1, function="count", policy="none")
    tuples = [Tuple(5, 5, "a", "x", 1.0), Tuple(5, 6, "a", "y", 1.0)]
    rows = run(tuples, query, tasks=3, deduplicates=True)
    assert [(row["key"], row["tuples"]) for row in rows["results"]] == [("x", 1)]
