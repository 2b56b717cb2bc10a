"""Repeats of ids, late and on time: corrections of all intervals of arrival give the batch over first occurrences.

Of each kind that is corrected a stream with repeats is read by several drivers, and corrected by intervals in any
order, one of them twice. What readers see then is what they see of the same stream without repeats, all corrected.
"""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from kit.runs.kind_streams import KINDS, TABLE_JOIN, Row, query_of, sides_of, write_files
from kit.runs.local_driver import Driver, no_spark
from kit.runs.warehouse import EPOCH, tables_of
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.storage.results import AnswerTables

TICK, ROWS = 100, 70
CORRECTED = [name for name in KINDS if name != TABLE_JOIN]


def disordered(draw: random.Random, side: str) -> list[Row]:
    """Tuples in order of arrival, a third of them repeats; most of these of other content, many of the last tuples."""
    rows: list[Row] = []
    arrival = EPOCH
    for number in range(ROWS):
        arrival += draw.randrange(60)
        event = arrival - draw.choice([0, 0, 50, 150, 1500])
        row = Row.draw(event, arrival, f"{side[0]}{number}", draw)
        if rows and draw.random() < 0.35:
            first = draw.choice(rows[-3:] if draw.random() < 0.5 else rows)
            row = first._replace(arrival_time=arrival) if draw.random() < 0.3 else row._replace(id=first.id)
            if draw.random() < 0.3:
                row = row._replace(event_time=first.event_time)
        rows.append(row)
    return rows


def first_occurrences(rows: list[Row]) -> list[Row]:
    """The rows whose id did not come before: by tick, within one by arrival time, then as they stand."""
    return [row for number, row in enumerate(rows) if row.id not in {one.id for one in rows[:number]}]


def plain(query: Query) -> Query:
    """The query without deduplication in the stream."""
    return query.model_copy(update={"disorder": query.disorder.model_copy(update={"deduplicate": False})})


def answers(query: Query, warehouse: Path) -> list[tuple]:
    """What readers see, but for when it was answered."""
    model, kind = build(query).answers, build(query)
    rows = AnswerTables(tables_of(warehouse), model).latest().to_pylist()
    return sorted((tuple(_rounded(row[name]) for name in kind.answer.names) for row in rows), key=repr)  # nulls, too


def _rounded(value: object) -> object:
    return round(value, 9) if isinstance(value, float) else value


@pytest.mark.needs("long")
@pytest.mark.parametrize("name", CORRECTED)
def test_corrections_of_all_intervals_in_any_order_give_the_batch_over_first_occurrences(tmp_path, name):
    draw = random.Random(name)
    streams = {side: disordered(draw, side) for side in sides_of(name)}
    for side, rows in streams.items():
        write_files(first_occurrences(rows), tmp_path / "clean" / side, 10)
    clean = plain(query_of(name, tmp_path / "clean"))
    Driver(clean, tmp_path / "truth").run(40, flush=True)
    correct(clean, tmp_path / "truth", CorrectionRange(), no_spark)

    query = plain(query_of(name, tmp_path / "in"))
    for part in range(0, ROWS, 30):  # each part is read by a driver of its own
        for side, rows in streams.items():
            write_files(rows[part : part + 30], tmp_path / "in" / side, draw.choice([5, 10]))
        Driver(query, tmp_path / "wh").run(draw.choice([10, 25]), flush=part + 30 >= ROWS)
    truth = answers(clean, tmp_path / "truth")
    assert truth
    assert answers(query, tmp_path / "wh") != truth, "the stream counts repeats"
    end = (max(row.arrival_time for rows in streams.values() for row in rows) // TICK + 1) * TICK
    inner = sorted(draw.sample(range(EPOCH + TICK, end, TICK), 3))
    intervals = list(itertools.pairwise([EPOCH, *inner, end]))
    order = [*intervals, draw.choice(intervals)]
    draw.shuffle(order)
    for interval in order:
        correct(query, tmp_path / "wh", CorrectionRange(*interval, arrival=True), no_spark)
    assert answers(query, tmp_path / "wh") == truth
    correct(query, tmp_path / "wh", CorrectionRange(), no_spark)
    assert answers(query, tmp_path / "wh") == truth
