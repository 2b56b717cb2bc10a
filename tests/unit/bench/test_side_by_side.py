"""The side-by-side benchmark: differing answers, medians, ratios by round, and the resources of processes."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import nullcontext

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from bench.meter import Meter
from bench.side_by_side import _compare, summary, tables, unlike
from kit.suite.waiting import until


def answers(*rows: tuple[str, int, float, int]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["key", "window_start", "value", "tuples"])
    return frame.assign(window_end=frame["window_start"] + 500)


def test_differing_answers_are_counted():
    ours = answers(("a", 0, 1.0, 1), ("a", 100, 3.0, 2), ("b", 0, 5.0, 1))
    assert unlike(answers(("a", 0, 1.0 + 1e-12, 1), ("b", 0, 5.0, 1)), ours) == 0
    assert unlike(answers(("a", 0, 1.1, 1), ("a", 100, 3.0, 1), ("c", 0, 5.0, 1), ("b", 0, 5.0, 1)), ours) == 3


def rankings(*rows: tuple[str | None, int, int, int, float]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["key", "window_start", "rank", "id", "score"])
    return frame.assign(window_end=frame["window_start"] + 500)


@pytest.mark.parametrize("key", ["a", None])
def test_rankings_are_compared_rank_by_rank(key):
    ours = rankings((key, 0, 1, 7, 9.0), (key, 0, 2, 3, 8.0), (key, 100, 1, 7, 9.0)).assign(tuples=5)
    assert unlike(rankings((key, 0, 1, 7, 9.0), (key, 0, 2, 3, 8.0)), ours) == 0
    assert unlike(rankings((key, 0, 1, 3, 8.0), (key, 0, 2, 7, 9.0)), ours) == 2
    assert unlike(rankings((key, 0, 1, 7, 9.5), (key, 0, 3, 4, 7.0), (key, 200, 1, 7, 9.0)), ours) == 3


def test_a_contestant_without_answers_is_an_error(tmp_path):
    write_deltalake(tmp_path / "tailrace" / "bench" / "results", pa.table({"key": ["a"], "value": [1.0]}))
    with pytest.raises(RuntimeError, match=r"Spark's windows answered nothing: --rows are too few"):
        _compare(tmp_path, lambda line: None)


@pytest.mark.parametrize(("other", "is_ours"), [(1.0, True), (1.5, False)])
def test_answers_of_the_local_engine_are_looked_up_too(tmp_path, other, is_ours):
    def write(place, value, **more):
        table = pa.table({"key": ["a"], "window_start": [0], "window_end": [500], "value": [value]} | more)
        write_deltalake(tmp_path / place / "results", table)

    write("native", 1.0)
    write("tailrace/bench", 1.0, as_of=[7])
    write("local/bench", other, as_of=[8])
    told: list[str] = []
    with nullcontext() if is_ours else pytest.raises(RuntimeError, match="1 of 1 answers of The local engine's"):
        _compare(tmp_path, told.append)
    assert len(told) == 1 + is_ours


def passes(**rates: list[float]) -> list[dict]:
    cost = {"cpu_us_a_row": 1.0, "driver_mib": 1, "jvm_mib": 2, "workers_mib": 3}
    return [
        {"case": "dense", "contestant": name, "round": number, "whole_rows_s": rate, "warm_rows_s": 2 * rate} | cost
        for name, series in rates.items()
        for number, rate in enumerate(series)
    ]


def test_ratios_are_of_the_same_round_and_the_first_is_dropped():
    rows = passes(native=[1, 10, 20, 40], tailrace=[1000, 20, 30, 80])
    by_name = {row["contestant"]: row for row in summary(rows)}
    # The median of 2, 1.5 and 2; the ratio of the medians would be 1.5.
    assert by_name["tailrace"]["whole_to_native"] == 2
    assert by_name["tailrace"]["whole_rows_s"] == 30
    assert by_name["tailrace"]["rounds"] == 3
    assert "whole_to_flink" not in by_name["tailrace"]
    assert not any("flink" in head for head in tables(summary(rows))["dense"][0])


def test_ratios_to_flink_are_given_when_it_takes_part():
    rows = summary(passes(native=[1, 10], tailrace=[1, 30], flink=[1, 20]))
    ours = next(row for row in rows if row["contestant"] == "tailrace")
    assert (ours["whole_to_native"], ours["whole_to_flink"]) == (3, 1.5)
    assert {"whole × native", "warm × native", "whole × flink", "warm × flink"} <= set(tables(rows)["dense"][0])


CHILD_MIB = 100


@pytest.fixture
def child():
    """A process that holds memory until its input ends."""
    script = f"held = bytearray({CHILD_MIB} << 20); print('holds', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process
        process.stdin.write(b"\n")


def measure_mib(meter: Meter) -> tuple[int, int, int]:
    with meter:
        until(lambda: meter._peak[0], "a measurement")
    return meter.cost.driver_mib, meter.cost.jvm_mib, meter.cost.workers_mib


@pytest.mark.needs("process")
def test_a_meter_measures_this_process_and_its_children(child):
    assert measure_mib(Meter())[2] > CHILD_MIB


@pytest.mark.needs("process")
def test_a_meter_of_another_process_measures_that_one_alone(child):
    driver, _, workers = measure_mib(Meter(of=child.pid))
    assert CHILD_MIB < driver < 2 * CHILD_MIB
    assert workers == 0


@pytest.mark.needs("process")
def test_a_meter_without_another_process_leaves_it_out(child):
    driver, _, workers = measure_mib(Meter(without=[child.pid]))
    assert driver
    assert measure_mib(Meter())[2] - workers > CHILD_MIB  # this process may have other children, such as Spark's


BURNING_SCRIPT = """
import time
def burn():
    while time.process_time() < end: pass
end = 0.5; burn(); print("burnt", flush=True); input(); end = 1.0; burn(); print("burnt", flush=True); input()
"""


@pytest.mark.needs("process")
def test_the_cpu_time_of_a_process_counts_after_it_has_ended():
    """CPU time from before the meter started is neither counted nor subtracted."""
    own = time.process_time()
    with subprocess.Popen(
        [sys.executable, "-c", BURNING_SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        with Meter() as meter:
            child.stdin.write(b"\n")
            child.stdin.flush()
            child.stdout.readline()
            meter._sample()
            child.stdin.write(b"\n")
            child.stdin.flush()
            child.wait()
    assert 0.4 < meter.cost.cpu_s < 0.7 + time.process_time() - own
