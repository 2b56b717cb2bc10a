"""Outliers at both ends of the accepted times: cost depends on the tuples, not on the time span between them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kit.draws.aggregates import NUMBERS, kind_of
from kit.draws.streams import DAY, EARLIEST
from kit.oracles.oracle import Settings, Tuple, batch, distinct
from kit.oracles.oracle_assertions import assert_close
from kit.oracles.rankings import contents, ranked, rankings_of, uses_of
from kit.runs.harness import raw_table
from kit.runs.local_driver import Driver
from kit.runs.warehouse import EPOCH, make_query, make_stream
from tailrace.calibration.calibrate import calibrate
from tailrace.calibration.measure import EventTimeCourse
from tailrace.calibration.recent_windows import NotReady
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.quality import read_quality
from tailrace.correction.requests import GapRule, request_correction
from tailrace.kind.protocol import Kind
from tailrace.query.disorder_section import Disorder
from tailrace.spark import distributed_correction as module
from tailrace.spark.distributed_correction import correct
from tailrace.storage.results import read_answers
from tailrace.tables.correction import CORRECTION_TABLES
from tailrace.tables.stream import STREAM_TABLES
from tailrace.topk.kind import TopK
from tailrace.windows.sliding import Sliding
from unit.spark.effort import Effort, measured

pytestmark = [pytest.mark.slow, pytest.mark.needs("quiet")]

SETTINGS = Settings(500, 100, 100, "sum", "none")
BOUNDS = {"ahead": "1 d", "skew": "1 d"}
NEAR, FAR = {"old": EPOCH - 100_000, "ahead": 60_000}, {"old": EARLIEST, "ahead": DAY}
"""Event time of the old outliers, and how far (ms) others are ahead of arrival: near, and the farthest accepted."""


@pytest.fixture(autouse=True)
def no_spark(monkeypatch):
    def session(*_: object) -> None:
        raise AssertionError("so little needs no Spark")

    monkeypatch.setattr(module, "session", session)


def with_outliers(n: int, old: int, ahead: int, early: bool = True) -> list[Tuple]:
    """A stream with an old tuple, and a last one ahead; `early` adds more outliers, so that most tuples are late."""
    tuples = make_stream(n, seed=4, duplicates=5)
    for index, event in {n // 12: old, n // 2 + 30: old + 50_000, n - 2: old + 250}.items():
        if early or index == n // 12:
            tuples[index] = tuples[index]._replace(event_time=event)
    for index in (n // 3, n * 2 // 3, n - 1):
        if early or index == n - 1:
            tuples[index] = tuples[index]._replace(event_time=tuples[index].arrival_time + ahead)
    return tuples


def make_played(directory: Path, tuples: list[Tuple], policy: dict[str, object], **kind: object) -> Driver:
    """A stream over JSON files without an own log of arrivals, so that it writes a history."""
    (directory / "in").mkdir(parents=True)
    for start in range(0, len(tuples), 60):
        lines = (json.dumps(item._asdict()) for item in tuples[start : start + 60])
        (directory / "in" / f"{start:05}.jsonl").write_text("\n".join(lines))
    query = make_query(directory / "in", SETTINGS, source="json", bounds=BOUNDS, **kind)
    query = query.model_copy(update={"disorder": Disorder.model_validate(policy | {"tick": "100 ms"})})
    return Driver(query, directory / "wh")


def assert_same_effort(work: Callable[[Path, list[Tuple]], dict[str, Callable[[], object]]], tmp_path: Path, **options):
    """Assert that each step takes about the same number of calls and memory with far outliers as with near ones."""
    near = {}
    for name, step in work(tmp_path / "near", with_outliers(**options, **NEAR)).items():
        with measured() as near[name], suppress(NotReady):
            step()
    for name, step in work(tmp_path / "far", with_outliers(**options, **FAR)).items():
        limit = Effort(2 * near[name].calls + 1_000, 2 * near[name].peak + 32_000_000)
        with measured(limit, name), suppress(NotReady):
            step()


@pytest.mark.parametrize("function", ["sum", "topk"])
def test_the_cost_of_corrections_and_readers_does_not_depend_on_outliers(tmp_path, function):
    topk = {"k": 3, "score": "value"} if function == "topk" else None

    def work(directory: Path, tuples: list[Tuple]) -> dict[str, Callable[[], object]]:
        warehouse_run = make_played(directory, tuples, {"policy": "none"}, topk=topk)
        query, warehouse = warehouse_run.query, directory / "wh"
        return {
            "stream": lambda: warehouse_run.run(batch_rows=60, flush=True),
            "ask": lambda: request_correction(warehouse_run.layout, GapRule(5_000, 100, 100), warehouse_run.now),
            "interval": lambda: correct(query, warehouse, CorrectionRange(EPOCH, EPOCH + 2_500, arrival=True)),
            "next": lambda: correct(query, warehouse, CorrectionRange(EPOCH + 2_500, EPOCH + 5_000, arrival=True)),
            "compaction": lambda: warehouse_run.tables.compact((*STREAM_TABLES, *CORRECTION_TABLES)),
            "all": lambda: correct(query, warehouse),
            "results": lambda: read_answers(query, warehouse, streamed=False),
            "streamed": lambda: read_answers(query, warehouse, streamed=True),
            "quality": lambda: read_quality(query, warehouse),
        }

    assert_same_effort(work, tmp_path, n=240)
    tuples = with_outliers(240, **FAR)
    query = make_query(tmp_path / "far" / "in", SETTINGS, source="json", topk=topk, bounds=BOUNDS)
    answers, _ = read_answers(query, tmp_path / "far" / "wh", streamed=False)
    truth = batch(tuples, SETTINGS)
    if topk:
        assert rankings_of(answers.to_pylist()) == ranked(contents(distinct(tuples, 100), SETTINGS), 3)
    else:
        by_window = {(row["key"], row["window_start"], row["window_end"]): row for row in answers.to_pylist()}
        assert by_window.keys() == truth.keys()
        for window, expected in truth.items():
            assert by_window[window]["tuples"] == expected.tuples
            assert_close(by_window[window]["value"], expected.value, expected.sum_abs)
    quality, _ = read_quality(query, tmp_path / "far" / "wh")
    bucket_ends = {-(-end // 10_000) * 10_000 for _, _, end in truth}
    assert quality["bucket_end"].to_pylist() == sorted(bucket_ends), "a row for each bucket with windows, and no other"


@pytest.mark.parametrize(
    "policy",
    [
        *({"policy": "k_slack", "k": "300 ms"}, {"policy": "mp_k_slack"}),
        *({"policy": name, "error": 0.05, "risk": 0.05} for name in ("aq_k_slack", "hybrid", "quantile")),
    ],
    ids=lambda policy: policy["policy"],
)
def test_the_cost_of_policies_does_not_depend_on_outliers(tmp_path, policy):
    def work(directory: Path, tuples: list[Tuple]) -> dict[str, Callable[[], object]]:
        warehouse_run = make_played(directory, tuples, policy)
        return {"stream": lambda: warehouse_run.run(batch_rows=60, flush=True)}

    assert_same_effort(work, tmp_path, n=240)


@pytest.mark.parametrize("early", [False, True])
def test_the_cost_of_calibrations_does_not_depend_on_outliers(tmp_path, early):
    """With early outliers most delays are long, and no window is old enough to be measured."""
    policy = {"policy": "cache_duration", "initial": "300 ms", "queries": 5, "durations": 4}

    def work(directory: Path, tuples: list[Tuple]) -> dict[str, Callable[[], object]]:
        warehouse_run = make_played(directory, tuples, policy)
        warehouse_run.run()
        return {"calibration": lambda: calibrate(warehouse_run.query, directory / "wh")}

    assert_same_effort(work, tmp_path, n=360, early=early)


WINDOWS = Sliding(SETTINGS.size, SETTINGS.slide)


@pytest.mark.parametrize("kind", ["sum", "max", "median", "adaptive", "sma", "mintopk", "gstopk"])
def test_the_cost_of_kinds_does_not_depend_on_outliers(tmp_path, kind):
    """With enough tuples for the fast paths of a kind; the list methods of top-k have none."""

    def work(directory: Path, tuples: list[Tuple]) -> dict[str, Callable[[], object]]:
        rows = raw_table(tuples).drop_columns("tick").rename_columns({"value": column})
        content = (
            rows.append_column("tick", pc.divide(rows.column("arrival_time"), 100)).combine_chunks().to_batches()[0]
        )
        ticks = EventTimeCourse.from_tuples(
            np.asarray(content.column("tick")), np.asarray(content.column("event_time"))
        )
        partials = pa.Table.from_batches([instance.combine(content)])
        return {
            "combine": lambda: instance.combine(content),
            "evaluate": lambda: instance.evaluate(content),
            "step": lambda: instance.step(instance.start(), (partials,), ticks.under(300)),
        }

    column = "value" if kind in NUMBERS else "score"
    instance: Kind = (
        kind_of(WINDOWS, kind)
        if kind in NUMBERS
        else TopK(WINDOWS, uses_of(), pa.string(), k=3, descending=True, method=kind)
    )
    assert_same_effort(work, tmp_path, n=600 if kind in ("sma", "mintopk", "gstopk") else 6_000)
