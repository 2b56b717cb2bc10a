"""A demonstration removes what demonstrations made, and nothing that others put into its directory or changed."""

from __future__ import annotations

import json
import os

import pytest

from demo.inventory import MARK, Inventory
from tailrace.ground.errors import Refused

PLACES = ["queries/flights.yaml", "data/game2", "tables/flights"]


@pytest.fixture
def home(tmp_path):
    """A directory in which a demonstration has made a query, its data and its tables."""
    inventory = Inventory(tmp_path / "demo")
    inventory.begin(PLACES)
    for place in ("queries/flights.yaml", "data/game2/0.parquet", "data/game2/1.parquet", "tables/flights/log"):
        put(tmp_path / "demo" / place)
    inventory.complete(PLACES[:2])
    return tmp_path / "demo"


def put(path, text="made"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def files(home):
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()} - {MARK}


def test_what_was_made_is_removed(home):
    put(home / "tables" / "flights" / "part", "that a driver wrote later")
    inventory = Inventory(home)
    inventory.require_free(PLACES)
    assert set(inventory.clear()) == set(PLACES)
    assert files(home) == set()
    assert Inventory(home).clear() == []


def test_what_others_put_there_stays(home):
    own = {"queries/mine.yaml", "tables/mine/log", "data/mine/0.parquet", "notes.txt", "airflow/airflow.db"}
    for path in own:
        put(home / path, "mine")
    inventory = Inventory(home)
    inventory.require_free(PLACES)
    inventory.clear()
    assert files(home) == own


@pytest.mark.parametrize("changed", ["queries/flights.yaml", "data/game2/1.parquet", "data/game2/mine.parquet"])
def test_what_others_changed_or_added_is_refused_where_it_would_be_replaced(home, changed):
    put(home / changed, "edited")
    before = files(home)
    inventory = Inventory(home)
    with pytest.raises(Refused, match=f"{changed}: no demonstration made it as it is"):
        inventory.require_free(PLACES)
    assert files(home) == before
    inventory.clear()
    assert changed in files(home), "also where this demonstration does not need its place"
    assert "tables/flights/log" not in files(home)


def test_a_pipe_among_what_was_made_is_somebody_elses(home):
    os.mkfifo(home / "data" / "game2" / "pipe")
    with pytest.raises(Refused, match="data/game2/pipe"):
        Inventory(home).require_free(PLACES)


@pytest.mark.parametrize("place", ["tables/trades", "queries/trades.yaml"])
def test_a_place_that_others_have_taken_is_refused(home, place):
    put(home / place / "log" if place == "tables/trades" else home / place, "mine")
    with pytest.raises(Refused, match=f"{place}: no demonstration made it"):
        Inventory(home).require_free([*PLACES, place])
    Inventory(home).clear()
    assert (home / place).exists()


def test_a_link_that_others_have_put_in_a_place_is_refused(home, tmp_path):
    (home / "tables" / "trades").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="tables/trades"):
        Inventory(home).require_free(["tables/trades"])


def test_what_was_begun_and_not_completed_is_removed(home):
    inventory = Inventory(home)
    inventory.begin(["data/trades"])
    put(home / "data" / "trades" / "0.parquet")
    again = Inventory(home)
    again.require_free(["data/trades"])
    assert "data/trades" in again.clear()
    assert not (home / "data" / "trades").exists()


def test_a_directory_that_has_no_record_is_refused(tmp_path):
    put(tmp_path / "mine")
    with pytest.raises(Refused, match="it holds what no demonstration made"):
        Inventory(tmp_path)
    assert files(tmp_path) == {"mine"}


@pytest.mark.parametrize("place", ["../mine", "/tmp/mine", "tables/../../mine", "", "."])
def test_a_record_of_places_elsewhere_is_refused(tmp_path, place):
    put(tmp_path / "demo" / MARK, json.dumps({place: None}))
    put(tmp_path / "mine")
    with pytest.raises(Refused, match="it is no record"):
        Inventory(tmp_path / "demo")
    assert (tmp_path / "mine").exists()


@pytest.mark.parametrize("text", ["", "[", "[1]", json.dumps({"a": 1}), json.dumps({"a": {"a": 1}})])
def test_a_record_that_cannot_be_read_is_refused(tmp_path, text):
    put(tmp_path / MARK, text)
    with pytest.raises(Refused, match="it is no record"):
        Inventory(tmp_path)
