"""The picture of a query: what each chart draws, of queries of every kind, and the command `plot`."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from kit.draws.answer_samples import MAKERS
from kit.runs.local_driver import Driver, no_spark
from kit.runs.warehouse import even, make_stream, write_files
from tailrace.api import picture
from tailrace.api.picture import draw
from tailrace.api.shown_panels import ShownPanels
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.panels.query_view import DeclaredView
from tailrace.query.loading import load
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.terminal.plots import Figure

FILE = """\
name: readings
kind: aggregate
streams:
  readings:
    source: {{format: parquet, path: {path}}}
    event_time: event_time
    arrival_time: arrival_time
    id: id
    key: key
window: {{size: 500 ms, slide: 100 ms}}
disorder: {{policy: k_slack, k: 200 ms, tick: 100 ms}}
aggregate: {{function: sum, column: value}}
"""


KINDS = ("windows", "topk", "emd_join", "interval", "table")


class Recorded(Figure):
    """A figure whose charts can be looked at once it is drawn."""

    charts: ClassVar[list] = []

    def __enter__(self):
        Recorded.charts = super().__enter__()
        return self.charts


@pytest.fixture(scope="module", params=KINDS)
def sample(request, tmp_path_factory):
    """A query of each kind that was run in small batches, late tuples in part corrected: its parts, and its charts."""
    home = tmp_path_factory.mktemp("picture")
    query = MAKERS[request.param](home)
    driver = Driver(query, home / "wh")
    driver.run(120, flush=True)
    if query.table is None:
        arrived = sorted(row["arrived"] for row in driver.tables.read("late").to_pylist())
        interval = CorrectionRange(arrived[0] - 100, arrived[len(arrived) // 2], arrival=True)
        correct(query, home / "wh", interval, no_spark)
    key = "k1" if request.param == "windows" else None
    shown = ShownPanels.read(DeclaredView(driver.layout, None, query), None, None, key)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(picture, "Figure", Recorded)
        assert drawn(shown).startswith(b"\x89PNG")
    return SimpleNamespace(kind=request.param, layout=driver.layout, shown=shown, charts=Recorded.charts)


@pytest.fixture
def axes(monkeypatch):
    """Returns the charts of the picture that was drawn last."""
    monkeypatch.setattr(picture, "Figure", Recorded)
    return lambda: Recorded.charts


def drawn(shown: ShownPanels, form: str = "png") -> bytes:
    file = io.BytesIO()
    draw(shown, file, form)
    return file.getvalue()


def points(line) -> tuple[list[int], list]:
    """The times of a line in ms, and its values."""
    return line.get_xdata(orig=True).astype("datetime64[ms]").astype(int).tolist(), list(line.get_ydata(orig=True))


def line(ax, name: str):
    (found,) = [each for each in ax.lines if each.get_label() == name]
    return found


@pytest.mark.needs("long")
def test_the_progress_and_the_late_tuples_of_every_kind_are_those_of_its_batches(sample):
    rows = Tables(sample.layout).read("metrics", ["committed", "frontier", "late"]).to_pylist()
    progress, _, _, late = sample.charts
    frontiers = {row["committed"]: row["frontier"] for row in rows if row["committed"] is not None}
    at, values = points(line(progress, "frontier"))
    times = np.array(values, "datetime64[ms]").astype(int).tolist()
    assert dict(zip(at, times, strict=True)) == frontiers
    (lines,) = late.collections
    assert sum(end[1] for _, end in lines.get_segments()) == sum(row["late"] for row in rows)
    assert late.get_title().startswith(f"{sum(row['late'] for row in rows)} late tuple")


def test_answers_are_those_of_a_key_as_streamed_and_as_corrected_else_the_share_that_was_right(sample):
    if sample.kind != "windows":
        (share,) = sample.charts[2].lines
        at, values = points(share)
        assert (at, values) == (sample.shown.answers.right.at, sample.shown.answers.right.share)
        assert (values[-1] == 1) == (sample.kind == "table"), "late tuples of the others are not all corrected"
        return
    streamed = {row["window_end"]: row["value"] for row in of_key(sample.layout, "results", "k1")}
    revised = sorted(of_key(sample.layout, "corrections", "k1"), key=lambda row: row["as_of"])
    latest = streamed | {row["window_end"]: row["value"] for row in revised}
    assert {line.get_label() for line in sample.charts[2].lines} == {"value, as corrected", "value, as streamed"}
    for name, expected in (("value, as streamed", streamed), ("value, as corrected", latest)):
        at, values = points(line(sample.charts[2], name))
        found = {end: value for end, value in zip(at, values, strict=True) if not np.isnan(value)}
        assert found == pytest.approx(expected)
    assert latest != streamed


def test_a_query_without_late_tuples_says_so_in_place_of_a_chart(sample):
    texts = " ".join(text.get_text() for text in sample.charts[1].texts).replace("\n", " ")
    assert ("none is late, and nothing is promised" in texts) == (sample.kind == "table")


def of_key(layout: Layout, table: str, key: str) -> list[dict]:
    return [row for row in Tables(layout).read(table).to_pylist() if row["key"] == key]


def test_a_promise_is_drawn_with_its_bound_and_the_measured_errors(tmp_path, axes):
    query = declared(tmp_path, "{policy: quantile, error: 0.05, risk: 0.25, tick: 100 ms}")
    driver = Driver(query, tmp_path / "wh")
    driver.run(240, flush=True)
    correct(query, tmp_path / "wh", CorrectionRange(), no_spark)
    drawn(ShownPanels.read(DeclaredView(driver.layout, None, query), None, None, None))
    rows = driver.tables.read("quality").to_pylist()
    at, values = points(line(axes()[1], "value"))
    assert dict(zip(at, values, strict=True)) == {
        row["bucket_end"]: row["off"] / (row["answers"] + row["missing"]) for row in rows
    }
    assert line(axes()[1], "promised: 0.25 at most").get_ydata()[0] == 0.25
    assert axes()[1].get_ylabel() == "share off by 0.05 or more"


def declared(home: Path, disorder: str = "{policy: k_slack, k: 200 ms, tick: 100 ms}"):
    """A declared query over a few files."""
    if not (home / "in").exists():
        write_files(make_stream(480, 3, duplicates=5), home / "in", even(480, 8))
    text = FILE.format(path=home / "in").replace("{policy: k_slack, k: 200 ms, tick: 100 ms}", disorder)
    (home / "readings.yaml").write_text(text)
    return load(home / "readings.yaml")


@pytest.fixture(scope="module")
def streamed(tmp_path_factory):
    """A declared query that was run in two batches: the directory of its file and of its warehouse, and its driver."""
    home = tmp_path_factory.mktemp("streamed")
    driver = Driver(declared(home), home / "wh")
    driver.run(240, flush=True)
    return SimpleNamespace(home=home, driver=driver)


def test_a_stream_that_has_begun_and_read_nothing_is_a_picture_of_notes(tmp_path, axes):
    query = declared(tmp_path)
    drawn(ShownPanels.read(DeclaredView(Layout.for_query(tmp_path / "wh", "readings"), None, query), None, None, None))
    assert all(len(ax.texts) == 1 and not ax.lines for ax in axes())


@pytest.mark.parametrize("form", ["png", "pdf"])
def test_hostile_names_are_drawn_as_text(streamed, axes, form):
    poison = "$\\frac{<script>$\u0007漢🦊" + "x" * 2_000_000
    shown = ShownPanels.read(DeclaredView(streamed.driver.layout, None, streamed.driver.query), None, None, "k1")
    assert drawn(replace(shown, name="$a_{$", key=poison), form)
    assert axes()[2].get_title() == f"Answers of {poison[:39]}…"


def test_the_command_writes_the_picture_and_says_where(tmp_path, tailrace, monkeypatch):
    query = declared(tmp_path)
    Driver(query, tmp_path / "wh").run(240, flush=True)
    monkeypatch.chdir(tmp_path)
    assert tailrace("plot", "readings.yaml", "--warehouse", "wh").stdout == "readings.png\n"
    assert (tmp_path / "readings.png").read_bytes().startswith(b"\x89PNG")
    output = tailrace("plot", "readings.yaml", "--warehouse", "wh", "--key", "k1", "--output", "of k1.svg")
    assert output.stdout == "of k1.svg\n"
    assert "Answers of k1" in (tmp_path / "of k1.svg").read_text()


def test_the_command_shows_the_range_that_is_asked_for(streamed, tmp_path, tailrace, monkeypatch, axes):
    monkeypatch.chdir(streamed.home)
    committed = sorted(set(streamed.driver.tables.read("metrics", ["committed"])["committed"].to_pylist()))
    start, end = (np.datetime64(committed[place], "ms") for place in (0, 1))
    file = tmp_path / "range.png"
    tailrace("plot", "readings.yaml", "--warehouse", "wh", "--from", start, "--to", end, "--output", file)
    assert points(line(axes()[0], "frontier"))[0] == committed[1:2]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--warehouse", "empty"], "the query has never run in this warehouse"),
        (["--warehouse", "wh", "--output", "x.gif"], "its name says no form of picture"),
        (["--warehouse", "wh", "--output", "no/x.png"], "there is no directory no"),
        (["--warehouse", "wh", "--from", "2020-01-02", "--to", "2020-01-01"], "the range is empty"),
        (["--warehouse", "wh", "--from", "yesterday"], "'yesterday' is no time"),
        (["--warehouse", "wh", "--key", "NOSUCH"], "is in this range, or of this key"),
    ],
    ids=["never ran", "form", "directory", "range", "time", "key"],
)
def test_the_command_refuses_what_it_can_not_draw(streamed, tailrace, monkeypatch, arguments, fault):
    monkeypatch.chdir(streamed.home)
    before = sorted(streamed.home.iterdir())
    assert fault in tailrace("plot", "readings.yaml", *arguments, code=2).stderr
    assert sorted(streamed.home.iterdir()) == before


def test_without_matplotlib_the_command_is_refused_with_the_extra_that_has_it(tmp_path, tailrace, monkeypatch):
    declared(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused = tailrace("plot", tmp_path / "readings.yaml", "--warehouse", tmp_path, code=2).stderr
    assert "tailrace plot: matplotlib is not installed" in refused
    assert "pip install 'tailrace[plots]'" in refused


def test_one_batch_is_drawn_as_large_points_with_a_note(tmp_path, axes):
    query = MAKERS["windows"](tmp_path)
    driver = Driver(query, tmp_path / "wh")
    driver.run(1_000_000, flush=True)
    drawn(ShownPanels.read(DeclaredView(driver.layout, None, query), None, None, None))
    progress, *_ = axes()
    frontier = line(progress, "frontier")
    assert len(points(frontier)[0]) == 1
    assert (frontier.get_marker(), frontier.get_markersize()) == ("o", 8)
    assert "One batch so far" in progress.get_xlabel()
