"""Two demonstrations with a stream of a user's own between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.demo import walkthrough
from tailrace.demo.generated_data import GAME2
from tailrace.demo.walkthrough import FLIGHTS, _start_afresh
from tailrace.ground.errors import Refused


@pytest.fixture
def forgotten(monkeypatch):
    """The DAGs whose history was deleted; nothing runs that could be stopped."""
    forgotten = []
    monkeypatch.setattr(walkthrough, "forget_dags", lambda airflow, dags: forgotten.extend(dags))
    for host, stop in (("EmbeddedHost", "stop"), ("EmbeddedAirflow", "kill"), ("EmbeddedCluster", "stop")):
        monkeypatch.setattr(getattr(walkthrough, host), stop, lambda self: None)
    return forgotten


def put(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def test_a_stream_of_ones_own_is_intact_after_the_next_demonstration(tmp_path, forgotten):
    _start_afresh(tmp_path, [FLIGHTS], [], [])
    put(tmp_path / "tables" / "flights" / "log", tmp_path / "airflow" / "airflow.db")
    own = [tmp_path / "tables" / "mine" / "log", tmp_path / "queries" / "mine.yaml", tmp_path / "data" / "mine.parquet"]
    put(*own)
    _start_afresh(tmp_path, [FLIGHTS, GAME2], ["queries/flights.yaml", "data/flights"], ["taxis.png"])
    assert all(path.exists() for path in [*own, tmp_path / "airflow" / "airflow.db"])
    assert not (tmp_path / "tables" / "flights").exists()
    assert forgotten == ["stream_flights", "correct_flights", "calibrate_flights", "publish_flights"]


def test_nothing_is_stopped_or_removed_where_a_place_is_taken(tmp_path, forgotten, monkeypatch):
    _start_afresh(tmp_path, [FLIGHTS], [], [])
    put(tmp_path / "tables" / "flights" / "log", tmp_path / "tables" / "game2" / "log")
    monkeypatch.setattr(walkthrough.EmbeddedHost, "stop", lambda self: pytest.fail("it was stopped"))
    with pytest.raises(Refused, match=r"tables/game2: no demonstration made it"):
        _start_afresh(tmp_path, [FLIGHTS, GAME2], [], [])
    assert (tmp_path / "tables" / "flights" / "log").exists()
    assert forgotten == []


def test_the_directory_of_an_earlier_version_keeps_what_is_no_demonstrations(tmp_path, forgotten):
    put(tmp_path / ".demo", tmp_path / "tables" / "game2" / "log", tmp_path / "tables" / "mine" / "log")
    _start_afresh(tmp_path, [FLIGHTS], [], [])
    assert [path.name for path in (tmp_path / "tables").iterdir()] == ["mine"]
    assert "stream_game2" in forgotten
