"""Answers that readers write: their stamps, their record for the table's log, and blocks of tuples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.engine import answer_files
from tailrace.engine.answer_files import AnswerFiles
from tailrace.ground.arrow.times import TIME
from tailrace.ground.facts import Fact
from tailrace.ground.files.written_files import FILES
from tailrace.kind.protocol import TableAnswers
from tailrace.tables.every import in_ms

SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "left_time": TIME,
        "k_ms": pa.int64(),
        "as_of": TIME,
        "emitted_at": TIME,
        "facts_version": pa.int64(),
    }
)
VERSION = Fact("table", 3, 0, {"file": "v.csv"}, "")


class Repeats:
    """Answers a tuple as often as its event time says, in ms modulo 10."""

    def __init__(self) -> None:
        self.blocks, self.versions = [], set()

    def answers_of(self, tuples, version):
        self.blocks.append(tuples.num_rows)
        self.versions.add(version)
        event = np.asarray(tuples.column("event_time"))
        row = np.repeat(np.arange(len(event)), event % 10)
        columns = [tuples.column("id").take(pa.array(row)), pa.array(event[row])]
        answers = pa.RecordBatch.from_arrays(columns, names=["id", "left_time"])
        return TableAnswers(answers, row, {"blocks": 1})


def tuples_of(times: list[int], arrivals: list[int]) -> pa.RecordBatch:
    ids = [f"t{number}" for number in range(len(times))]
    columns = [pa.array(times, pa.int64()), pa.array(arrivals, pa.int64()), pa.array(ids, pa.string())]
    return pa.RecordBatch.from_arrays(columns, names=["event_time", "arrival_time", "id"])


@pytest.fixture
def files(tmp_path) -> AnswerFiles:
    (tmp_path / "results").mkdir()
    return AnswerFiles(tmp_path / "results", SCHEMA, Path("versions"))


def test_answers_are_stamped_by_their_own_tuples(files, monkeypatch):
    monkeypatch.setattr(answer_files, "FIRST_BLOCK", 2)
    kind = Repeats()
    written = files.write(kind, tuples_of([2, 10, 23, 1], [250, 110, 99, 100]), VERSION, 7, 100)
    assert (kind.blocks, kind.versions) == ([2, 2], {Path("versions/v.csv")})
    assert written.files.schema == FILES
    (record,) = written.files.to_pylist()
    path = files.directory / record["path"]
    assert record["rows"] == 6
    assert record["size"] == path.stat().st_size
    table = pq.read_table(path)
    assert table.schema == SCHEMA
    rows = in_ms(table, "results").to_pylist()
    assert [(row["id"], row["left_time"], row["as_of"]) for row in rows] == [
        *[("t0", 2, 300)] * 2,
        *[("t2", 23, 100)] * 3,
        ("t3", 1, 200),
    ]
    assert {(row["k_ms"], row["facts_version"]) for row in rows} == {(0, 3)}
    assert written.measured == {"answers": 6, "waited_ms": 2 * 298 + 3 * 77 + 199, "counts": {"blocks": 2}}


def test_without_answers_there_is_no_file(files):
    written = files.write(Repeats(), tuples_of([10, 20], [5, 6]), VERSION, 0, 100)
    assert written.files.num_rows == 0
    assert written.measured == {"answers": 0, "waited_ms": 0, "counts": {"blocks": 1}}
    assert not list(files.directory.iterdir())


def test_a_repeat_writes_a_file_of_its_own(files):
    names = {
        files.write(Repeats(), tuples_of([1], [5]), VERSION, 0, 0).files.column("path")[0].as_py() for _ in range(2)
    }
    assert len(names) == 2
    assert in_ms(pq.read_table(files.directory / min(names)), "results")["as_of"].to_pylist() == [6]


def test_blocks_grow_to_where_their_answers_are_enough(files, monkeypatch):
    for name, value in {"FIRST_BLOCK": 1, "GROWTH": 4, "MOST_TUPLES": 8, "MOST_ANSWERS": 6}.items():
        monkeypatch.setattr(answer_files, name, value)
    few, many = Repeats(), Repeats()
    files.write(few, tuples_of([10] * 30, [5] * 30), VERSION, 0, 100)
    assert few.blocks == [1, 4, 8, 8, 8, 1]
    files.write(many, tuples_of([13] * 10, [5] * 10), VERSION, 0, 100)
    assert many.blocks == [1, 2, 2, 2, 2, 1]


def test_a_writer_that_fails_leaves_no_file(files, monkeypatch):
    monkeypatch.setattr(answer_files, "FIRST_BLOCK", 1)

    class Failing(Repeats):
        def answers_of(self, tuples, version):
            if self.blocks:
                raise OSError(28, "No space left on device")
            return super().answers_of(tuples, version)

    with pytest.raises(OSError, match="No space"):
        files.write(Failing(), tuples_of([1, 1], [5, 5]), VERSION, 0, 100)
    assert not list(files.directory.iterdir())
