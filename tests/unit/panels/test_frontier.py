"""The panel `frontier`, held against plain Python over the tables' rows and the tuples that were written."""

from __future__ import annotations

import json
import math
import random
from itertools import groupby
from operator import le, lt
from typing import Annotated, Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

from kit.draws.join_queries import CONTENT
from kit.draws.join_queries import query_over as join_over
from kit.oracles.oracle import Tuple
from kit.runs.local_driver import Driver
from kit.runs.panel_stream import BATCH_ROWS, TICK, PanelStream, query_over, run_stream
from kit.runs.warehouse import EPOCH, even, make_stream, propose, write_files
from tailrace.ground.duration import format_time
from tailrace.panels import delays, frontier, wall_clock
from tailrace.panels.arrival_range import NOTHING_YET, ArrivalRequest
from tailrace.panels.frontier import FrontierAnswer, FrontierSeries
from tailrace.panels.query_view import QueryView
from tailrace.panels.series import SeriesChart, charts_of, thinning_of
from tailrace.storage.layout import Layout


@pytest.fixture(scope="module")
def stream(tmp_path_factory) -> PanelStream:
    return run_stream(tmp_path_factory.mktemp("frontier"), {"policy": "mp_k_slack"})


@pytest.fixture(scope="module")
def answer(stream) -> FrontierAnswer:
    return frontier.read(stream.view, ArrivalRequest())


