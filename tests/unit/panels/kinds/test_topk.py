"""Rankings as a panel: as corrected beside as streamed, against the tables' rows by plain Python."""

from __future__ import annotations

from collections import defaultdict

import pytest

from kit.oracles.oracle import Settings
from kit.runs.local_driver import Driver, correct_here
from kit.runs.shown import shown, view_of
from kit.runs.warehouse import even, make_query, make_stream, write_files
from tailrace.calibration.calibrate import calibrate
from tailrace.ground.errors import Refused
from tailrace.panels.kind import PANEL
from tailrace.panels.kinds import topk

TUPLES = make_stream(5000, seed=6)
SETTINGS = Settings(1000, 500, 100, "sum", ("k_slack", 60))
SECTION = {"k": 3, "score": "value", "select": ["value"]}


@pytest.fixture(scope="module")
def ranked(tmp_path_factory):
    """A corrected stream of rankings, with a calibration of its waits."""
    directory = tmp_path_factory.mktemp("topk")
    write_files(TUPLES, directory / "in", even(5000, 4))
    query, warehouse = make_query(directory / "in", SETTINGS, calibrated=True, topk=SECTION), directory / "wh"
    Driver(query, warehouse).run(batch_rows=1000, flush=True)
    correct_here(query, warehouse)
    calibrate(query, warehouse)
    return view_of(warehouse, query)


def rankings(rows):
    """The ids of rankings by key and window, in order of rank."""
    found = defaultdict(dict)
    for row in rows:
        found[row["key"], row["window_start"], row["window_end"]][row["rank"]] = row["id"]
    return {window: [ranks[rank] for rank in sorted(ranks)] for window, ranks in found.items()}


def newest(view):
    """The rankings as corrected, or as streamed where nobody has corrected them; the newest first."""
    streamed, corrected = (rankings(view.tables.read(name).to_pylist()) for name in ("results", "corrections"))
    both = streamed | corrected
    return [
        (window, both[window], streamed.get(window, []))
        for window in sorted(both, key=lambda each: (-each[2], each[0]))
    ]


@pytest.mark.parametrize("limit", [1, 7, 200])
def test_the_newest_rankings_stand_as_corrected_beside_as_streamed(ranked, limit):
    answer = shown(PANEL, ranked, limit=limit)
    expected = newest(ranked)[:limit]
    assert [(each["key"], each["window_start"], each["window_end"]) for each in answer["rankings"]] == [
        window for window, _, _ in expected
    ]
    for each, (_, now, before) in zip(answer["rankings"], expected, strict=True):
        assert [(row["rank"], row["id"]) for row in each["rows"]] == list(enumerate(now, 1))
        was = {id: rank for rank, id in enumerate(before, 1)}
        assert [row["was_rank"] for row in each["rows"]] == [was.get(id) for id in now]
        assert [(row["was_rank"], row["id"]) for row in each["gone"]] == [
            (was[id], id) for id in before if id not in now
        ]
        assert each["is_streamed"] == bool(before)
        value = {item.id: item.value for item in TUPLES}
        assert all(row["score"] == row["values"]["value"] == value[row["id"]] for row in each["rows"] + each["gone"])


def test_a_correction_shows_what_came_and_what_went(ranked):
    rows = [row for each in shown(PANEL, ranked, limit=200)["rankings"] for row in each["rows"] + each["gone"]]
    assert any(row["was_rank"] is None for row in rows)
    assert any(row["rank"] is None for row in rows)
    assert any(None not in (row["rank"], row["was_rank"]) and row["rank"] > row["was_rank"] for row in rows)


def test_of_one_key_older_rankings_are_shown(ranked):
    answer = shown(PANEL, ranked, key="k3", limit=9)
    expected = [each for each in newest(ranked) if each[0][0] == "k3"][:9]
    assert [(each["key"], each["window_end"]) for each in answer["rankings"]] == [
        (window[0], window[2]) for window, _, _ in expected
    ]
    answer = shown(PANEL, ranked, key="none of them")
    assert (answer["rankings"], answer["note"]) == ([], "no ranking of the key none of them is there")


def test_only_the_best_of_a_long_ranking_are_shown_and_none_of_the_others_counts_as_gone(ranked, monkeypatch):
    monkeypatch.setattr(topk, "MOST_ROWS", 1)
    for each, (_, now, before) in zip(shown(PANEL, ranked, limit=200)["rankings"], newest(ranked), strict=False):
        assert [row["id"] for row in each["rows"]] == now[:1]
        assert [row["id"] for row in each["gone"]] == [id for id in before[:1] if id not in now]
        assert [row["was_rank"] for row in each["rows"]] == [before.index(now[0]) + 1 if now[0] in before else None]


def test_the_evidence_of_the_newest_calibration_stands_beside_what_is_promised(ranked):
    calibration = shown(PANEL, ranked)["calibration"]
    (proposal,) = ranked.tables.read("proposals").to_pylist()
    assert len(calibration["durations"]) == 10
    assert {name: calibration[name] for name in ("k_ms", "accuracy", "windows", "until", "evidence")} == {
        name: proposal[name] for name in ("k_ms", "accuracy", "windows", "until", "evidence")
    }
    assert calibration["promised"] == 0.95


def test_of_a_stream_that_has_not_run_nothing_is_ranked(tmp_path):
    query = make_query(tmp_path / "in", SETTINGS, topk=SECTION)
    answer = shown(PANEL, view_of(tmp_path / "wh", query))
    assert (answer["rankings"], answer["calibration"]) == ([], None)
    assert answer["note"] == "the stream has ranked nothing yet"
    assert (answer["k"], answer["score"], answer["selected"]) == (3, "value", ["value"])


def test_rankings_without_a_key_are_of_all_tuples(tmp_path):
    write_files(TUPLES[:600], tmp_path / "in", [0, 600])
    query = make_query(tmp_path / "in", SETTINGS, topk=SECTION, key=None)
    Driver(query, tmp_path / "wh").run(flush=True)
    found = shown(PANEL, view_of(tmp_path / "wh", query), limit=3)["rankings"]
    assert [each["key"] for each in found] == [None] * 3
    assert [each["window_end"] for each in found] == sorted((each["window_end"] for each in found), reverse=True)
    best = sorted(
        (item for item in TUPLES[:600] if found[0]["window_start"] <= item.event_time), key=lambda one: -one.value
    )
    assert found[0]["rows"][0]["id"] == best[0].id


def test_a_key_is_refused_where_rankings_have_none(tmp_path):
    query = make_query(tmp_path / "in", SETTINGS, topk=SECTION, key=None)
    with pytest.raises(Refused, match="have no key"):
        shown(PANEL, view_of(tmp_path, query), key="k1")
