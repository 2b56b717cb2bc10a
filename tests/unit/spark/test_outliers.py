"""Outliers at both ends of what is accepted: everything costs what is there, and not the time that lies between."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from effort import Effort, measured
from expect import assert_close
from harness import raw_table
from oracle import Settings, Tuple, batch, distinct
from played import Played
from rankings import contents, listed, ranked
from streams import DAY, EARLIEST
from tailrace.aggregate.functions import FUNCTIONS
from tailrace.aggregate.kind import Aggregate
from tailrace.calibration.calibrate import calibrate
from tailrace.calibration.measure import EventTimeCourse
from tailrace.calibration.recent_windows import NotReady
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.quality import read_quality
from tailrace.correction.requests import GapRule, request_correction
from tailrace.kinds import Kind
from tailrace.query.sections import Disorder
from tailrace.spark import correct as module
from tailrace.spark.correct import correct
from tailrace.storage.results import read_answers
from tailrace.storage.table_schemas import CORRECTION_TABLES, STREAM_TABLES
from tailrace.topk.kind import TopK
from tailrace.windows.sliding import Sliding
from warehouse import EPOCH, make_query, make_stream

SETTINGS = Settings(500, 100, 100, "sum", "none")
NEAR, FAR = {"old": EPOCH - 100_000, "ahead": 60_000}, {"old": EARLIEST, "ahead": DAY}
"""How old outliers are, and how far ahead of their arrival: near ones, and the farthest that are accepted."""


@pytest.fixture(autouse=True)
def no_spark(monkeypatch):
    def session(*_: object) -> None:
        raise AssertionError("so little needs no Spark")

    monkeypatch.setattr(module, "session", session)


def with_outliers(n: int, old: int, ahead: int, early: bool = True) -> list[Tuple]:
    """A stream with an old tuple, and a last one that is ahead; `early`: with others too, so that most are late."""
    tuples = make_stream(n, seed=4, duplicates=5)
    for place, event in {n // 12: old, n // 2 + 30: old + 50_000, n - 2: old + 250}.items():
        if early or place == n // 12:
            tuples[place] = tuples[place]._replace(event_time=event)
    for place in (n // 3, n * 2 // 3, n - 1):
        if early or place == n - 1:
            tuples[place] = tuples[place]._replace(event_time=tuples[place].arrival_time + ahead)
    return tuples


def played(directory: Path, tuples: list[Tuple], policy: dict[str, object], **kind: object) -> Played:
    """The stream of a source that keeps nothing itself, so that there is a history."""
    (directory / "in").mkdir(parents=True)
    for start in range(0, len(tuples), 60):
        lines = (json.dumps(one._asdict()) for one in tuples[start : start + 60])
        (directory / "in" / f"{start:05}.jsonl").write_text("\n".join(lines))
    query = make_query(directory / "in", SETTINGS, source="json", **kind)
    query = query.model_copy(update={"disorder": Disorder.model_validate(policy | {"tick": "100 ms"})})
    return Played(query, directory / "wh")


def assert_same_effort(work: Callable[[Path, list[Tuple]], dict[str, Callable[[], object]]], tmp_path: Path, **how):
    """Each step of the work takes about as many calls, and as much memory, with far outliers as with near ones."""
    near = {}
    for name, step in work(tmp_path / "near", with_outliers(**how, **NEAR)).items():
        with measured() as near[name], suppress(NotReady):
            step()
    for name, step in work(tmp_path / "far", with_outliers(**how, **FAR)).items():
        most = Effort(2 * near[name].calls + 1_000, 2 * near[name].peak + 32_000_000)
        with measured(most, name), suppress(NotReady):
            step()


@pytest.mark.parametrize("function", ["sum", "topk"])
def test_corrections_and_readers(tmp_path, function):
    topk = {"k": 3, "score": "value"} if function == "topk" else None

    def work(directory: Path, tuples: list[Tuple]) -> dict[str, Callable[[], object]]:
        there = played(directory, tuples, {"policy": "none"}, topk=topk)
        query, warehouse = there.query, directory / "wh"
        return {
            "stream": lambda: there.go(batch_rows=60, flush=True),
            "ask": lambda: request_correction(there.layout, GapRule(5_000, 100, 100), there.now),
            "interval": lambda: correct(query, warehouse, CorrectionRange(EPOCH, EPOCH + 2_500, arrival=True)),
            "next": lambda: correct(query, warehouse, CorrectionRange(EPOCH + 2_500, EPOCH + 5_000, arrival=True)),
            "compaction": lambda: there.tables.compact((*STREAM_TABLES, *CORRECTION_TABLES)),
            "all": lambda: correct(query, warehouse),
            "results": lambda: read_answers(query, warehouse, streamed=False),
            "streamed": lambda: read_answers(query, warehouse, streamed=True),
            "quality": lambda: read_quality(query, warehouse),
        }

    assert_same_effort(work, tmp_path, n=240)
    tuples = with_outliers(240, **FAR)
    query = make_query(tmp_path / "far" / "in", SETTINGS, source="json", topk=topk)
    answers, _ = read_answers(query, tmp_path / "far" / "wh", streamed=False)
    truth = batch(tuples, SETTINGS)
    if topk:
        assert listed(answers.to_pylist()) == ranked(contents(distinct(tuples, 100), SETTINGS), 3)
    else:
        found = {(row["key"], row["window_start"], row["window_end"]): row for row in answers.to_pylist()}
        assert found.keys() == truth.keys()
        for window, true in truth.items():
            assert found[window]["tuples"] == true.tuples
            assert_close(found[window]["value"], true.value, true.sum_abs)
    measured, _ = read_quality(query, tmp_path / "far" / "wh")
    of = {-(-end // 10_000) * 10_000 for _, _, end in truth}
    assert measured["bucket_end"].to_pylist() == sorted(of), "a row for each bucket with windows, and no other"


@pytest.mark.parametrize(
    "policy",
    [
        *({"policy": "k_slack", "k": "300 ms"}, {"policy": "mp_k_slack"}),
        *({"policy": name, "error": 0.05, "risk": 0.05} for name in ("aq_k_slack", "hybrid", "quantile")),
    ],
    ids=lambda policy: policy["policy"],
)
def test_policies(tmp_path, policy):
    def work(directory: Path, tuples: list[Tuple]) -> dict[str, Callable[[], object]]:
        there = played(directory, tuples, policy)
        return {"stream": lambda: there.go(batch_rows=60, flush=True)}

    assert_same_effort(work, tmp_path, n=240)


@pytest.mark.parametrize("early", [False, True])
def test_calibrations(tmp_path, early):
    """With early outliers most delays are long, and no window is old enough."""
    policy = {"policy": "cache_duration", "initial": "300 ms", "queries": 5, "durations": 4}

    def work(directory: Path, tuples: list[Tuple]) -> dict[str, Callable[[], object]]:
        there = played(directory, tuples, policy)
        there.go()
        return {"calibration": lambda: calibrate(there.query, directory / "wh")}

    assert_same_effort(work, tmp_path, n=360, early=early)


WINDOWS = Sliding(SETTINGS.size, SETTINGS.slide)


@pytest.mark.parametrize("kind", ["sum", "max", "median", "adaptive", "sma", "mintopk", "gstopk"])
def test_kinds(tmp_path, kind):
    """Where there are so many tuples that kinds take their short cuts; methods of lists have none."""

    def work(directory: Path, tuples: list[Tuple]) -> dict[str, Callable[[], object]]:
        rows = raw_table(tuples).rename_columns({"value": column})
        content = (
            rows.append_column("tick", pc.divide(rows.column("arrival_time"), 100)).combine_chunks().to_batches()[0]
        )
        ticks = EventTimeCourse.of(np.asarray(content.column("tick")), np.asarray(content.column("event_time")))
        partials = pa.Table.from_batches([made.combine(content)])
        return {
            "combine": lambda: made.combine(content),
            "evaluate": lambda: made.evaluate(content),
            "step": lambda: made.step(made.start(), partials, ticks.under(300)),
        }

    column = "value" if kind in FUNCTIONS else "score"
    made: Kind = Aggregate(WINDOWS, kind, {"value": "value"}, pa.string())
    if kind not in FUNCTIONS:
        made = TopK(WINDOWS, 3, True, {"score": "value"}, pa.string(), pa.string(), kind)
    assert_same_effort(work, tmp_path, n=600 if kind in ("sma", "mintopk", "gstopk") else 6_000)
