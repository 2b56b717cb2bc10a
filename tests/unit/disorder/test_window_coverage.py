"""λ of every window, against looking at every tuple."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.disorder.window_coverage import WindowCoverage
from tailrace.windows.sliding import Sliding
from ticking import Came, seen

WINDOWS = Sliding(30, 10)
CAME = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 150)).map(lambda each: Came(*each)), min_size=1, max_size=60
)


def judged(came: list[Came], frontier: list[int], kept_at: int = -1) -> list[float]:
    """λ of the windows in the order in which they are judged; F is given at the start of each tick."""
    stream, found = seen(came, WINDOWS), []
    coverage = WindowCoverage.restore(stream, {})
    for i, before in enumerate(frontier):
        counts = stream.counts.between(i, i + 1)
        coverage.add(counts["pane"], counts["count"], before)
        found += coverage.finished(before).tolist()
        if i == kept_at:
            coverage = WindowCoverage.restore(stream, coverage.checkpoint())
    return found


@settings(max_examples=100, deadline=None)
@given(CAME, st.data())
def test_lambda_is_what_came_before_the_closing_of_all_until_a_size_after_it(came, data):
    came.sort(key=lambda each: each.tick)
    many = len({each.tick for each in came})
    frontier = sorted(data.draw(st.lists(st.integers(-20, 220), min_size=many, max_size=many)))
    expected, place = [], {tick: i for i, tick in enumerate(sorted({each.tick for each in came}))}
    for end in range(10, 200, 10):
        mine = [frontier[place[each.tick]] for each in came if end - 30 <= each.event < end]
        in_time, late = sum(before < end for before in mine), sum(end <= before < end + 30 for before in mine)
        # Judged at the first tick that finds F a size beyond the end, if something had come until then, or does.
        over = [before for before in frontier if before >= end + 30]
        if over and in_time + late:
            expected.append((over[0], end, in_time / (in_time + late)))
    assert judged(came, frontier) == [share for _, _, share in sorted(expected)]


def test_what_comes_when_the_window_is_judged_is_not_counted():
    came = [Came(0, 5), Came(1, 5), Came(2, 5), Came(3, 5)]
    assert judged(came, [-99, 10, 39, 40])[0] == 1 / 3
    assert judged(came, [-99, 10, 40, 50])[0] == 1 / 2


def test_windows_that_began_before_do_not_count():
    stream = seen([Came(0, 100), Came(1, 105), Came(2, 135), Came(3, 300)], WINDOWS)
    later = stream.between(1, 4, 0)
    assert later.before == 100
    coverage = WindowCoverage.restore(later, {})
    for i in range(3):
        counts = later.counts.between(i, i + 1)
        coverage.add(counts["pane"], counts["count"], 0)
    assert coverage.ends.tolist() == [140, 150, 160, 310, 320, 330]  # from 130 on they lack what came at 100 already


@settings(max_examples=30, deadline=None)
@given(CAME, st.integers(0, 12))
def test_it_is_kept(came, at):
    frontier = [15 * i - 20 for i in range(len({each.tick for each in came}))]
    assert judged(came, frontier, at) == judged(came, frontier)


def test_lambda_is_told_in_the_order_of_the_ends():
    came = [Came(0, event) for event in (5, 15, 25)] + [Came(1, 5), Came(1, 6)] + [Came(2, 300)]
    #  end 10: 1 of 3; end 20: 2 of 4; end 30: 3 of 5; end 40: 2 in time; end 50: 1
    assert judged(came, [-99, 30, 90]) == [1 / 3, 2 / 4, 3 / 5, 1.0, 1.0]
