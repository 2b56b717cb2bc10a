"""A whole query of each kind on Spark: as streamed, and as corrected, its answers are the oracle's."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import accumulate, pairwise
from pathlib import Path

import pytest

from kit.oracles.oracle import Settings, batch, distinct, stream
from kit.oracles.oracle_assertions import assert_close, assert_streamed
from kit.oracles.pair_oracle import Item, Join, Pair, Read, batch_pairs, joined
from kit.oracles.rankings import contents, ranked, rankings_of, streamed
from kit.parts.spark_session import _spark, spark  # noqa: F401  (fixtures)
from kit.runs.kind_streams import SIDES, Row, query_of
from kit.runs.kind_streams import write_files as write_rows
from kit.runs.warehouse import EPOCH, even, make_query, make_stream, rows_of, write_files
from tailrace.correction import history_scan
from tailrace.query.query import Query
from tailrace.spark.app import run
from tailrace.spark.distributed_correction import correct
from tailrace.storage.results import read_answers
from tailrace.stream.run_options import RunOptions

pytestmark = [
    pytest.mark.gate,
    pytest.mark.needs("spark"),
    pytest.mark.xdist_group("spark gate"),
    pytest.mark.usefixtures("spark"),
]

TUPLES = make_stream(400, seed=7, duplicates=20)
"""In order of arrival, some far too late, some with the id of one before."""
SETTINGS = Settings(700, 300, 100, "sum", ("k_slack", 200))
BATCH = RunOptions(200)


@pytest.fixture(autouse=True)
def corrected_on_spark(monkeypatch):
    """However little is to be read."""
    monkeypatch.setattr(history_scan, "AT_ONCE", 0)


def declared(directory: Path, **more: object) -> Query:
    """Write the tuples as files, and return a query over them."""
    write_files(TUPLES, directory / "in", even(len(TUPLES), 5))
    return make_query(directory / "in", SETTINGS, **more)


def corrected_answers(query: Query, warehouse: Path) -> list[dict]:
    correct(query, warehouse)
    return read_answers(query, warehouse, streamed=False)[0].to_pylist()


def test_aggregate(tmp_path):
    query, outcome, truth = declared(tmp_path), stream(TUPLES, SETTINGS), batch(TUPLES, SETTINGS)
    run(query, tmp_path / "wh", BATCH)
    assert outcome.late_tuples, "nothing is late, so nothing is corrected"
    assert_streamed(rows_of(tmp_path / "wh"), outcome)
    answers = corrected_answers(query, tmp_path / "wh")
    found = {(row["key"], row["window_start"], row["window_end"]): row for row in answers}
    assert len(found) == len(answers), "a window was answered twice"
    assert found.keys() == truth.keys()
    for window, true in truth.items():
        assert found[window]["tuples"] == true.tuples
        assert_close(found[window]["value"], true.value, true.sum_abs)


def test_topk(tmp_path):
    query = declared(tmp_path, topk={"k": 3, "score": "value"})
    run(query, tmp_path / "wh", BATCH)
    early = streamed(stream(TUPLES, SETTINGS), TUPLES, SETTINGS, 3)
    true = ranked(contents(distinct(TUPLES, SETTINGS.tick), SETTINGS), 3)
    assert early != true, "nothing is late, so nothing is corrected"
    assert rankings_of(rows_of(tmp_path / "wh")["results"]) == early
    assert rankings_of(corrected_answers(query, tmp_path / "wh")) == true


MASS = 12
"""Of each histogram."""


def draw_rows(side: str, draw: random.Random) -> list[Row]:
    """Tuples of a stream in order of arrival, some of them far too late, with histograms and places."""
    rows = []
    for number in range(300):
        event = EPOCH + 40 * number
        delay = draw.randrange(350) + (draw.randrange(3000) if draw.random() < 0.1 else 0)
        cuts = [0, *sorted(draw.randrange(MASS + 1) for _ in range(3)), MASS]
        row = Row.draw(event, event + delay, f"{side[0]}{number}", draw)
        rows.append(row._replace(hist=[float(end - start) for start, end in pairwise(cuts)]))
    return sorted(rows, key=lambda row: row.arrival_time)


def are_similar(left: Row, right: Row) -> bool:
    """Whether the Earth Mover's Distance of shares on a line is at most 0.5, in whole numbers."""
    moved = sum(abs(a - b) for a, b in zip(accumulate(left.hist), accumulate(right.hist), strict=True))
    return 2 * moved <= MASS


def are_near(left: Row, right: Row) -> bool:
    """Whether places lie at most 3 apart, in whole numbers."""
    return (left.x - right.x) ** 2 + (left.y - right.y) ** 2 <= 9


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        pytest.param("emd_join", are_similar, id="emd_join"),
        pytest.param("spatial interval", are_near, id="spatial_join"),
    ],
)
def test_joins(tmp_path, name: str, fits: Callable[[Row, Row], bool]):
    draw = random.Random(17)
    sides = {side: draw_rows(side, draw) for side in SIDES}
    for side, rows in sides.items():
        write_rows(rows, tmp_path / side, 70)
    query, by_id = query_of(name, tmp_path), {row.id: row for rows in sides.values() for row in rows}
    join = Join(reach=200, tick=100, k=200, alike=lambda left, right: fits(by_id[left], by_id[right]))
    log = [
        Read(number, Item(row.event_time, row.arrival_time, row.id, row.id))
        for number, rows in enumerate(sides.values())
        for row in rows
    ]
    outcome, true = joined(log, join), batch_pairs(log, join)
    assert set(outcome.pairs) < true, "nothing is missed, so nothing is corrected"

    run(query, tmp_path / "wh", BATCH)
    tables = rows_of(tmp_path / "wh")
    found = {
        (row["left_id"], row["right_id"]): Pair(*(row[part] for part in Pair._fields)) for row in tables["results"]
    }
    assert len(found) == len(tables["results"]), "a pair was answered twice"
    assert found == outcome.pairs
    assert {(SIDES.index(row["stream"]), row["id"]): row["frontier"] for row in tables["late"]} == outcome.late

    pairs = [(row["left_id"], row["right_id"]) for row in corrected_answers(query, tmp_path / "wh")]
    assert sorted(pairs) == sorted(true)
