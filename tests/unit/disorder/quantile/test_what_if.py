"""The what-if simulation of windows under each level, against a frontier per level computed tick by tick."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.disorder.quantile.what_if import LEVELS, WhatIf
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.windows.sliding import Sliding

S = len(LEVELS)
WINDOWS = Sliding(300, 100)
# (rise of t_max, K of level 1); level n has n times this K
TICKS = st.lists(st.tuples(st.integers(0, 250), st.integers(0, 90)), min_size=1, max_size=25)


def test_levels_fall_from_one_to_nearly_zero():
    assert LEVELS[0] == 1
    assert np.all(np.diff(LEVELS) < 0)
    assert LEVELS[-1] < 1e-4


@drawn(60)
@given(TICKS, st.integers(-1000, 1000))
def test_a_window_closes_when_the_frontier_of_its_level_reaches_its_end(ticks, start):
    what_if, t_max = WhatIf.restore(WINDOWS, {}), start
    ends, frontiers, held = [], [-(10**9)] * (S + 1), {}
    for rise, k in ticks:
        previous, t_max = t_max, t_max + rise
        what_if.add_windows(previous, t_max, 0)
        what_if.close(slice(0, S), t_max, k * np.arange(S))
        what_if.close(slice(S, None), t_max, 7)
        ends += [end for end in range(previous + 1, t_max + 1) if end % 100 == 0]
        for level in range(S + 1):
            frontiers[level] = max(frontiers[level], t_max - (k * level if level < S else 7))
            for end in ends:
                if end <= frontiers[level] and (end, level) not in held:
                    held[end, level] = t_max - end
    assert what_if.end.tolist() == ends
    assert what_if.held.tolist() == [[held.get((end, level), AFTER_ALL) for level in range(S + 1)] for end in ends]


def test_a_window_closes_once_per_level():
    what_if = WhatIf.restore(WINDOWS, {})
    what_if.add_windows(0, 100, 0)
    what_if.close(slice(0, S), 130, 30)
    what_if.close(slice(0, S), 500, 30)
    assert what_if.held[0, :S].tolist() == [30] * S
    assert what_if.held[0, S] == AFTER_ALL


def test_overlapping_windows_are_thinned_out_to_eight():
    what_if = WhatIf.restore(Sliding(1000, 10), {})
    what_if.add_windows(0, 10_000, 0)
    assert what_if.end.tolist() == list(range(1000 % 120, 10_001, 120))


def test_a_long_horizon_thins_out_the_windows():
    for horizon, step in ((51_200, 100), (51_300, 200), (10**7, 25_600)):
        what_if = WhatIf.restore(WINDOWS, {})
        what_if.add_windows(0, 10**7, horizon)
        assert np.all(np.diff(what_if.end) == step)
        assert 300 <= len(what_if.end) <= 512


def test_due_windows_are_returned_once():
    what_if = WhatIf.restore(WINDOWS, {})
    what_if.add_windows(0, 500, 0)
    what_if.close(slice(0, S), 500, 0)
    end, held = what_if.due(300)
    assert end.tolist() == [100, 200, 300]
    assert held[:, 0].tolist() == [400, 300, 200]
    assert what_if.end.tolist() == [400, 500]
    assert len(what_if.due(300)[0]) == 0


def test_the_simulation_survives_a_checkpoint():
    what_if = WhatIf.restore(WINDOWS, {})
    what_if.add_windows(0, 500, 0)
    what_if.close(slice(0, None), 450, 60)
    restored = WhatIf.restore(WINDOWS, what_if.checkpoint())
    for each in (what_if, restored):
        each.add_windows(500, 600, 0)
        each.close(slice(0, None), 600, 70)
    for name in ("frontier", "end", "held"):
        assert getattr(restored, name).tolist() == getattr(what_if, name).tolist()
