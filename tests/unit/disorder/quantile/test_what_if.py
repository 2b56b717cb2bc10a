"""What windows would have held with each level, against a frontier for each, walked tick by tick."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.disorder.quantile.what_if import LEVELS, WhatIf
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.windows.sliding import Sliding

S = len(LEVELS)
WINDOWS = Sliding(300, 100)
# (how much t_max rises, K of the first level; the K of the others are multiples of it)
TICKS = st.lists(st.tuples(st.integers(0, 250), st.integers(0, 90)), min_size=1, max_size=25)


def test_levels_fall_from_all_to_next_to_none():
    assert LEVELS[0] == 1
    assert np.all(np.diff(LEVELS) < 0)
    assert LEVELS[-1] < 1e-4


@settings(max_examples=60, deadline=None)
@given(TICKS, st.integers(-1000, 1000))
def test_a_window_holds_what_came_before_its_levels_frontier_passed_it(ticks, start):
    shadows, t_max = WhatIf.restore(WINDOWS, {}), start
    ends, frontiers, held = [], [-(10**9)] * (S + 1), {}
    for rise, k in ticks:
        before, t_max = t_max, t_max + rise
        shadows.begin(before, t_max, 0)
        shadows.close(slice(0, S), t_max, k * np.arange(S))
        shadows.close(slice(S, None), t_max, 7)
        ends += [end for end in range(before + 1, t_max + 1) if end % 100 == 0]
        for level in range(S + 1):
            frontiers[level] = max(frontiers[level], t_max - (k * level if level < S else 7))
            for end in ends:
                if end <= frontiers[level] and (end, level) not in held:
                    held[end, level] = t_max - end
    assert shadows.end.tolist() == ends
    assert shadows.held.tolist() == [[held.get((end, level), AFTER_ALL) for level in range(S + 1)] for end in ends]


def test_a_window_has_closed_once():
    shadows = WhatIf.restore(WINDOWS, {})
    shadows.begin(0, 100, 0)
    shadows.close(slice(0, S), 130, 30)
    shadows.close(slice(0, S), 500, 30)
    assert shadows.held[0, :S].tolist() == [30] * S
    assert shadows.held[0, S] == AFTER_ALL


def test_any_time_is_in_eight_windows_at_most():
    shadows = WhatIf.restore(Sliding(1000, 10), {})
    shadows.begin(0, 10_000, 0)
    assert shadows.end.tolist() == list(range(1000 % 120, 10_001, 120))


def test_where_late_tuples_come_for_long_fewer_windows_wait_for_them():
    for horizon, step in ((51_200, 100), (51_300, 200), (10**7, 25_600)):
        shadows = WhatIf.restore(WINDOWS, {})
        shadows.begin(0, 10**7, horizon)
        assert np.all(np.diff(shadows.end) == step)
        assert 300 <= len(shadows.end) <= 512


def test_windows_are_let_go_once():
    shadows = WhatIf.restore(WINDOWS, {})
    shadows.begin(0, 500, 0)
    shadows.close(slice(0, S), 500, 0)
    end, held = shadows.due(300)
    assert end.tolist() == [100, 200, 300]
    assert held[:, 0].tolist() == [400, 300, 200]
    assert shadows.end.tolist() == [400, 500]
    assert len(shadows.due(300)[0]) == 0


def test_it_is_kept():
    shadows = WhatIf.restore(WINDOWS, {})
    shadows.begin(0, 500, 0)
    shadows.close(slice(0, None), 450, 60)
    again = WhatIf.restore(WINDOWS, shadows.checkpoint())
    for one in (shadows, again):
        one.begin(500, 600, 0)
        one.close(slice(0, None), 600, 70)
    for name in ("frontier", "end", "held"):
        assert getattr(again, name).tolist() == getattr(shadows, name).tolist()
