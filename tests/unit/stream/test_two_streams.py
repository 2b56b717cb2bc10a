"""The batch planner over two streams: one log, read in step by arrival; what the silence of one means to the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from kit.runs.planner_driver import IDLE, LIVE, TICK, WAITING, Driver, Log, entries
from tailrace.sources.segments import Segment
from tailrace.storage.journal import BatchRecord
from tailrace.storage.progress import Progress
from tailrace.stream.run_options import RunOptions

STREAMS = ("left", "right")


def parts(name: str, rows: Iterable[int], version: int = 0) -> list[Segment]:
    """Files of one segment each, with these numbers of rows."""
    return [Segment(f"/in/{name}{number:05}", 0, count, version=version) for number, count in enumerate(rows)]


def two(
    directory: Path,
    left: Iterable[int],
    right: Iterable[int],
    plan: RunOptions,
    stamps: Iterable[str] = (),
) -> Driver:
    """A driver over two streams, whose files have these numbers of rows."""
    directory.mkdir(exist_ok=True)
    logs = {"left": Log(*parts("left", left)), "right": Log(*parts("right", right))}
    return Driver(directory, logs, plan, stamps=set(stamps))


def taken(record: BatchRecord) -> dict[str, list[int]]:
    """The rows of the segments of a batch, by stream."""
    return {name: [part.rows for part in record.segments if part.stream == name] for name in STREAMS}


def silence(record: BatchRecord | None) -> tuple[dict[str, int], tuple[str, ...], bool] | None:
    """(heartbeats, idle streams, whether windows close) of a journal entry; None without one."""
    return None if record is None else (record.header.heartbeats, record.header.idle, record.header.closes)


def assert_in_order(directory: Path) -> None:
    """Assert that ordinals run over all streams, positions within each, and that each row is planned once."""
    rows, ends, ordinal = dict.fromkeys(STREAMS, 0), dict.fromkeys(STREAMS, ("", 0)), 0
    for record in entries(directory):
        for part in record.segments:
            assert (part.ordinal, part.position) == (ordinal, rows[part.stream])
            path, row = ends[part.stream]
            assert part.first_row == (row if part.path == path else 0)
            assert part.path >= path
            assert part.rows > 0
            ends[part.stream] = (part.path, part.first_row + part.rows)
            rows[part.stream] += part.rows
            ordinal += 1
        assert record.position.segments == ordinal
        assert {name: stream.rows for name, stream in record.position.streams.items()} == rows
        assert record.position.rows == sum(rows.values())


# ---------------------------------------------------------------- one log


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("room", [1, 2, 5, 100])
def test_ordinals_run_over_both_streams_and_positions_within_each(tmp_path, live, room):
    driver = two(tmp_path, [3, 3, 2], [4, 1], RunOptions(room, live=live))
    driver.go()
    assert_in_order(tmp_path)
    last = entries(tmp_path)[-1]
    assert {name: stream.rows for name, stream in last.position.streams.items()} == {"left": 8, "right": 5}
    assert all(sum(part.rows for part in record.segments) <= room for record in entries(tmp_path))
    assert last.header.ends is not live
    assert {record.header.idle_ms for record in entries(tmp_path)} == {IDLE}


def test_streams_share_the_room_of_a_batch_and_what_one_does_not_need_goes_to_the_other(tmp_path):
    driver = two(tmp_path, [1] * 40, [1] * 8, replace(LIVE, batch_rows=12))
    shares = []
    while (record := driver.plan()) is not None:
        shares.append(tuple(sum(rows) for rows in taken(record).values()))
    assert shares == [(6, 6), (10, 2), (12, 0), (12, 0)]


def test_the_number_of_segments_of_a_batch_is_shared_too(tmp_path):
    driver = two(tmp_path, [1] * 9_000, [1] * 9_000, replace(LIVE, batch_rows=1_000_000))
    assert {name: len(rows) for name, rows in taken(driver.plan()).items()} == {"left": 5_000, "right": 5_000}
    assert driver.planner.rows_left == 8_000


def test_only_streams_with_arrival_times_are_bounded_by_the_wall_clock(tmp_path):
    driver = two(tmp_path, [1], [1], LIVE, ["right"])
    driver.wall_ahead = 60
    ingested_ms = {part.stream: part.ingested_ms for part in driver.plan().segments}
    assert ingested_ms == {"left": driver.time + 60, "right": driver.time}


def test_each_stream_has_its_table_version(tmp_path):
    driver = two(tmp_path, [], [], replace(LIVE, batch_rows=2))
    driver.logs["left"].there += parts("left", [1, 1, 1], version=3)
    driver.logs["left"].version, driver.logs["right"].version = 6, 9
    versions = []
    while (record := driver.plan()) is not None:
        versions.append(tuple(record.position.streams[name].version for name in STREAMS))
    assert versions == [(2, 9), (6, 9)]


def test_a_bounded_run_goes_on_with_rows_of_either_stream(tmp_path):
    driver = two(tmp_path, [1], [1], RunOptions())
    driver.go()
    driver.logs["right"].there += parts("later", [1, 1])
    driver.restart(options=RunOptions(1))
    first, last = driver.plan(), driver.plan()
    assert (first.header.idle, first.header.closes) == (("left",), False)  # it was read to its end
    assert (last.header.closes, last.header.ends) == (True, True)
    assert driver.plan() is None


# ---------------------------------------------------------------- a bounded run: in step by arrival

SPEEDS = {"left": 10, "right": 69}  # ms of arrival time from a row to the next


def reached(driver: Driver) -> tuple[int | None, ...]:
    """The arrival time of the newest row of each stream that is in the journal."""
    rows = {name: stream.rows for name, stream in driver.planner.position.streams.items()}
    return tuple(SPEEDS[name] * rows[name] if rows[name] else None for name in STREAMS)


def in_step(driver: Driver) -> list[tuple[dict[str, list[int]], tuple[int | None, ...]]]:
    """Plan all batches, each with the progress of the one before; returns what each took, and what was reached."""
    batches = []
    while (record := driver.plan(reached=reached(driver))) is not None:
        batches.append((taken(record), reached(driver)))
    return batches


def test_a_bounded_run_reads_the_stream_that_has_reached_the_least(tmp_path):
    driver = two(tmp_path, [10] * 70, [10] * 10, RunOptions(20))
    batches = in_step(driver)
    assert batches[0][0] == {"left": [10], "right": [10]}, "nothing is known of their arrival yet"
    ahead = [right - left for _, (left, right) in batches if left < 7_000 and right < 6_900]
    assert len(ahead) > 10
    assert min(ahead) >= -20 * SPEEDS["left"], "no more than a batch"
    assert max(ahead) <= 20 * SPEEDS["right"]
    assert all(not (rows["left"] and rows["right"]) for rows, _ in batches[1:-1])
    assert_in_order(tmp_path)


def test_a_stream_whose_rows_gave_no_arrival_time_yet_is_read_first(tmp_path):
    driver = two(tmp_path, [5] * 4, [5] * 4, RunOptions(10))
    driver.plan()
    assert taken(driver.plan(reached=(None, 100))) == {"left": [5, 5], "right": []}
    assert taken(driver.plan(reached=(100, 100))) == {"left": [5], "right": [5]}, "both have reached the same"


@pytest.mark.parametrize("flush", [True, False])
def test_a_stream_that_was_read_to_its_end_is_idle_if_the_run_flushes(tmp_path, flush):
    driver = two(tmp_path, [5] * 6, [5], RunOptions(10, flush=flush))
    in_step(driver)
    headers = [record.header for record in entries(tmp_path)]
    assert len(headers) > 2
    assert [header.idle for header in headers] == [("right",) if flush else ()] * len(headers)
    assert [(header.closes, header.ends) for header in headers] == [(False, False)] * (len(headers) - 1) + [
        (flush, flush)
    ]


def test_streams_that_end_in_the_same_batch_are_not_idle(tmp_path):
    driver = two(tmp_path, [5], [5], RunOptions(10))
    assert silence(driver.plan()) == ({}, (), True)


def test_an_idle_stream_that_brings_rows_again_is_idle_no_longer(tmp_path):
    driver = two(tmp_path, [5] * 6, [5], RunOptions(10))
    assert silence(driver.plan()) == ({}, ("right",), False)
    driver.logs["right"].there += parts("right", [5] * 9)[1:]
    driver.restart(options=RunOptions(10, flush=False))
    assert silence(driver.plan(reached=(50, 50))) == ({}, (), False)


@pytest.mark.parametrize("stop", range(1, 12))
def test_a_restart_between_two_batches_changes_no_plan_of_a_bounded_run(tmp_path, stop):
    uninterrupted = two(tmp_path / "never", [10] * 14, [10] * 5, RunOptions(20))
    in_step(uninterrupted)
    driver = two(tmp_path / "once", [10] * 14, [10] * 5, RunOptions(20))
    for _ in range(stop):
        driver.plan(reached=reached(driver))
    driver.restart()
    in_step(driver)
    assert entries(tmp_path / "once") == entries(tmp_path / "never")


def test_a_live_run_that_is_behind_reads_in_step_and_takes_what_all_have_once_it_has_caught_up(tmp_path):
    driver = two(tmp_path, [10] * 70, [10] * 10, replace(LIVE, batch_rows=20))
    driver.plan()
    behind = True
    while behind and (record := driver.plan(reached=reached(driver))) is not None:
        left, right = reached(driver)
        assert not all(taken(record).values())
        assert left >= 7_000 or -20 * SPEEDS["left"] <= right - left <= 20 * SPEEDS["right"]
        behind = driver.planner.rows_left > 20
    driver.logs["right"].there += parts("right~", [2])
    driver.logs["left"].there += parts("left~", [3])
    while driver.planner.rows_left > 20:
        driver.plan(reached=reached(driver))
    left = iter(lambda: driver.plan(reached=(7_000, 6_900)), None)
    assert any(all(taken(record).values()) for record in left)
    assert_in_order(tmp_path)


# ---------------------------------------------------------------- a live run: silence


def test_a_silent_stamped_stream_has_passed_the_time_while_the_other_goes_on(tmp_path):
    driver = two(tmp_path, [1], [1], LIVE, STREAMS)
    assert silence(driver.plan()) == ({}, (), False)
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=100)) == ({"right": driver.time}, (), False)
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=3 * IDLE)) == ({"right": driver.time}, (), False), "it needs not be idle"
    driver.logs["left"].there += parts("more", [1])
    driver.logs["right"].there += parts("more", [1])
    assert silence(driver.plan(after=100)) == ({}, (), False)


def test_a_stamped_stream_that_is_silent_for_no_longer_than_a_tick_has_not_passed_it(tmp_path):
    driver = two(tmp_path, [1], [1], replace(LIVE, pace_ms=1), STREAMS)
    driver.plan()
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=TICK)) == ({}, (), False)
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=1)) == ({"right": driver.time}, (), False)


@pytest.mark.parametrize("stamps", [("left", "right"), ("right",)])
def test_when_all_are_silent_each_stamped_stream_passes_the_newest_rows_once(tmp_path, stamps):
    driver = two(tmp_path, [1], [1], LIVE, stamps)
    driver.plan()
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=100))[0] == {"right": driver.time}
    found = [silence(driver.plan(after=10)) for _ in range(80)]
    assert [one for one in found if one] == [(dict.fromkeys(stamps, driver.time - 700), (), False)]


@pytest.mark.parametrize("restart", [False, True])
def test_a_silent_stream_with_arrival_times_becomes_idle_while_the_other_goes_on_and_wakes_with_rows(tmp_path, restart):
    driver = two(tmp_path, [1], [1], LIVE)
    driver.plan()
    idle_at = []
    for time in range(100, 2_000, 100):
        driver.logs["left"].there += parts("more", [1])
        record = driver.plan(after=100, reached=(time - 100, 0))
        assert (record.header.heartbeats, record.header.closes) == ({}, False)
        idle_at += [time] if record.header.idle == ("right",) else []
        if restart:
            driver.restart(started=0)
    assert idle_at == list(range(100 + IDLE, 2_000, 100)), "the left one waits since 100"
    driver.logs["right"].there += parts("more", [1])
    assert silence(driver.plan(after=100, reached=(1_900, 0))) == ({}, (), False)
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=100, reached=(1_900, 1_000))) == ({}, (), False)


def test_a_stream_becomes_idle_between_the_rows_of_a_slow_one_and_is_recorded_once(tmp_path):
    driver = two(tmp_path, [1], [1], LIVE)
    driver.plan()
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=100, reached=(5, 5))) == ({}, (), False)
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=900, reached=(105, 5))) == ({}, (), False)
    found = {time: silence(driver.plan(after=10, reached=(1_005, 5))) for time in range(1_010, 1_990, 10)}
    assert {time: one for time, one in found.items() if one} == {100 + IDLE: ({}, ("right",), False)}


def test_a_stream_for_which_none_waits_is_not_idle_however_long_it_is_silent(tmp_path):
    driver = two(tmp_path, [1], [1], LIVE)
    driver.plan()
    for _ in range(30):
        driver.logs["left"].there += parts("more", [1])
        assert silence(driver.plan(after=100, reached=(5, 5))) == ({}, (), False)
        assert silence(driver.plan(after=100, reached=(4, 5))) is None


def test_streams_whose_files_come_seldom_wait_for_each_other(tmp_path):
    driver = two(tmp_path, [1], [1], LIVE)
    driver.plan()
    for reached in range(5 * IDLE, 25 * IDLE, 5 * IDLE):
        while driver.time < 1_000_000 + reached - 100:  # the left one is ahead by a trifle
            driver.plan(after=100, reached=(reached, reached - 1))
        assert driver.planner.position.quiet
        driver.logs["left"].there += parts("more", [1])
        assert silence(driver.plan(after=100, reached=(reached, reached))) == ({}, (), False)
        for _ in range(9):
            assert driver.plan(after=100, reached=(reached + 5 * IDLE, reached)) is None
        driver.logs["right"].there += parts("more", [1])
        assert silence(driver.plan(after=50, reached=(reached + 5 * IDLE, reached))) == ({}, (), False)


def test_silence_counts_from_the_start_of_the_driver(tmp_path):
    driver = two(tmp_path, [1], [1], replace(LIVE, pace_ms=1))
    driver.plan()
    driver.time += 100 * IDLE
    driver.restart(started=driver.time)
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=100, reached=(6, 5))) == ({}, (), False)
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=IDLE - 101, reached=(6, 5))) == ({}, (), False)
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=1, reached=(6, 5))) == ({}, ("right",), False)


def test_no_downtime_counts_as_a_wait_however_often_the_driver_stops(tmp_path):
    driver = two(tmp_path, [1], [1], replace(LIVE, pace_ms=1))
    driver.plan()
    waited = 0
    for _ in range(3):  # 300 ms of waiting in each life
        for _ in range(3):
            driver.logs["left"].there += parts("left+", [1])
            assert silence(driver.plan(after=100, reached=(6, 5))) == ({}, (), False)
            waited += 100
        driver.time += 50 * IDLE
        driver.restart(started=driver.time)
    assert waited < IDLE
    driver.logs["left"].there += parts("left+", [1])
    assert silence(driver.plan(after=IDLE - waited + 100, reached=(6, 5))) == ({}, ("right",), False)


def test_a_stream_without_any_rows_is_silent_from_the_first_rows_of_the_other(tmp_path):
    driver = two(tmp_path, [], [], replace(LIVE, pace_ms=1))
    assert driver.plan(after=10 * IDLE) is None
    driver.logs["left"].there += parts("left", [1])
    assert silence(driver.plan(after=100)) == ({}, (), False)
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=IDLE - 1, reached=(7, None))) == ({}, (), False)
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=1, reached=(8, None))) == ({}, ("right",), False)


def test_a_stream_without_any_tuple_is_a_problem_once_the_other_has_waited_for_it(tmp_path):
    driver = two(tmp_path, [], [], replace(LIVE, pace_ms=1))
    driver.plan(after=10 * IDLE)
    assert driver.planner.problem is None
    driver.logs["left"].there += parts("left", [1])
    driver.plan(after=100)
    for _ in range(9):  # all of these are rejected
        driver.logs["right"].there += parts("right", [1])
        driver.plan(after=100, reached=(7, None))
        assert driver.planner.problem is None
    driver.time += 99
    assert driver.planner.problem is None
    driver.time += 1
    driver.logs["left"].problem = "stream left: its last line is cut"
    assert driver.planner.problem.startswith("stream left: its last line is cut; stream right: no tuple yet; the front")
    driver.plan(reached=(7, 5))
    assert driver.planner.problem == "stream left: its last line is cut"


def test_a_stream_whose_records_are_all_rejected_becomes_idle_and_is_a_problem_while_it_is_not(tmp_path):
    driver = two(tmp_path, [1], [1], replace(LIVE, pace_ms=1))
    driver.plan()
    for _ in range(9):
        driver.logs["left"].there += parts("left+", [1])
        driver.logs["right"].there += parts("right+", [1])
        assert silence(driver.plan(after=100, reached=(7, 5))) == ({}, (), False)
    driver.time += 100
    assert driver.planner.problem == (
        "stream right: its records bring no later arrival time, and the others wait for it"
    )
    driver.logs["left"].there += parts("left+", [1])
    assert silence(driver.plan(reached=(8, 5))) == ({}, ("right",), False)
    assert driver.planner.problem is None


def test_more_than_a_batch_is_not_read_ahead_of_a_silent_stream(tmp_path):
    driver = two(tmp_path, [1], [1], replace(LIVE, pace_ms=1, batch_rows=10))
    driver.plan()
    driver.logs["left"].there += parts("left+", [10] * 6)
    assert taken(driver.plan(after=100, reached=(5, 5))) == {"left": [10], "right": []}
    for _ in range(9):
        assert driver.plan(after=100, reached=(50, 5)) is None
    assert silence(driver.plan(after=100, reached=(50, 5))) == ({}, ("right",), False)
    left = [taken(driver.plan(after=10, reached=(50 + 10 * number, 5)))["left"] for number in range(5)]
    assert left == [[10]] * 5, "none waits for an idle stream"
    driver.logs["left"].there += parts("left~", [10] * 3)
    driver.logs["right"].there += parts("right+", [1])
    assert taken(driver.plan(after=100, reached=(110, 5))) == {"left": [], "right": [1]}
    assert driver.plan(after=100, reached=(110, 105)) is None, "it is awake again"
    assert taken(driver.plan(after=100, reached=(110, 111))) == {"left": [10], "right": []}


def test_a_stamped_stream_that_is_behind_is_not_kept_from_a_batch_by_one_with_arrival_times_of_long_ago(tmp_path):
    driver = two(tmp_path, [10] * 50, [1] * 30, replace(LIVE, batch_rows=20), ["left"])
    driver.plan()
    read = [taken(driver.plan(after=100, reached=(driver.time, 2_000 * number))) for number in range(1, 6)]
    assert [tuple(map(sum, rows.values())) for rows in read] == [(10, 10), (10, 10), (20, 0), (20, 0), (20, 0)]


def test_a_stream_whose_feed_holds_rows_back_is_not_silent(tmp_path):
    for stamps in ((), STREAMS):
        driver = two(tmp_path / str(len(stamps)), [1], [1], LIVE, stamps)
        driver.plan()
        driver.logs["right"].holds_back = True
        driver.logs["left"].there += parts("more", [1])
        assert silence(driver.plan(after=2 * IDLE)) == ({}, (), False)
        found = [one for one in (silence(driver.plan(after=IDLE, committed=1)) for _ in range(5)) if one]
        assert not any(closes or "right" in heartbeats or "right" in idle for heartbeats, idle, closes in found)


def test_a_stream_with_rows_that_did_not_fit_is_not_silent(tmp_path):
    driver = two(tmp_path, [4] * 3, [4], replace(LIVE, batch_rows=1), STREAMS)
    assert taken(driver.plan()) == {"left": [1], "right": []}
    assert silence(driver.plan(after=10 * IDLE))[:2] == ({}, ())


def test_both_silent_are_quiet_together_and_heartbeats_go_on_from_the_newest_arrival(tmp_path):
    driver = two(tmp_path, [1], [1], LIVE, ["right"])
    driver.plan()
    start = driver.time
    driver.logs["right"].there += parts("more", [1])
    driver.plan(after=100)
    found = {}
    for time in range(110, 3_200, 10):
        newest = driver.planner.position.streams["right"].heartbeat_ms or start + 100
        record = driver.plan(after=10, reached=(4_000, newest))
        if record is not None:
            found[time] = silence(record)
    both = {time: dict.fromkeys(STREAMS, start + time) for time in (1_100, 2_100, 3_100)}
    assert found == {
        200: ({"right": start + 200}, (), False),
        1_100: (both[1_100], (), True),
        2_100: (both[2_100], (), False),
        3_100: (both[3_100], (), False),
    }
    assert driver.planner.state == "quiet"


def test_a_stream_that_wakes_from_quiet_waits_for_the_other(tmp_path):
    driver = two(tmp_path, [1], [1], LIVE)
    driver.plan()
    assert silence(driver.plan(after=IDLE, reached=(10, 10))) == ({"left": 1_010, "right": 1_010}, (), True)
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=100, reached=(1_010, 1_010))) == ({}, (), False)
    assert driver.planner.state == "waiting"
    for _ in range(9):
        assert driver.plan(after=100, reached=(2_000, 1_010)) is None
    driver.logs["left"].there += parts("more", [1])
    assert silence(driver.plan(after=100, reached=(2_000, 1_010))) == ({}, ("right",), False)
    assert silence(driver.plan(after=IDLE, reached=(3_000, 1_010)))[2], "and both are quiet again"


def test_changed_settings_record_no_silence(tmp_path):
    driver = two(tmp_path, [1], [1], LIVE, ["right"])
    driver.plan()
    driver.settings = WAITING
    assert silence(driver.plan(after=IDLE - 1)) == ({}, (), False)


# ms since the start → the stream that has a file then
SCRIPT = dict.fromkeys(range(0, 1_500, 100), "left") | dict.fromkeys((0, 50, 1_350, 5_000), "right") | {8_000: "left"}


@pytest.mark.parametrize("stamps", [(), ("left",), STREAMS])
def test_planning_is_deterministic_whenever_a_live_driver_is_killed(tmp_path, stamps):
    def journal_of(name: str, restarts: bool) -> list[BatchRecord]:
        driver = two(tmp_path / name, [], [], replace(LIVE, pace_ms=10), stamps)
        for time in range(0, 10_000, 50):
            driver.logs[SCRIPT.get(time, "left")].there += parts(f"at {time:05} ", [1] if time in SCRIPT else [])
            driver.time = 1_000_000 + time
            if restarts:
                driver.restart(started=0)
            rows = [stream.rows for stream in driver.planner.position.streams.values()]
            driver.planner.plan_batch(Progress(0, 0, False, None, None, tuple(40 * n if n else None for n in rows)))
        return entries(tmp_path / name)

    uninterrupted = journal_of("never", False)
    assert sum(record.header.closes for record in uninterrupted) == 3
    assert any(record.header.idle for record in uninterrupted) is (len(stamps) < 2)
    assert journal_of("always", True) == uninterrupted
    assert_in_order(tmp_path / "always")
