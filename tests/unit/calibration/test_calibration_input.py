"""The windows that a calibration measures and the tuples that it reads, against the oracle over the whole stream."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from kit.oracles.oracle import Settings, Tuple, batch, distinct, stream
from kit.runs.memory_tables import MemoryTables
from kit.runs.warehouse import EPOCH, even, make_stream
from tailrace.aggregate.kind import Aggregate
from tailrace.calibration import recent_windows as module
from tailrace.calibration.calibrate import LoggedHistory
from tailrace.calibration.recent_windows import NotReady, RecentWindows
from tailrace.ground.errors import Refused
from tailrace.storage.log import Log, Reader

pytestmark = pytest.mark.slow

QUERY = Settings(700, 300, 100, "count")
TUPLES = make_stream(1500, seed=5)
CUTS = even(1500, 30)[1:-1]


def recent(desk: MemoryTables, n: int, accuracy: float = 0.95, before: int = 1 << 60, **options: int) -> RecentWindows:
    history = LoggedHistory(
        desk.pipeline.readers[0], Log.from_segments(desk.pipeline.readers[0], before, desk.segments), **options
    )
    return RecentWindows(desk.pipeline.kind, history, n, accuracy)


def expected(tuples: list[Tuple], query: Settings, duration: int, ends: list[int]) -> list[float]:
    """The accuracy of each window, computed by the oracle."""
    policy = ("k_slack", duration) if duration else "none"
    streamed, accuracies = stream(tuples, replace(query, policy=policy)).answers, []
    for end in ends:
        true = {window: answer for window, answer in batch(tuples, query).items() if window[2] == end}
        errors = [abs(streamed[w].value - true[w].value) / true[w].value if w in streamed else 1.0 for w in true]
        accuracies.append(1 - float(np.minimum(errors, 1).mean()))
    return accuracies


@pytest.mark.parametrize(("tick", "offset"), [(100, 0), (0, 0), (100, 130)])
def test_the_newest_whole_windows_are_measured(tick, offset):
    query = replace(QUERY, tick=tick, offset=offset)
    desk = MemoryTables(TUPLES, query, CUTS)
    result = recent(desk, 12, accuracy=0.5).measure(np.array([0, 200, 900]))
    t_max = max(item.event_time for item in TUPLES)
    delays = [line.t_max - item.event_time for line, item in _delays(TUPLES, query)]
    settled = max(900, int(np.quantile(delays, 0.95, method="higher")))
    ends = sorted({end for _, _, end in batch(TUPLES, query) if end <= t_max - settled})[-12:]
    assert np.abs(result.measured.ends - ends).max() <= 300  # measure takes the quantile over the part that it read
    ends = result.measured.ends.tolist()
    for i, duration in enumerate((0, 200, 900)):
        assert result.measured.quality[i] == pytest.approx(expected(TUPLES, query, duration, ends), abs=1e-9)
    inside = [delay for delay, item in zip(delays, TUPLES, strict=True) if ends[0] - 700 <= item.event_time < ends[-1]]
    assert max(inside) <= result.longest_ms <= max(delays)


def test_the_newest_days_of_a_time_zone_are_measured():
    begin, hour = 1_709_251_200_000, 3_600_000  # 2024-03-01: the day of 23 hours is the 31st
    arrivals = [begin + number * hour for number in range(24 * 36)]
    tuples = [Tuple(at - number % 5 * hour, at, f"t{number}", "k", 1.0) for number, at in enumerate(arrivals)]
    query = Settings(24 * hour, 24 * hour, 60_000, "count", days_of="Europe/Berlin")
    result = recent(MemoryTables(tuples, query, []), 12, accuracy=0.5).measure(np.array([0, 5 * hour]))
    whole = {end for _, _, end in batch(tuples, query) if end <= tuples[-1].event_time - 5 * hour}
    ends = result.measured.ends.tolist()
    assert ends == sorted(whole)[-12:]
    assert {later - end for end, later in pairwise(ends)} == {23 * hour, 24 * hour}
    for i, duration in enumerate((0, 5 * hour)):
        assert result.measured.quality[i] == pytest.approx(expected(tuples, query, duration, ends), abs=1e-9)


def _delays(tuples, query):
    """Each tuple with the oracle's trace of the tick in which it arrives."""
    from kit.oracles.oracle import ticks_of

    lines = {line.tick: line for line in stream(tuples, query).trace}
    return [(lines[number], item) for (number, _), item in zip(ticks_of(tuples, query.tick), tuples, strict=True)]


