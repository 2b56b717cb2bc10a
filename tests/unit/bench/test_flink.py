"""Flink as a contestant: what it is told, how files are dealt to its readers, and how its process ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.bench import flink_environment
from tailrace.bench.flink import Flink, answers, job, lay_out
from tailrace.bench.flink_environment import FlinkEnvironment
from tailrace.bench.questions import TOP_K
from tailrace.bench.workloads import CASES, Case, Workload


def workload(tmp_path: Path, files: int = 5, case: Case = CASES["aggregate"][0]) -> Workload:
    """Each file holds its number three times."""
    paths = [tmp_path / "dense" / f"part-{number}.parquet" for number in range(files)]
    paths[0].parent.mkdir()
    for number, path in enumerate(paths):
        pq.write_table(pa.table({"value": [number] * 3}), path, compression="zstd")
    return Workload(case, 3 * files, paths, bound_ms=1300)


def test_the_job_is_the_workload(tmp_path):
    told = job(workload(tmp_path), Path("/in"), Path("/out"), 2)
    readings, sink = told["tables"]
    assert told["settings"]["parallelism.default"] == "2"
    assert "event_time - INTERVAL '1.300' SECOND" in readings
    assert "'path' = 'file:///in'" in readings
    assert "'path' = 'file:///out'" in sink
    assert (
        "HOP(TABLE readings, DESCRIPTOR(event_time), INTERVAL '0.100' SECOND, INTERVAL '0.500' SECOND)"
        in (told["insert"])
    )


@pytest.mark.parametrize("case", CASES["topk"], ids=lambda case: case.name)
def test_a_ranking_is_of_each_window_and_sensor_or_of_all(tmp_path, case):
    told = job(workload(tmp_path, case=case), Path("/in"), Path("/out"), 2)
    assert ("CAST(NULL AS STRING), window_start" in told["insert"]) != case.keyed
    views = [table for table in told["tables"] if "VIEW" in table]
    assert bool(views) == (case.question is TOP_K)
    assert f"HOP(TABLE {'panes' if views else 'readings'}, " in told["insert"]
    assert ("PARTITION BY sensor, window_start, window_end" in told["insert"]) == case.keyed
    assert all("PARTITION BY sensor, window_start, window_end" in view for view in views)


def test_files_are_dealt_out_in_order(tmp_path):
    lay_out(workload(tmp_path).files, tmp_path / "two", 2)
    first, second = (pq.ParquetFile(tmp_path / "two" / f"part-{reader}.parquet") for reader in range(2))
    assert first.read()["value"].to_pylist() == [0] * 3 + [2] * 3 + [4] * 3
    assert second.read()["value"].to_pylist() == [1] * 3 + [3] * 3
    assert (first.num_row_groups, second.num_row_groups) == (3, 2)
    assert first.metadata.row_group(0).column(0).compression == "ZSTD"


def test_more_readers_than_files(tmp_path):
    lay_out(workload(tmp_path, 1).files, tmp_path / "two", 2)
    assert [path.name for path in (tmp_path / "two").iterdir()] == ["part-0.parquet"]


def test_answers_are_read_with_their_times_in_utc(tmp_path):
    (tmp_path / "answers").mkdir()
    starts = pa.array([1_767_225_600_100_000_000], pa.timestamp("ns"))
    pq.write_table(
        pa.table({"key": ["s"], "window_start": starts, "window_end": starts, "value": [1.0], "tuples": [1]}),
        tmp_path / "answers" / "part-0-0",  # as Flink names them
    )
    found = answers(tmp_path)
    assert found.schema.field("window_end").type == pa.timestamp("ms", "UTC")
    assert found["window_start"].cast(pa.int64()).to_pylist() == [1_767_225_600_100]


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """In place of Flink, a program that is given the job; an environment that is made already."""
    made = FlinkEnvironment(tmp_path / "home")
    made.python.parent.mkdir(parents=True)
    made.python.symlink_to(sys.executable)

    def program(text: str) -> FlinkEnvironment:
        (tmp_path / "flink_job.py").write_text(text)
        monkeypatch.setattr("tailrace.bench.flink.__file__", str(tmp_path / "flink.py"))
        return made

    return program


def test_a_pass_is_asked_for_and_answered(tmp_path, environment):
    echo = """
import json, sys
for line in sys.stdin:
    json.loads(line)["insert"]
    print(json.dumps({"job_s": 2.5}), flush=True)
"""
    mine = workload(tmp_path)
    with Flink(environment(echo), tmp_path / "flink") as flink:
        flink.lay_out(mine.files, 2)
        paces = [flink.run(None, mine, tmp_path / "out", 2) for _ in range(2)]
    assert [(pace.warm_rows, pace.warm_s, pace.batch_s) for pace in paces] == [(15, 2.5, [])] * 2
    assert flink._process.returncode == 0  # the end of its input ends it


def test_its_last_words_are_told(tmp_path, environment):
    dies = "import sys; sys.stdin.readline(); sys.exit('no such table')"
    mine = workload(tmp_path)
    with (
        Flink(environment(dies), tmp_path / "flink") as flink,
        pytest.raises(RuntimeError, match="Flink ended; its last words:\nno such table"),
    ):
        flink.run(None, mine, tmp_path / "out", 2)


def test_an_environment_is_made_once_and_only_whole(tmp_path, monkeypatch):
    ran = []

    def run(*command: str) -> None:
        ran.append(command)
        if fails and "pip" in command:
            raise RuntimeError("no way to the registry")

    monkeypatch.setattr(flink_environment, "_run", run)
    environment, fails = FlinkEnvironment(tmp_path / "home"), True
    with pytest.raises(RuntimeError, match="registry"):
        environment.make(lambda line: None)
    fails = False
    environment.make(lambda line: None)
    assert len(ran) == 2 + 3
    environment.make(lambda line: None)
    assert len(ran) == 2 + 3
    assert any(f"apache-flink=={flink_environment.VERSION}" in command for command in ran)


def test_a_step_that_fails_tells_its_command():
    with pytest.raises(RuntimeError, match=r"ended with exit code 3: .*bad luck"):
        flink_environment._run(sys.executable, "-c", "print('bad luck'); raise SystemExit(3)")


def test_parquet_needs_what_pyspark_has(tmp_path):
    names = FlinkEnvironment(tmp_path).variables()["HADOOP_CLASSPATH"]
    assert all(jar in names for jar in ("hadoop-client-api", "hadoop-client-runtime", "zstd-jni"))
    assert all(Path(name).exists() for name in names.split(":"))


def test_the_job_program_stands_alone():
    """It runs where there is no tailrace."""
    text = Path(flink_environment.__file__).with_name("flink_job.py").read_text()
    assert "import tailrace" not in text
    assert "from tailrace" not in text
