"""Ranges of arrival time, and tables that are damaged."""

from __future__ import annotations

import pytest

from kit.runs.late_tables import LateTables
from kit.runs.panel_stream import PROMISE, PanelStream, query_over
from kit.runs.table_runs import make_query, write_stream, write_table
from kit.runs.warehouse import make_stream, write_files
from tailrace.ground.errors import Damaged
from tailrace.panels.arrival_range import ArrivalRequest, greatest_ms
from tailrace.panels.promise import NEVER_LATE, PromiseRequest
from tailrace.panels.registry import PANELS
from tailrace.storage.layout import Layout

NAMES = ("frontier", "promise", "late")


def _panel(name):
    return next(panel for panel in PANELS if panel.name == name)


def test_the_newest_time_comes_from_statistics_in_milliseconds(tmp_path):
    late = LateTables(Layout(tmp_path / "readings"))
    assert greatest_ms(late.tables, "metrics", "committed") is None
    assert greatest_ms(late.tables, "quality", "bucket_start") is None
    for until in (1_577_836_800_123, 1_577_836_700_001):
        late.commit(until)
    assert greatest_ms(late.tables, "metrics", "committed") == 1_577_836_800_123
    assert ArrivalRequest().ends(late.tables) == (1_577_836_800_123 - 3_600_000, 1_577_836_800_123)
    assert ArrivalRequest(from_=1_600_000_000_000).ends(late.tables) == (1_600_000_000_000, 1_600_000_000_000)


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> PanelStream:
    directory = tmp_path_factory.mktemp("damaged")
    tuples = make_stream(100, 1)
    write_files(tuples, directory / "in", [0, 100])
    stream = PanelStream(query_over(directory, {"policy": "hybrid"} | PROMISE), directory / "wh", tuples)
    stream.driver.run()
    return stream


@pytest.mark.parametrize("name", NAMES)
def test_a_lost_file_of_a_table_is_said_to_be_lost(small, name):
    panel = _panel(name)
    panel.read(small.view, panel.request())
    (file,) = small.view.layout.table("metrics").glob("*.parquet")
    aside = file.rename(file.with_suffix(".aside"))
    try:
        if name == "promise":  # what was measured is in another table
            (damaged,) = panel.read(small.view, panel.request()).damaged
            assert (damaged.where, "coverage" in damaged.fields) == (str(file), True)
        else:
            with pytest.raises(Damaged):
                panel.read(small.view, panel.request())
    finally:
        aside.rename(file)


@pytest.mark.parametrize("name", NAMES)
def test_a_join_with_a_table_has_the_panels_too(tmp_path, name):
    write_stream(tmp_path / "in")
    write_table(tmp_path / "zones.geojson", 0)
    joined = PanelStream(make_query(tmp_path), tmp_path / "wh", [])
    joined.driver.run()
    panel = _panel(name)
    answer = panel.read(joined.view, panel.request())
    assert answer.model_dump_json()
    if name == "frontier":
        assert answer.delays is None
        assert answer.wall.at
    if name == "promise":
        assert answer.note == NEVER_LATE
        assert answer.promised.error is None


def test_a_panel_names_the_tables_that_it_reads():
    for name in NAMES:
        assert "metrics" in _panel(name).tables, "each batch changes it"
    assert PromiseRequest.model_validate({}).from_ is None
