"""Coverage λ of each window, against a count of every tuple."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kit.draws.policy_ticks import Arrival, statistics_of
from kit.suite.examples import drawn
from tailrace.disorder.pd_policy import WindowCoverage
from tailrace.windows.sliding import Sliding

WINDOWS = Sliding(30, 10)
TUPLES = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 150)).map(lambda each: Arrival(*each)), min_size=1, max_size=60
)


def evaluate(tuples: list[Arrival], frontier: list[int], restart_at: int = -1) -> list[float]:
    """λ of the windows in the order of their evaluation; `frontier` is F at the start of each tick.

    `restart_at` is the tick after which the state is checkpointed and restored.
    """
    stream, shares = statistics_of(tuples, WINDOWS), []
    coverage = WindowCoverage.restore(stream, {})
    for i, before in enumerate(frontier):
        counts = stream.counts.between(i, i + 1)
        coverage.add(counts["pane"], counts["count"], before)
        shares += coverage.finished(before).tolist()
        if i == restart_at:
            coverage = WindowCoverage.restore(stream, coverage.checkpoint())
    return shares


@drawn(100)
@given(TUPLES, st.data())
def test_coverage_is_the_share_that_arrived_in_time_of_all_until_a_window_size_after_the_close(tuples, data):
    tuples.sort(key=lambda item: item.tick)
    tick_count = len({item.tick for item in tuples})
    frontier = sorted(data.draw(st.lists(st.integers(-20, 220), min_size=tick_count, max_size=tick_count)))
    expected, index_of = [], {tick: i for i, tick in enumerate(sorted({item.tick for item in tuples}))}
    for end in range(10, 200, 10):
        frontiers = [frontier[index_of[item.tick]] for item in tuples if end - 30 <= item.event < end]
        in_time, late = sum(before < end for before in frontiers), sum(end <= before < end + 30 for before in frontiers)
        # Evaluated at the first tick that starts with F a window size beyond the end, if the window has tuples by then.
        evaluations = [before for before in frontier if before >= end + 30]
        if evaluations and in_time + late:
            expected.append((evaluations[0], end, in_time / (in_time + late)))
    assert evaluate(tuples, frontier) == [share for _, _, share in sorted(expected)]


def test_tuples_that_arrive_when_a_window_is_evaluated_do_not_count():
    tuples = [Arrival(0, 5), Arrival(1, 5), Arrival(2, 5), Arrival(3, 5)]
    assert evaluate(tuples, [-99, 10, 39, 40])[0] == 1 / 3
    assert evaluate(tuples, [-99, 10, 40, 50])[0] == 1 / 2


def test_windows_that_began_before_the_state_do_not_count():
    stream = statistics_of([Arrival(0, 100), Arrival(1, 105), Arrival(2, 135), Arrival(3, 300)], WINDOWS)
    later = stream.between(1, 4, 0)
    assert later.before == 100
    coverage = WindowCoverage.restore(later, {})
    for i in range(3):
        counts = later.counts.between(i, i + 1)
        coverage.add(counts["pane"], counts["count"], 0)
    assert coverage.ends.tolist() == [140, 150, 160, 310, 320, 330]  # windows that begin by 100 would lack its tuple


@drawn(30)
@given(TUPLES, st.integers(0, 12))
def test_coverage_survives_a_checkpoint(tuples, at):
    frontier = [15 * i - 20 for i in range(len({each.tick for each in tuples}))]
    assert evaluate(tuples, frontier, at) == evaluate(tuples, frontier)


def test_coverage_is_returned_in_the_order_of_window_ends():
    tuples = [Arrival(0, event) for event in (5, 15, 25)] + [Arrival(1, 5), Arrival(1, 6)] + [Arrival(2, 300)]
    #  end 10: 1 of 3; end 20: 2 of 4; end 30: 3 of 5; end 40: 2 in time; end 50: 1
    assert evaluate(tuples, [-99, 30, 90]) == [1 / 3, 2 / 4, 3 / 5, 1.0, 1.0]
