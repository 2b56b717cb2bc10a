"""Joins of two streams are rebuilt for other numbers of tasks, while their partition plans change: no pair is wrong."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kit.draws.join_queries import CONTENT, JOIN, query_over
from kit.oracles.pair_oracle import Item, Join, Log, Read, Silence, Wake, batch_pairs, joined
from kit.runs.json_stream import write_json
from kit.runs.local_driver import Driver, no_spark
from kit.runs.pair_runs import SIDES, assert_as_the_oracle
from kit.runs.warehouse import EPOCH, tables_of
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.kinds import build
from tailrace.spatial_join.streams.joined_streams import JoinedStreams
from tailrace.storage.journal import Journal
from tailrace.storage.results import AnswerTables

WIDER = Join(reach=800, tick=100, k=100, alike=JOIN.alike)


class Life:
    """One query; `came` has all tuples of each side, and each file goes once it is read."""

    def __init__(self, home: Path, kind: str) -> None:
        self.home, self.kind, self.files, self.draw = home, kind, 0, random.Random(7)
        self.driver = Driver(query_over(home, kind, 2), home / "wh")
        self.came: tuple[list[Item], list[Item]] = ([], [])
        self.arrival = [EPOCH, EPOCH]

    def read(self, files: int, flush: bool = False) -> None:
        for _ in range(files):
            for side in (0, 1):
                items = [self.item(side) for _ in range(8)]
                self.came[side].extend(items)
                content = CONTENT[self.kind]
                records = [item._asdict() | {"value": content[item.value]} for item in items]
                write_json(records, self.home / SIDES[side], self.files)
            self.files += 1
        self.driver.run(20, flush)
        for side in SIDES:
            for file in (self.home / side).iterdir():
                file.unlink()

    def item(self, side: int) -> Item:
        self.arrival[side] += self.draw.randrange(60)
        delay = self.draw.choice([0, 0, 40, 40, 400, 2000])
        number = len(self.came[side]) + self.draw.randrange(10**6) * 1000
        return Item(self.arrival[side] - delay, self.arrival[side], f"{SIDES[side]}{number}", self.draw.choice("aabc"))

    def log(self) -> Log:
        journal, read, log, number = Journal(self.driver.layout.journal), [0, 0], [], 0
        while number in journal:
            entry = journal[number]
            log.append(Wake(tuple({SIDES.index(segment.stream) for segment in entry.segments})))
            for segment in entry.segments:
                side = SIDES.index(segment.stream)
                log += [Read(side, item) for item in self.came[side][read[side] : read[side] + segment.rows]]
                read[side] += segment.rows
            header = entry.header
            log.append(Silence((), tuple(SIDES.index(name) for name in header.idle), header.closes))
            number += 1
        assert read == [len(items) for items in self.came], "lost, or read twice"
        return log

    def check(self, join: Join) -> None:
        tables = tables_of(self.home / "wh")
        rows = {name: tables.read(name).to_pylist() for name in ("results", "late", "metrics", "history_left")}
        rows["metrics"].sort(key=lambda row: row["batch"])
        assert_as_the_oracle(rows, joined(self.log(), join), sum(map(len, self.came)))
        assert len(rows["history_left"]) == len(self.came[0])

    def check_corrected(self, join: Join) -> None:
        correct(self.driver.query, self.home / "wh", CorrectionRange(), no_spark)
        answers = AnswerTables(tables_of(self.home / "wh"), build(self.driver.query).answers).latest().to_pylist()
        found = sorted((row["left_id"], row["right_id"]) for row in answers)
        assert found == sorted(batch_pairs(self.log(), join))


@pytest.mark.needs("long")
@pytest.mark.parametrize("widens", [False, True])
@pytest.mark.parametrize("kind", list(CONTENT))
def test_pairs_are_those_of_the_oracle_for_any_number_of_tasks_in_turn(tmp_path, monkeypatch, kind, widens):
    monkeypatch.setattr(Driver, "compact_every", 5)
    monkeypatch.setattr(JoinedStreams, "feedback_ms", 1)
    life, join = Life(tmp_path, kind), JOIN
    life.read(3)
    correct(life.driver.query, tmp_path / "wh", CorrectionRange(), no_spark)
    for tasks in (3, 1, 2):
        life.driver.rebuild(query_over(tmp_path, kind, tasks))
        life.read(2)
    assert Journal(life.driver.layout.journal).last().header.plans(), "no partition plan was made"
    if widens:
        join = WIDER
        life.driver.rebuild(query_over(tmp_path, kind, 3, WIDER))
    life.read(1, flush=True)
    life.check(join)
    life.check_corrected(join)
