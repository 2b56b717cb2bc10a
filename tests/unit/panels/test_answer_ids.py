"""The ids of answers: short, and of long keys, too."""

from __future__ import annotations

import base64
import json
import random

import pytest

from kit.draws.typed_keys import SUM, query_of, write
from kit.runs.json_stream import write_json
from kit.runs.local_driver import Driver
from kit.runs.query_views import view_of
from kit.runs.warehouse import EPOCH
from tailrace.ground.errors import Refused
from tailrace.panels.answer import AnswerRequest, read
from tailrace.panels.answer_ids import AnswerId
from tailrace.panels.answers import AnswersRequest
from tailrace.panels.answers import read as read_list
from tailrace.panels.cells import LONGEST
from tailrace.query.declared import declared_query

LONG = "ÿz" * 150
KEYS = ["a", "<b>\u2028", "x" * 2_000_000, "x" * 2_000_000 + "y", "", LONG]


@pytest.fixture(scope="module")
def view(tmp_path_factory):
    home = tmp_path_factory.mktemp("ids")
    (home / "in").mkdir()
    rows = [
        {"event_time": EPOCH, "arrival_time": EPOCH, "id": f"t{n}", "key": key, "value": n}
        for n, key in enumerate(KEYS)
    ]
    write_json(rows, home / "in", 0)
    stream = {name: name for name in ("event_time", "arrival_time", "id", "key")}
    stream |= {"source": {"format": "json", "path": str(home / "in")}}
    declared = {"name": "readings", "kind": "aggregate", "streams": {"readings": stream}, "window": {"size": "1 s"}}
    query = declared_query(declared | {"aggregate": {"function": "sum", "column": "value"}})
    Driver(query, home / "wh").run(flush=True)
    return view_of(query, home / "wh")


def test_an_id_fits_in_an_address_and_finds_its_answer_alone(view):
    shown = read_list(view, AnswersRequest())
    assert len({row.id for row in shown.rows}) == len(KEYS)
    assert all(len(row.id) < 200 and row.id.replace("-", "").replace("_", "").isalnum() for row in shown.rows)
    for row in shown.rows:
        one = read(view, AnswerRequest(id=row.id))
        assert [version.values for version in one.versions] == [row.latest]


def test_a_long_key_is_cut_in_cells_and_no_choice(view):
    shown = read_list(view, AnswersRequest())
    keys = {row.latest[3]: row.latest[0] for row in shown.rows}
    assert keys[2] == "x" * LONGEST + "… (2,000,000 characters in all)"
    assert keys[1] == KEYS[1]
    assert shown.keys == ["", "<b>\u2028", "a", LONG]
    assert len(shown.model_dump_json()) < 20_000


@pytest.mark.parametrize("key", ["<b>\u2028", LONG, "", "x" * 2_000_000])
def test_a_key_is_found_whatever_the_log_knows_of_long_texts(view, key):
    assert [row.latest[3] for row in read_list(view, AnswersRequest(key=key)).rows] == [KEYS.index(key)]


@pytest.mark.parametrize("value", ["\ud800", ["\ud800"]])
def test_an_id_with_half_a_character_is_refused(view, value):
    text = base64.urlsafe_b64encode(json.dumps([value, EPOCH, EPOCH + 1000]).encode()).decode().rstrip("=")
    with pytest.raises(Refused, match="it is the id of no answer"):
        read(view, AnswerRequest(id=text))


def test_an_id_with_times_beyond_the_calendar_or_other_types_is_refused(view):
    names = view.kind.answers.identity.columns
    for values in ((1, 0, 1 << 62), (["a", "b"], 0, 1), ("a", 0, "1"), ("a", 0, True), ("a", 0, None), ({}, 0, 1)):
        with pytest.raises(Refused, match="it is the id of no answer"):
            AnswerId.parse(str(AnswerId(dict(zip(names, values, strict=True)))), view.kind.answers)


@pytest.mark.parametrize("name", ["boolean", "date", "instant", "text"])
def test_an_id_finds_the_answer_of_a_key_of_any_type(tmp_path, name):
    write(name, tmp_path / "in", random.Random(1), 60)
    query = query_of(tmp_path / "in", ["k"], SUM)
    Driver(query, tmp_path / "wh").run(flush=True)
    view = view_of(query, tmp_path / "wh")
    shown = read_list(view, AnswersRequest())
    assert len({row.id for row in shown.rows}) == len(shown.rows) > 2
    for row in shown.rows:
        assert [version.values for version in read(view, AnswerRequest(id=row.id)).versions] == [row.latest]
    for key in shown.keys:
        assert read_list(view, AnswersRequest(key=key)).rows
