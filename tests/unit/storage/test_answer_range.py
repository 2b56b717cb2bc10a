"""`results` of a range of event time, or of a key: the same rows as of all answers, and no file of other ones."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kit.draws.answer_samples import JOIN, MAKERS, SETTINGS, windows
from kit.runs.json_stream import write_json
from kit.runs.local_driver import Driver, no_spark
from kit.runs.warehouse import EPOCH, even, make_query
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.errors import Refused
from tailrace.query.query import Query
from tailrace.storage.answer_range import ALL, AnswerRange
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables


@pytest.fixture(params=MAKERS)
def query(request, tmp_path) -> Query:
    """A query that has run in the directory `wh`, in many batches."""
    query = MAKERS[request.param](tmp_path)
    Driver(query, tmp_path / "wh").run(60, flush=True)
    if query.table is None:
        correct(query, tmp_path / "wh", CorrectionRange(), no_spark)
    return query


def rows(query: Query, home: Path, streamed: bool, part: AnswerRange = ALL) -> list[dict]:
    return read_answers(query, home / "wh", streamed, part)[0].to_pylist()


def is_in(row: dict, part: AnswerRange) -> bool:
    """By the definition: a window overlaps, a tuple of a pair lies in it."""
    if "window_end" in row:
        is_inside = row["window_start"] < part.end and row["window_end"] > part.start
    else:
        is_inside = any(at is not None and part.start <= at < part.end for at in (row["left_time"], row["right_time"]))
    return is_inside and part.key in (None, row.get("key"))


def parts(answers: Iterable[dict]) -> list[AnswerRange]:
    """Ranges and keys at random, open ones too, and one with nothing in it."""
    times = sorted(row.get("window_end", row.get("left_time")) for row in answers)
    draw = random.Random(1)
    drawn = [tuple(sorted(draw.sample(times, 2))) for _ in range(6)]
    found = [AnswerRange(low, high) for low, high in drawn if low < high]
    found += [AnswerRange(start=times[len(times) // 2]), AnswerRange(end=times[3] + 1), AnswerRange(0, 1), ALL]
    found += [AnswerRange(at, at + 1) for at in times[:2]]
    if "key" in next(iter(answers)):
        found += [replace(part, key=key) for part in found[:3] for key in ("k1", "nobody")] + [AnswerRange(key="k2")]
    return found


@pytest.mark.needs("long")
@pytest.mark.parametrize("streamed", [False, True])
def test_a_range_has_the_answers_in_it_with_their_newest_commit_and_coverage(query, tmp_path, streamed):
    whole = rows(query, tmp_path, streamed)
    tried = parts(whole)
    for part in tried:
        assert rows(query, tmp_path, streamed, part) == [row for row in whole if is_in(row, part)], part
    assert any(0 < sum(is_in(row, part) for row in whole) < len(whole) for part in tried)


@pytest.mark.needs("long")
def test_no_file_of_other_answers_is_opened(query, tmp_path):
    """The others are gone: reading one would fail. So it is for `results`, `corrections` and `late`."""
    whole = rows(query, tmp_path, streamed=False)
    times = sorted(row.get("window_end", row.get("left_time")) for row in whole)
    part = AnswerRange(times[-len(times) // 8])
    expected, tables = rows(query, tmp_path, streamed=False, part=part), Tables(layout_of(query, tmp_path))
    around_ms = 0 if "window_end" in whole[0] else 2 * JOIN.reach
    counts = {}
    for name in ("results", "corrections", "late") if "window_end" in whole[0] else ("results",):
        files = pa.table(tables.open(name).get_add_actions(flatten=True)).to_pylist()
        column = next(
            each for each in ("window_end", "pane_start", "left_time", "event_time") if f"max.{each}" in files[0]
        )
        ends = [in_ms(file[f"max.{column}"]) for file in files]
        far = part.start - around_ms - 2 * JOIN.reach if name != "late" else part.start - 2 * SETTINGS.size
        gone = [file for file, end in zip(files, ends, strict=True) if end < far]
        for file in gone:
            (tables.layout.table(name) / file["path"]).unlink()
        counts[name] = len(gone), len(files)
    assert counts["results"][0] >= 2, counts
    assert rows(query, tmp_path, streamed=False, part=part) == expected != []


def in_ms(time: datetime) -> int:
    return int(np.datetime64(time.astimezone(UTC).replace(tzinfo=None), "ms").astype(np.int64))


def layout_of(query: Query, home: Path):
    return Driver(query, home / "wh").layout


@pytest.mark.parametrize(
    ("part", "wrong"),
    [(AnswerRange(5, 5), "is not after"), (AnswerRange(EPOCH, EPOCH - 1), "is not after")],
)
def test_a_range_without_an_extent_is_refused(tmp_path, part, wrong):
    with pytest.raises(Refused, match=wrong):
        read_answers(make_query(tmp_path, SETTINGS), tmp_path, False, part)


def test_a_key_is_one_of_the_type_of_keys(tmp_path):
    query = windows(tmp_path)
    source = query.streams["readings"].source.path
    for low, high in pairwise(even(4, 2)):
        records = [
            {"event_time": EPOCH + n, "arrival_time": EPOCH + n, "id": f"t{n}", "key": n, "value": 1.0}
            for n in range(low, high)
        ]
        (tmp_path / "numbers").mkdir(exist_ok=True)
        write_json(records, tmp_path / "numbers", low)
    numbers = make_query(tmp_path / "numbers", SETTINGS, source="json")
    Driver(numbers, tmp_path / "wh").run(100, flush=True)
    found = read_answers(numbers, tmp_path / "wh", False, AnswerRange(key="3"))[0]
    assert set(found["key"].to_pylist()) == {3}
    with pytest.raises(Refused, match="--key three: it is no int64"):
        read_answers(numbers, tmp_path / "wh", False, AnswerRange(key="three"))
    unkeyed = make_query(source, SETTINGS, key=None)
    with pytest.raises(Refused, match="--key a: the query's answers have no key"):
        read_answers(unkeyed, tmp_path / "wh", False, AnswerRange(key="a"))
