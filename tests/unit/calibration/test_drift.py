"""The delays jump while a stream runs: calibrations move K, the stream takes it up, and the facts tell the story."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest

from kit.oracles.oracle import Settings, Tuple
from kit.oracles.rankings import contents, ranked, rankings_of
from kit.runs.live_stream import live
from kit.runs.warehouse import EPOCH, make_query, rows_of, write_files
from tailrace.calibration.calibrate import calibrate
from tailrace.ground.duration import ms, parse_duration
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.stream.local_stream import run
from tailrace.stream.run_options import RunOptions

SETTINGS = Settings(6_000, 500, 100, "sum", ("k_slack", 200))
K, ACCURACY, BEFORE_MS, AFTER_MS, STRETCH, JUMP = 5, 0.95, 100, 1_000, 1_500, 3
"""A tenth of the paper's lengths; a calibration after each stretch of tuples, 30 s of them."""

ROUNDS = JUMP + 5


def stretches() -> list[list[Tuple]]:
    draw, tuples = random.Random(7), []
    for i in range(STRETCH * (ROUNDS + 1)):
        event = EPOCH + 20 * i
        delay = draw.expovariate(1 / (BEFORE_MS if i < STRETCH * JUMP else AFTER_MS))
        tuples.append(Tuple(event, event + int(delay), f"t{i:05d}", "k", draw.gauss(0, 1)))
    tuples.sort(key=lambda one: one.arrival_time)
    return [tuples[STRETCH * n : STRETCH * (n + 1)] for n in range(ROUNDS + 1)]


@pytest.mark.needs("long")
def test_the_promise_is_kept_again_within_five_calibrations_without_a_restart(tmp_path):
    parts, reports = stretches(), []
    query = make_query(tmp_path / "in", SETTINGS, 1, calibrated=True, topk={"k": K, "score": "value"})
    write_files(parts[0], tmp_path / "in", [0, STRETCH])

    def each(beside) -> None:
        for number, part in enumerate(parts[1:], start=1):
            beside.until(lambda status, entry, rows=STRETCH * number: status.rows >= rows)
            reports.append(calibrate(query, tmp_path / "wh"))
            write_files(part, tmp_path / "new", [0, STRETCH], number)
            file = f"part-{number:05d}.parquet"
            (tmp_path / "new" / file).rename(tmp_path / "in" / file)
        beside.until(lambda status, entry: status.rows == STRETCH * len(parts))

    live(query, tmp_path / "wh", each, RunOptions(STRETCH, pace_ms=100, live=True), run)

    assert Status.read(Layout.for_query(tmp_path / "wh", "readings")).state == "drained"
    facts = sorted(rows_of(tmp_path / "wh", "facts")["facts"], key=lambda row: row["version"])
    waits = [ms(parse_duration(json.loads(row["value"])["initial"])) for row in facts]
    found = [report.next_interval.k_ms for report in reports]
    changed = [k for before, k in zip([200, *found], found, strict=False) if k != before]
    assert waits == [200, *changed]
    assert [row["evidence"] for row in facts[1:]] == [
        report.evidence
        for before, report in zip([200, *found], reports, strict=False)
        if report.next_interval.k_ms != before
    ]
    assert all(row["from_tick"] > facts[n]["from_tick"] for n, row in enumerate(facts[1:]))

    assert max(found[:JUMP]) <= 200
    missed = AFTER_MS / SETTINGS.size * math.exp(-found[-1] / AFTER_MS)  # by the formula of errata
    assert abs(1 - missed - ACCURACY) <= 2 * 0.03, "30 windows tell no more"
    assert max(found) <= 3_000, "K* is 1.2 s"
    tuples = [one for part in parts for one in part]
    near, true = rankings_of(rows_of(tmp_path / "wh")["results"]), ranked(contents(tuples, SETTINGS), K)
    jump = EPOCH + 20 * STRETCH * JUMP

    def accuracy(start: int, end: int) -> float:
        """The share of the correct top-k in windows that lie there."""
        mine = [window for window in near if window[1] >= start and window[2] <= end]
        return float(np.mean([len({*near[w]} & {*true[w]}) / len(true[w]) for w in mine]))

    last = max(one.event_time for one in tuples)
    noise = 2 * reports[-1].measurements[-1].error
    assert accuracy(EPOCH + 30_000, jump) >= ACCURACY
    assert accuracy(jump, jump + 30_000) < accuracy(last - 30_000, last)
    assert accuracy(last - 30_000, last) >= ACCURACY - noise
