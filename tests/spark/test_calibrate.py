"""A calibration beside the stream on Spark: what it proposes holds from the next tick on, and no answer is off."""

from __future__ import annotations

import json
from dataclasses import replace

from kit.oracles.oracle import Settings, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.warehouse import even, make_query, make_stream, rows_of, tables_of, write_files
from tailrace.calibration.calibrate import calibrate
from tailrace.query.disorder_section import Disorder
from tailrace.spark.app import run
from tailrace.stream.run_options import RunOptions

SETTINGS = Settings(700, 300, 100, "sum", ("k_slack", 3000))
TUPLES = [item._replace(value=abs(item.value) + 1) for item in make_stream(3000, seed=9)]  # no sum is near 0


def test_the_stream_goes_on_with_the_k_that_was_found(tmp_path, spark):
    bounds = even(3000, 3)
    disorder = Disorder.model_validate({"policy": "cache_duration", "initial": "3 s", "tick": "100 ms"})
    write_files(TUPLES, tmp_path / "in", bounds[:2])
    query = make_query(tmp_path / "in", SETTINGS).model_copy(update={"disorder": disorder})
    found = []
    for part, flush in ((0, False), (1, False), (2, True)):
        if part:
            write_files(TUPLES, tmp_path / "in", bounds[part : part + 2], first=part)
        run(query, tmp_path / "wh", RunOptions(flush=flush))
        found.append(calibrate(query, tmp_path / "wh"))
    facts = tables_of(tmp_path / "wh").read("facts").sort_by("version").to_pylist()
    assert [fact["evidence"] for fact in facts] == ["declared", found[0].evidence, found[1].evidence]
    k = [json.loads(fact["value"])["initial"] for fact in facts]
    assert k[0] == "3 s"
    k_ms = [3000, found[0].next_interval.k_ms, found[1].next_interval.k_ms]
    changes = tuple((fact["from_tick"], ("k_slack", k)) for fact, k in zip(facts[1:], k_ms[1:], strict=True))
    assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES, replace(SETTINGS, changes=changes)))
    assert found[2].k_ms == k_ms[2]
