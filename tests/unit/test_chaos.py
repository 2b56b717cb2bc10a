"""The tally of `make chaos`: what is lost, doubled and wrong is told apart, and the oracles' rows fit one another."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from kit.runs.place_readers import PlaceReader
from kit.runs.planner_driver import LIVE, Driver, Log, segments
from kit.runs.topic_records import Record, TopicRecords
from kit.suite.waiting import until
from tailrace.ground.errors import Busy, InUse

CHAOS = Path(__file__).parents[2] / "tools" / "chaos"
WINDOW = ("a", 0, 2000)


@pytest.fixture
def chaos(monkeypatch):
    """Imports a module of tools/chaos, for this test alone."""
    monkeypatch.syspath_prepend(CHAOS)
    for file in CHAOS.glob("*.py"):
        monkeypatch.delitem(sys.modules, file.stem, raising=False)
    yield importlib.import_module
    for file in CHAOS.glob("*.py"):
        if file.stem != "__main__":
            sys.modules.pop(file.stem, None)


@pytest.mark.parametrize(
    ("found", "counts"),
    [
        ([(WINDOW, 1), (WINDOW, 2)], (0, 0, 0)),
        ([(WINDOW, 1)], (1, 0, 0)),
        ([], (2, 0, 0)),
        ([(WINDOW, 1), (WINDOW, 2), (WINDOW, 2)], (0, 1, 0)),
        ([(WINDOW, 1), (WINDOW, 3)], (0, 0, 1)),
        ([(WINDOW, 1), (WINDOW, 2), (("b", 0, 2000), 1)], (0, 0, 1)),
        ([(WINDOW, 1), (WINDOW, 1)], (0, 0, 1)),
    ],
)
def test_rows_are_compared_as_multisets(chaos, found, counts):
    tally = chaos("comparison").Tally()
    tally.compare("results", [(WINDOW, 1), (WINDOW, 2)], found)
    assert (tally.lost, tally.doubled, tally.wrong) == counts
    assert tally.is_clean == (counts == (0, 0, 0)) == (not tally.examples)
    assert tally.compared == 2


@pytest.mark.parametrize("is_clean", [True, False])
def test_the_files_of_a_run_stay_where_something_is_wrong(chaos, is_clean, tmp_path, capsys):
    tally = chaos("comparison").Tally()
    if not is_clean:
        tally.blame("it did not recover")
    (tmp_path / "run").mkdir()
    assert tally.finish(tmp_path / "run", "SEED=1") == int(not is_clean)
    assert (tmp_path / "run").exists() != is_clean
    printed = capsys.readouterr().out
    assert ("it did not recover" in printed, "SEED=1" in printed) == (not is_clean, not is_clean)


@pytest.mark.parametrize("kind", ["aggregate", "topk", "emd_join", "spatial_join"])
def test_a_stream_has_late_repeated_and_rejected_rows_and_is_the_same_by_its_seed(chaos, kind):
    workloads = chaos("workloads")
    first, again, other = (workloads.drawn_streams(workloads.WORKLOADS[kind], seed, 50) for seed in (1, 1, 2))
    for name, stream in first.items():
        rows = stream.more(400)
        assert rows == again[name].more(400) != other[name].more(400)
        assert workloads.WORKLOADS[kind].table(rows).num_rows == 400
        assert any(row.value is None for row in rows)
        assert len({row.id for row in rows}) < 400
        assert max(row.arrival_time - row.event_time for row in rows) > workloads.K_MS


def test_the_oracles_pairs_of_long_streams_are_the_short_ones(chaos):
    from kit.oracles.pair_oracle import Item, Read, batch_pairs

    workloads, expected = chaos("workloads"), chaos("expected")
    streams = workloads.drawn_streams(workloads.WORKLOADS["emd_join"], 1, 50)
    log = [
        Read(side, Item(row.event_time, row.arrival_time, row.id, row.value))
        for side, stream in enumerate(streams.values())
        for row in stream.more(150)
        if row.value is not None
    ]
    pairs = expected.expected_join("emd_join", log).corrected
    assert {pair for pair, _ in pairs} == batch_pairs(log, expected.JOINS["emd_join"])
    assert len({*pairs}) == len(pairs) > 100


def test_what_is_forgotten_changes_no_row(chaos):
    workloads = chaos("workloads")
    kept, forgetful = (workloads.drawn_streams(workloads.WORKLOADS["topk"], 1, 50)[workloads.NAME] for _ in range(2))
    for _ in range(5):
        assert kept.more(150) == forgetful.more(150)
        forgetful.forget()
    assert len(forgetful.rows) < 150 < len(kept.rows)


def test_a_stream_is_as_far_behind_as_its_oldest_part_that_is_not_read(chaos, tmp_path):
    workloads, steady = chaos("workloads"), chaos("steady_feeder")
    workload = workloads.WORKLOADS["emd_join"]
    streams = workloads.drawn_streams(workload, 1, 10)
    feeder = steady.SteadyFeeder(workload, streams, tmp_path, 100)
    assert feeder.written == 200
    newest_ms = min(stream.arrival for stream in streams.values())
    assert feeder.behind_s(newest_ms) == 0
    assert feeder.behind_s(newest_ms - 3000) == pytest.approx(3)
    assert feeder.behind_s(None) == pytest.approx((newest_ms - workloads.EPOCH) / 1000)


def test_a_hot_key_has_its_share_and_a_crowd_takes_the_time_of_one_row(chaos):
    workloads = chaos("workloads")
    plain, hot, crowded = (
        workloads.drawn_streams(workloads.WORKLOADS["aggregate"], 1, 10)["readings"] for _ in range(3)
    )
    hot.hot, crowded.crowd = 0.9, 10
    rows = hot.more(2000)
    assert 0.88 < sum(row.key == "k0" for row in rows) / 2000 < 0.95
    spans = [stream.more(2000)[-1].arrival_time - workloads.EPOCH for stream in (plain, crowded)]
    assert 0.8 < spans[0] / spans[1] / 10 < 1.25


def test_a_burst_is_written_while_it_lasts_and_all_rows_are_kept_for_the_oracle(chaos, tmp_path):
    workloads, steady = chaos("workloads"), chaos("steady_feeder")
    workload = workloads.WORKLOADS["aggregate"]
    streams = workloads.drawn_streams(workload, 1, 10)
    feeder = steady.SteadyFeeder(workload, streams, tmp_path, 20, keeps=True)
    feeder.crowd = 10
    feeder._write(1)
    assert feeder.written == len(streams["readings"].rows) == 220
    assert len(list((tmp_path / "readings").iterdir())) == 2


def test_a_slope_counts_what_came_after_the_first_third(chaos):
    import numpy as np

    at_h = np.arange(0.0, 1.0, 0.01)
    assert chaos("steady")._slope(at_h, np.where(at_h < 0.3, 100 * at_h, 30 + 2 * at_h)) == pytest.approx(2)


@pytest.mark.needs("process")
@pytest.mark.parametrize(("code", "is_refused"), [(InUse.exit_code, True), (Busy.exit_code, False), (0, False)])
def test_a_second_driver_is_refused_as_a_command_that_finds_the_query_in_use(chaos, code, is_refused):
    class Driver:
        commits = 3

        def processes(self):
            return []

        def begin(self, verb):
            says = f'import sys; print("refused: another process runs this query\'s driver"); sys.exit({code})'
            return subprocess.Popen([sys.executable, "-c", says], stdout=subprocess.PIPE, text=True)

        def await_commits(self, commits):
            assert commits == 4

    assert (chaos("faults").stop_and_continue(Driver(), None).wrong is None) == is_refused


@pytest.mark.needs("process")
def test_a_correction_that_takes_too_long_is_killed_and_reported(chaos):
    begun = []

    class Driver:
        def begin(self, verb):
            begun.append(
                subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=subprocess.PIPE)
            )
            return begun[0]

    assert chaos("faults").correct(Driver(), 0.5) == "a correction took more than 0.5 s"
    assert begun[0].returncode == -signal.SIGKILL


@pytest.mark.needs("process")
def test_what_a_driver_forks_is_no_second_driver(chaos):
    drivers_among = chaos("platform_watch").drivers_among
    command = [
        sys.executable,
        "-c",
        "import os, time; os.fork(); time.sleep(60)",
        "org.apache.spark.deploy.SparkSubmit",
    ]
    both = [psutil.Popen(command) for _ in range(2)]
    try:
        for driver in both:
            until(driver.children)
        processes = [process for driver in both for process in (*driver.children(), driver)]
        assert len(processes) == 4
        assert sorted(drivers_among([*processes, psutil.Process()])) == sorted(driver.pid for driver in both)
    finally:
        for process in [*(child for driver in both for child in driver.children()), *both]:
            process.kill()
        psutil.wait_procs(both)


@pytest.mark.parametrize(
    ("program", "option", "wrong"),
    [
        ("outages", "--parts", "postgres,kafak"),
        ("outages", "--how", "kil"),
        ("place_outages", "--places", "postgres,kafak"),
        ("place_outages", "--how", "kil"),
        ("place_outages", "--between", "kill,rebuilt"),
    ],
)
def test_an_unknown_part_place_or_way_of_an_outage_is_refused(chaos, capsys, program, option, wrong):
    with pytest.raises(SystemExit) as end:
        chaos(program).main([option, wrong])
    assert end.value.code == 2
    assert f"{option}: {wrong.rpartition(',')[2]} is none of " in capsys.readouterr().err


def test_a_reader_of_a_place_reports_an_older_version_once_and_passes_over_an_outage(chaos):
    away, versions = chaos("answer_place").Away, [{"a": (1,)}, {"a": (2,)}, None, {"a": (1,)}, {"a": (1,)}, {}]

    def poll():
        if (there := versions.pop(0)) is None:
            raise away
        return "table", there

    reader = PlaceReader(poll)
    place = _place(reader)
    watch, violations = chaos("place_watch").PlaceWatch(place), []
    while versions:
        watch.look()
        violations.append(len(watch.violations))
    assert violations == [0, 0, 0, 1, 1, 1]
    assert reader.versions == 2
    assert watch.has(2)
    assert not watch.has(3)


def _place(reader):
    def newest_ms():
        return max((version for (version,) in reader.seen.values()), default=0)

    return SimpleNamespace(reader=reader, newest_ms=newest_ms, origin=lambda: reader.origin)


def test_a_reader_of_a_place_reports_answers_of_other_tables_where_nobody_has_rebuilt_or_restored_them(chaos):
    origins = [None, "first", "first", "rebuilt", "rebuilt", "lost", None]
    reader = PlaceReader(lambda: (origin := origins.pop(0), {} if origin is None else {"a": (1,)}))
    watch, violations = chaos("place_watch").PlaceWatch(_place(reader)), []
    while origins:
        watch.origin_may_change = origins[0] == "rebuilt"
        watch.look()
        violations.append([text.rpartition("and now from ")[2] for text in watch.violations])
    assert violations == [[], [], [], [], [], ["lost"], ["lost"]]
    assert watch.origins == ["first", "rebuilt", "lost"]


SENT_AGAIN = [(9, 1), (9, 5), (0, 2), (0, 3), (12, 1)]
"""The versions of an answer in a topic, as a backup is restored: of generation 0 until all answers are sent again."""


@pytest.mark.parametrize(
    ("versions", "older", "is_restored"),
    [
        (SENT_AGAIN, None, True),
        ([*SENT_AGAIN, (0, 1), (0, 2), (13, 1)], None, True),
        ([(9, 1), (0, 3), (0, 2), (12, 1)], (0, 2), True),
        ([*SENT_AGAIN, (9, 8)], (9, 8), True),
        ([(9, 5), (0, 2), (9, 4)], (9, 4), True),
        (SENT_AGAIN, (0, 2), False),
    ],
)
def test_the_records_of_a_restored_stream_have_an_order_of_their_own(chaos, versions, older, is_restored):
    other = Record("other", None, (0, 9))
    sent = [each for version in versions for each in (Record("answer", {}, version), other)]
    place = SimpleNamespace(_records=TopicRecords(sent if is_restored else sent[::2]))
    problem = chaos("server_places").TopicPlace.order_problem(place, is_restored)
    assert problem is None if older is None else f"version={older}" in problem


@pytest.mark.needs("process")
@pytest.mark.parametrize("delivers", [True, False])
def test_a_correction_is_killed_as_it_holds_the_lock_of_a_place_and_the_driver_in_any_case(chaos, tmp_path, delivers):
    lock = tmp_path / (".kafka.lock" if delivers else ".current.lock")
    holding = f"import time; file = open({str(lock)!r}, 'w'); time.sleep({600 if delivers else 0.5})"
    correction = subprocess.Popen([sys.executable, "-c", holding])
    driver = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    awaited = []
    stream = SimpleNamespace(driver=SimpleNamespace(pid=driver.pid), await_other_pid=awaited.append)
    said = chaos("between").kill_beside(stream, "kafka", correction)
    assert said == ("the correction as it delivered, and the driver" if delivers else "the driver")
    assert correction.wait() == (-signal.SIGKILL if delivers else 0)
    assert driver.wait() == -signal.SIGKILL
    assert awaited == [driver.pid]


def test_a_command_beside_a_stream_waits_for_a_correction_and_may_fail_where_a_place_is_away(chaos):
    corrects, away, fails = "another process corrects this query", "all answers are committed, but kafka", "no disk"
    ends = [(2, corrects), (2, corrects), (0, "rebuilt"), (1, away), (1, fails)]

    class Driver:
        def begin(self, verb):
            code, said = ends.pop(0)
            return SimpleNamespace(returncode=code, communicate=lambda timeout: (said, None))

    tally = chaos("comparison").Tally()
    stream = chaos("watched_stream").WatchedStream(Driver(), None, [], tally, {})
    assert stream.run("rebuild") == "rebuilt"
    assert stream.run("rebuild") == away
    assert tally.is_clean
    assert stream.run("rebuild") == fails
    assert tally.examples == ["tailrace rebuild failed: no disk"]


def test_latencies_are_from_plan_and_file_to_the_commit_of_results_and_heed_no_other_commit(chaos, tmp_path):
    latencies = chaos("latencies").Latencies(tmp_path)
    layout = latencies.layout
    layout.journal.mkdir(parents=True)
    driver = Driver(layout.journal, log := Log(*segments("b")), LIVE)
    latencies.look()
    assert not latencies.committed_s, "there is no table yet"
    commits_ms = []
    for batch in range(3):
        driver.plan(after=1_000)
        log.there += segments("b")
        commit = CommitProperties(app_transactions=[Transaction("app:results", batch)])
        write_deltalake(layout.table("results"), pa.table({"n": [batch]}), mode="append", commit_properties=commit)
        commits_ms.append(DeltaTable(layout.table("results")).history(1)[0]["timestamp"])
        DeltaTable(layout.table("results")).optimize.compact()
        latencies.look()
    rows = {"path": ["/in/a", "/in/b"], "batch": [1, 2]}
    write_deltalake(layout.table("segments"), pa.table(rows))
    planned_ms = [1_001_000, 1_002_000, 1_003_000]
    expected = [(commit - planned) / 1000 for commit, planned in zip(commits_ms, planned_ms, strict=True)]
    assert latencies.of_plans(since_s=1_002) == pytest.approx(expected[1:])
    written_s = {"a": 1_000.0, "b": 1_002.5, "not read": 1_002.5}
    assert latencies.of_files(written_s, since_s=1_001) == pytest.approx([commits_ms[2] / 1000 - 1_002.5])
