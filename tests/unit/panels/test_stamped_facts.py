"""Facts with their arrival times, read from tables of which a test writes each row."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from kit.runs.late_tables import SCHEMA
from tailrace.ground.arrow.times import with_times
from tailrace.panels.stamped_facts import newest_facts, plans_from
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables

BEGINNING = -(1 << 60)


class Written:
    """Tables to which rows are added."""

    def __init__(self, directory) -> None:
        self.tables = Tables(Layout(directory / "query"))
        self.tables.create({name: SCHEMA[name] for name in ("facts", "segments", "metrics")})

    def settings(self, version: int, tick: int, evidence: str) -> None:
        self._add(
            "facts",
            {"about": "settings", "version": version, "from_tick": tick, "value": "{}"} | {"evidence": evidence},
        )

    def plan(self, version: int, segment: int, value: object = ()) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        row = {"about": "plan", "version": version, "from_segment": segment, "value": text, "evidence": ""}
        self._add("facts", row)

    def segment(self, ordinal: int, before_end: int) -> None:
        self._add("segments", {"ordinal": ordinal, "before_end": before_end})

    def commit(self, until: int) -> None:
        self._add("metrics", {"batch": 0, "committed": until})

    def _add(self, name: str, row: dict) -> None:
        whole = dict.fromkeys(SCHEMA[name].names) | row
        self.tables.add(name, with_times(pa.Table.from_pylist([whole]), SCHEMA[name]))


@pytest.fixture
def written(tmp_path) -> Written:
    return Written(tmp_path)


def test_what_closed_windows_in_silence_stands_between_the_settings_before_and_after(written):
    written.settings(1, 0, "declared")
    written.settings(2, 90, "calibrated")
    written.settings(1, 50, "quiet")
    written.settings(1, 70, "quiet again")
    facts, total = newest_facts(written.tables, "settings", 100, 10)
    assert [fact.evidence for fact in facts] == ["declared", "quiet", "quiet again", "calibrated"]
    assert [fact.at for fact in facts] == [None, 5000, 7000, 9000]
    facts, total = newest_facts(written.tables, "settings", 100, 2)
    assert ([fact.evidence for fact in facts], total) == (["quiet again", "calibrated"], 4)


def test_with_ticks_of_single_tuples_no_time_is_known(written):
    written.settings(1, 70, "declared")
    assert [fact.at for fact in newest_facts(written.tables, "settings", 0, 10)[0]] == [None]


def test_a_plan_holds_from_the_arrival_of_its_first_segment(written):
    written.segment(0, BEGINNING)
    written.segment(4, 900)
    for version, segment in enumerate((0, 4, 5), 1):
        written.plan(version, segment, {"bounds": [1, 2**60]})
    written.commit(1200)
    facts, _ = newest_facts(written.tables, "plan", 100, 10)
    assert [fact.at for fact in facts] == [None, 900, 1200], "the segment of the last one has not come yet"
    assert facts[0].value == {"bounds": [1, str(2**60)]}


def test_a_value_that_is_no_json_is_shown_as_it_is(written):
    written.plan(1, 0, "{half")
    assert newest_facts(written.tables, "plan", 100, 10)[0][0].value == "{half"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1000, [1, 2, 3]),  # the first one holds from the beginning
        (100, 300, [1, 2, 3]),
        (101, 299, [1, 2]),
        (100, 250, [1, 2]),
        (210, 280, [2]),
        (400, 500, [3]),
        (-100, -50, []),
    ],
)
def test_plans_of_a_range_begin_with_the_one_in_force(written, low, high, expected):
    for ordinal, before_end in enumerate((BEGINNING, 100, 200, 290, 300)):
        written.segment(ordinal, before_end)
    for version, segment in ((1, 1), (2, 2), (3, 4)):
        written.plan(version, segment)
    plans, _ = plans_from(written.tables, low, high, 10)
    assert [plan.version for plan in plans] == expected


def test_without_tables_there_are_no_facts(tmp_path):
    tables = Tables(Layout(tmp_path / "query"))
    assert newest_facts(tables, "plan", 100, 10) == ([], 0)
    assert plans_from(tables, 0, 1000, 10) == ([], 0)
