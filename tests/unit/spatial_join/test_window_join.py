"""The join of two streams by shared windows tests the pairs that share one, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from kit.runs.spatial_runs import POINTS, Run, stream
from tailrace.spatial_join.search.pairs import JoinInterval

SECTION = {"geometry": POINTS, "crs": "planar", "relation": "dwithin", "distance": 1.0}
METHODS = {"indexed": {"extent": [0.0, 0.0, 9.0, 9.0]}, "native": {"method": "native"}}


def windows_of(time: int, size: int, slide: int) -> set[int]:
    return set(range(time // slide * slide, time - size, -slide))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("size", "slide"), [(60, 60), (60, 20), (50, 30)])
def test_candidates_are_pairs_that_share_a_window(monkeypatch, method, size, slide):
    """Not all that are less than a window apart, of which half as many again share no tumbling window."""
    tested: list[int] = []
    hold = JoinInterval.hold

    def counted(self: JoinInterval, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        tested.append(hold(self, left, right).sum())
        return hold(self, left, right)

    monkeypatch.setattr(JoinInterval, "hold", counted)
    times = np.sort(np.random.default_rng(7).integers(0, 600, (2, 80)))
    streams = tuple(stream(side, times[side], x=np.zeros(80), y=np.zeros(80)) for side in (0, 1))
    answers = Run(SECTION | METHODS[method], streams, window=(size, slide), cuts=(150, 300, 450)).answers()
    shared = [windows_of(one, size, slide) & windows_of(other, size, slide) for one in times[0] for other in times[1]]
    assert len(answers) == sum(map(len, shared))
    assert sum(tested) == sum(map(bool, shared))
    assert sum(tested) < (np.abs(times[0][:, None] - times[1][None]) < size).sum()