def test_a_tuple_ahead_of_its_arrival_counts_for_t_max_as_in_the_stream():
    query, ahead = replace(QUERY, skew=200), TUPLES[len(TUPLES) // 2]
    tuples = [item._replace(event_time=item.event_time + 3_000_000) if item is ahead else item for item in TUPLES]
    desk = MemoryTables(tuples, query, CUTS)
    reader = desk.pipeline.readers[0]
    of_all = LoggedHistory(reader, Log.from_segments(reader, 1 << 60, desk.segments)).since(0)
    assert [*zip(of_all.course.tick.tolist(), of_all.course.t_max.tolist(), strict=True)] == [
        (line.tick, line.t_max) for line in stream(tuples, query).trace
    ]
    assert of_all.delays.min() == 0


def test_only_the_tuples_of_the_measured_windows_are_read(monkeypatch):
    desk, read, pieces = MemoryTables(TUPLES, QUERY, CUTS), Reader.read, []
    monkeypatch.setattr(Reader, "read", lambda self, piece, names: pieces.append(piece) or read(self, piece, names))
    part = recent(desk, 12, accuracy=0.5).measure(np.array([200]))
    assert 0 < len(set(pieces)) < 12
    whole = recent(desk, 80, accuracy=0.5).measure(np.array([200]))
    assert len(set(pieces)) > 20
    few, many = (
        dict(zip(one.measured.ends.tolist(), one.measured.quality[0].tolist(), strict=True)) for one in (part, whole)
    )
    assert len(few.keys() & many.keys()) > 6
    assert {end: few[end] for end in few.keys() & many} == pytest.approx({end: many[end] for end in few.keys() & many})


def test_tuples_after_the_cut_off_are_ignored():
    desk = MemoryTables(TUPLES, QUERY, CUTS)
    before = EPOCH + 15_000
    early = [item for item in TUPLES if (item.arrival_time // 100 + 1) * 100 <= before]
    assert 0 < len(early) < len(TUPLES)
    cut = recent(desk, 8, before=before).measure(np.array([0, 300]))
    early_desk = MemoryTables(early, QUERY, [])
    reference = recent(early_desk, 8).measure(np.array([0, 300]))
    assert cut.measured.ends.tolist() == reference.measured.ends.tolist()
    assert cut.measured.quality == pytest.approx(reference.measured.quality)


def test_windows_are_measured_once_their_late_tuples_have_arrived():
    """A twentieth of the tuples arrives 5 s late; until then the windows of the last 5 s only seem complete."""
    step, late, n = 20, 5000, 2000
    events = [EPOCH + i * step for i in range(n)]
    tuples = [Tuple(event, event + late * (i % 20 == 0), f"t{i}", "k", 1.0) for i, event in enumerate(events)]
    tuples.sort(key=lambda item: item.arrival_time)
    desk = MemoryTables(tuples, QUERY, even(n, 20)[1:-1])
    result = recent(desk, 10, before=events[-1]).measure(np.array([0]))
    hasty = recent(desk, 10, accuracy=0.001, before=events[-1]).measure(np.array([0]))
    assert result.measured.accuracy[0] == pytest.approx(0.95, abs=0.02)
    assert result.measured.ends[-1] <= events[-1] - late
    assert hasty.measured.accuracy[0] > 0.99


def test_a_stream_with_gaps_is_read_further_back():
    """Only one window a minute has tuples."""
    tuples = [
        Tuple(EPOCH + m * 60_000 + i, EPOCH + m * 60_000 + i, f"t{m}-{i}", "k", 1.0)
        for m in range(40)
        for i in range(3)
    ]
    query = replace(QUERY, size=100, slide=100)
    desk = MemoryTables(tuples, query, even(120, 40)[1:-1])
    result = recent(desk, 20).measure(np.array([0]))
    assert (np.diff(result.measured.ends) == 60_000).all()
    with pytest.raises(NotReady, match=r"takes 50 windows .* there are 39"):
        recent(desk, 50).measure(np.array([0]))


def test_repeats_count_once():
    """Some tuples are sent again 3 s later; the accuracy counts the first copies alone."""
    repeats = [item._replace(arrival_time=item.arrival_time + 3000) for item in TUPLES[600:900]]
    tuples = sorted([*TUPLES[:1200], *repeats], key=lambda item: item.arrival_time)
    desk = MemoryTables(tuples, QUERY, even(len(tuples), 20)[1:-1])
    result = recent(desk, 20).measure(np.array([0, 400]))
    unique_tuples = distinct(tuples, QUERY.tick)
    ends = result.measured.ends.tolist()
    assert result.measured.quality[1] == pytest.approx(expected(unique_tuples, QUERY, 400, ends), abs=1e-9)


def test_many_tuples_are_measured_in_parts_by_key(monkeypatch):
    desk = MemoryTables(TUPLES, QUERY, CUTS)
    steps, step = [], Aggregate.step
    whole = recent(desk, 12).measure(np.array([0, 300]))
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(Aggregate, "step", lambda *arguments: steps.append(1) or step(*arguments))
    parts = recent(desk, 12).measure(np.array([0, 300]))
    assert len(steps) >= 6
    assert parts.measured.quality == pytest.approx(whole.measured.quality)


def test_more_rows_than_the_limit_are_refused():
    desk = MemoryTables(TUPLES, QUERY, CUTS)
    with pytest.raises(Refused, match=r"more than the 100 it reads\n.*queries") as refusal:
        recent(desk, 12, most_rows=100).measure(np.array([0]))
    assert not isinstance(refusal.value, NotReady)


def test_too_few_windows_are_refused():
    desk = MemoryTables(TUPLES[:100], QUERY, [])
    with pytest.raises(NotReady, match=r"takes 30 windows that are \d+ m?s old .* there are \d+"):
        recent(desk, 30).measure(np.array([0, 400]))