def _by_batch(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    ordered = sorted(rows, key=lambda row: row["batch"])
    return [list(group) for _, group in groupby(ordered, key=lambda row: row["batch"])]


def test_each_batch_is_a_point_with_the_sums_of_its_tasks(stream, answer):
    batches = _by_batch(stream.rows("metrics"))
    assert len(batches) > 5
    series = answer.series
    assert series.at == [batch[0]["committed"] for batch in batches]
    for name in ("frontier", "t_max", "k_ms", "coverage"):
        assert getattr(series, name) == [batch[0][name] for batch in batches], name
    for name in ("rows", "late"):
        assert getattr(series, name) == [sum(task[name] for task in batch) for batch in batches], name
    slowest = [max(task["latency_ms"] for task in batch if task["latency_ms"] is not None) for batch in batches]
    assert series.latency_ms == slowest
    assert sum(series.late) > 0


def test_a_column_of_metrics_is_shown_once_it_is_a_field_of_the_series(stream, answer, monkeypatch):
    class Wider(FrontierSeries):
        partials: Annotated[list[int | None], "sum", SeriesChart(title="Partials", unit="count")]

    monkeypatch.setattr(frontier, "FrontierSeries", Wider)
    monkeypatch.setattr(frontier, "_SERIES", thinning_of(Wider))
    wider = frontier.read(stream.view, ArrivalRequest()).series
    batches = _by_batch(stream.rows("metrics"))
    assert wider.partials == [sum(task["partials"] for task in batch) for batch in batches]
    assert {*charts_of(Wider)} - {*answer.charts} == {"partials"}


def test_by_default_it_shows_the_last_hour_with_batches(stream, answer):
    newest = max(row["committed"] for row in stream.rows("metrics"))
    assert (answer.from_, answer.to) == (newest - 3_600_000, newest)
    assert answer.model_dump(mode="json")["from"] == newest - 3_600_000


def test_a_range_has_the_batches_after_its_beginning_up_to_its_end(stream, answer):
    at = answer.series.at
    part = frontier.read(stream.view, ArrivalRequest.model_validate({"from": str(at[1]), "to": str(at[4])}))
    assert part.series.at == at[2:5]
    assert frontier.read(stream.view, ArrivalRequest(to=at[4])).series.at == at[:5]
    assert frontier.read(stream.view, ArrivalRequest(from_=at[4])).series.at == at[5:]


@pytest.mark.parametrize("ends", [{"from": 5, "to": 5}, {"from": 6, "to": 5}, {"to": 1 << 60}, {"form": 1}])
def test_a_range_that_is_none_is_refused(ends):
    with pytest.raises(ValidationError):
        ArrivalRequest.model_validate(ends)


def test_a_range_without_a_batch_says_so(stream):
    empty = frontier.read(stream.view, ArrivalRequest(from_=0, to=1))
    assert empty.series.at == empty.wall.at == []
    assert empty.note == "no batch has committed arrival times in this range"


def test_a_query_that_has_not_run_has_nothing_to_show(tmp_path):
    view = QueryView(Layout.for_query(tmp_path, "readings"), None)
    nothing = frontier.read(view, ArrivalRequest())
    assert (nothing.note, nothing.series.at, nothing.changes, nothing.delays) == (NOTHING_YET, [], [], None)


def test_tables_that_are_empty_have_nothing_to_show(tmp_path):
    write_files(make_stream(10, 1), tmp_path / "in", [0, 10])
    driver = Driver(query_over(tmp_path, {"policy": "none"}), tmp_path / "wh")
    driver.begin()
    nothing = frontier.read(PanelStream(driver.query, tmp_path / "wh", []).view, ArrivalRequest())
    assert (nothing.note, nothing.series.at) == (NOTHING_YET, [])


def test_the_wall_clock_has_the_latest_emission_of_each_arrival_time(stream, answer):
    latest: dict[int, int] = {}
    for row in stream.rows("results"):
        latest[row["as_of"]] = max(latest.get(row["as_of"], 0), row["emitted_at"])
    assert dict(zip(answer.wall.at, answer.wall.emitted_at, strict=True)) == latest
    assert answer.wall.at == sorted(latest)


def test_of_too_many_answers_the_wall_clock_has_the_ends_of_each_file(stream, answer, monkeypatch):
    monkeypatch.setattr(wall_clock, "MOST_ROWS", 10)
    wall = frontier.read(stream.view, ArrivalRequest()).wall
    assert set(wall.at) < set(answer.wall.at)
    assert {answer.wall.at[0], answer.wall.at[-1]} <= set(wall.at)
    known = dict(zip(answer.wall.at, answer.wall.emitted_at, strict=True))
    assert all(known[at] == emitted_at for at, emitted_at in zip(wall.at, wall.emitted_at, strict=True))


def _plain_delays(streams: list[list[tuple[int, int]]], until: int) -> list[int]:
    """The delays of (event, arrival) tuples of streams up to a point of arrival time, by a loop over the ticks."""
    arrived = [(arrival // TICK, side, event) for side, items in enumerate(streams) for event, arrival in items]
    found, latest, t_max = [], [-math.inf] * len(streams), -math.inf
    for tick, group in groupby(sorted(arrived), key=lambda item: item[0]):
        items = list(group)
        if (tick + 1) * TICK > until:
            break
        for _, side, event in items:
            latest[side] = max(latest[side], event)
        t_max = max(t_max, min(latest))
        found += [max(t_max - event, 0) for _, _, event in items if t_max > -math.inf]
    return found


def _assert_quantiles(delays_: delays.DelayQuantiles, plain: list[int]) -> None:
    assert delays_.tuples == len(plain)
    for quantile in delays_.quantiles:
        share = sum(delay <= quantile.delay_ms for delay in plain) / len(plain)
        below = sum(delay < quantile.delay_ms for delay in plain) / len(plain)
        assert below < quantile.q <= share, quantile
    assert delays_.quantiles[-1].delay_ms == max(plain) > 5_000


def test_the_delays_are_how_far_event_times_were_behind_t_max(stream, answer):
    _assert_quantiles(
        answer.delays, _plain_delays([[(t.event_time, t.arrival_time) for t in stream.tuples]], answer.to)
    )


def test_the_delays_of_tuples_count_from_t_max_before_them(tmp_path, monkeypatch):
    monkeypatch.setattr(delays, "MOST_SEGMENTS", 1)
    arrivals = [EPOCH + 10_000 + 100 * n for n in range(20)]
    ahead = [Tuple(arrival, arrival, f"a{n}", "k", 1.0) for n, arrival in enumerate(arrivals)]
    behind = [Tuple(EPOCH + 5_000, arrival + 2_000, f"b{n}", "k", 1.0) for n, arrival in enumerate(arrivals)]
    write_files([*ahead, *behind], tmp_path / "in", even(40, 2))
    two_files = PanelStream(query_over(tmp_path, {"policy": "none"}), tmp_path / "wh", [])
    two_files.driver.run(20)
    newest = frontier.read(two_files.view, ArrivalRequest()).delays
    assert newest.tuples == 19  # the last one came in a tick that is not complete
    complete = ahead[-2].event_time  # the tick of the last one is not, when the second file comes
    assert {quantile.delay_ms for quantile in newest.quantiles} == {complete - (EPOCH + 5_000)}


def test_the_delays_are_those_of_the_newest_segments(stream, answer, monkeypatch):
    monkeypatch.setattr(delays, "MOST_SEGMENTS", 2)
    newest = frontier.read(stream.view, ArrivalRequest()).delays
    plain = _plain_delays([[(t.event_time, t.arrival_time) for t in stream.tuples]], answer.to)
    left = len(stream.tuples) - len(plain)  # came in a tick that is not complete
    _assert_quantiles(newest, plain[-(2 * BATCH_ROWS - left) :])


def test_of_a_large_segment_the_last_tuples_are_read(stream, answer, monkeypatch):
    monkeypatch.setattr(delays, "MOST_TUPLES", 100)
    newest = frontier.read(stream.view, ArrivalRequest()).delays
    left = len(stream.tuples) - answer.delays.tuples
    assert newest.tuples == 100 - left
    assert newest.to == answer.delays.to
    assert newest.from_ == stream.tuples[-100].arrival_time


def test_the_delays_are_those_that_were_known_at_the_end_of_the_range(stream, answer):
    until = answer.series.at[3]
    earlier = frontier.read(stream.view, ArrivalRequest(to=until))
    plain = _plain_delays([[(t.event_time, t.arrival_time) for t in stream.tuples]], until)
    assert earlier.delays.tuples == len(plain)
    assert earlier.delays.to < until


def test_the_delays_come_from_history_where_the_source_is_no_log(tmp_path):
    tuples = make_stream(400, 3)
    (tmp_path / "in").mkdir()
    lines = [json.dumps(t._asdict()) for t in tuples]
    (tmp_path / "in" / "part-0.jsonl").write_text("\n".join(lines) + "\n")
    source = {"format": "json", "path": str(tmp_path / "in")}
    times = {"event_time": "event_time", "arrival_time": "arrival_time"}
    query = query_over(tmp_path, {"policy": "none"}, source=source, **times)
    json_stream = PanelStream(query, tmp_path / "wh", tuples)
    json_stream.driver.run(100)
    (tmp_path / "in" / "part-0.jsonl").unlink()
    view = json_stream.view
    answer = frontier.read(view, ArrivalRequest())
    plain = _plain_delays([[(t.event_time, t.arrival_time) for t in tuples]], answer.to)
    assert answer.delays.tuples == len(plain) > 300
    assert answer.delays.quantiles[-1].delay_ms == max(plain)
    next(view.layout.table("history").rglob("part-*.parquet")).unlink()
    without = frontier.read(view, ArrivalRequest())
    assert without.delays is None
    (damaged,) = without.damaged
    assert damaged.fields == ["delays"]
    assert str(view.layout.table("history")) in damaged.where
    assert without.series == answer.series


def test_settings_that_hold_from_a_tick_to_come_are_said(tmp_path):
    tuples = make_stream(100, 3)
    write_files(tuples, tmp_path / "in", even(100, 2))
    stream = PanelStream(query_over(tmp_path, {"policy": "k_slack", "k": "2 s"}), tmp_path / "wh", tuples)
    stream.driver.run(50)
    answer = frontier.read(stream.view, ArrivalRequest())
    at, (first, *_) = answer.to, (row for row in stream.rows("facts") if row["about"] == "settings")
    assert "holds from" not in (answer.note or "")
    settings = json.dumps({"policy": "k_slack", "k": 3_200, "initial": None})
    later = first | {"value": settings, "version": 99, "from_tick": at // TICK + 1}
    tables = stream.view.tables
    tables.add("facts", pa.Table.from_pylist([later], tables.schema("facts")))
    newest = frontier.read(stream.view, ArrivalRequest())
    assert (newest.k_ms, newest.k_changes) == (answer.k_ms, answer.k_changes), "no tick has them yet"
    assert f"holds from {format_time((at // TICK + 1) * TICK)} on, and that tick is not complete" in newest.note
    assert frontier.read(stream.view, ArrivalRequest(to=at)).note == answer.note


def test_without_its_source_the_delays_are_unknown_and_the_rest_is_shown(tmp_path):
    tuples = make_stream(200, 3)
    write_files(tuples, tmp_path / "in", even(200, 2))
    lost = PanelStream(query_over(tmp_path, {"policy": "none"}), tmp_path / "wh", tuples)
    lost.driver.run(100)
    (tmp_path / "in" / "part-00001.parquet").unlink()
    answer = frontier.read(lost.view, ArrivalRequest())
    assert answer.delays is None
    assert answer.note.startswith("the delays are unknown, as the source can't be read: ")
    assert "part-00001.parquet" in answer.note
    assert len(answer.series.at) == 2


@pytest.mark.parametrize("tick", [100, 0])
def test_a_change_of_k_has_its_evidence_and_the_arrival_time_from_which_it_holds(tmp_path, tick):
    tuples = make_stream(400, 3)
    write_files(tuples[:200], tmp_path / "in", [0, 200])
    disorder = {"policy": "cache_duration", "initial": "200 ms", "tick": f"{tick} ms"}
    changed = PanelStream(query_over(tmp_path, disorder), tmp_path / "wh", tuples)
    changed.driver.run()
    propose(changed.query, changed.warehouse, 350)
    write_files(tuples, tmp_path / "in", [200, 400], first=1)
    changed.driver.run(50)
    first, second = frontier.read(changed.view, ArrivalRequest()).changes
    assert (first.at, first.tick, first.version, first.evidence) == (None, 0, 1, "declared")
    assert first.what.startswith("policy cache_duration, K 200 ms")
    assert (second.version, second.what, second.evidence) == (2, "K 200 ms → 350 ms", "found 350")
    newest = tuples[199].arrival_time
    if tick:
        assert second.at == second.tick * tick
        assert 0 < second.at - newest <= tick
    else:
        batches = {row["committed"] for row in changed.rows("metrics") if row["newest_tick"] >= second.tick}
        assert second.at == min(batches) > newest
    before = frontier.read(changed.view, ArrivalRequest(from_=newest - 1000, to=newest - 500))
    assert [change.version for change in before.changes] == [1]
    after = frontier.read(changed.view, ArrivalRequest(from_=second.at))
    assert [change.version for change in after.changes] == [2]


def test_the_delays_of_a_join_are_behind_the_stream_with_the_least_event_time(tmp_path):
    draw = random.Random(4)
    sides: dict[str, list[tuple[int, int]]] = {}
    for side, lag in (("left", 0), ("right", 700)):
        times = [(EPOCH + 20 * n - lag - draw.choice((0, 0, 40, 900)), EPOCH + 20 * n) for n in range(300)]
        sides[side] = times
        (tmp_path / side).mkdir()
        rows = [
            {"event_time": event, "arrival_time": arrival, "id": f"{side}{n}", "value": CONTENT["spatial_join"]["a"]}
            for n, (event, arrival) in enumerate(times)
        ]
        (tmp_path / side / "part-0.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    joined = PanelStream(join_over(tmp_path, "spatial_join", 1), tmp_path / "wh", [])
    joined.driver.run()
    answer = frontier.read(joined.view, ArrivalRequest())
    plain = _plain_delays([*sides.values()], answer.to)
    assert answer.delays.tuples == len(plain) > 500
    for quantile in answer.delays.quantiles:
        below, up_to = (sum(compare(delay, quantile.delay_ms) for delay in plain) / len(plain) for compare in (lt, le))
        assert below < quantile.q <= up_to
