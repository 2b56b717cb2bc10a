"""Flink as a contestant: its job, the assignment of files to its readers, and the end of its process."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench import flink_environment, maven, peer_environment
from bench.flink import Flink, answers, job, lay_out
from bench.flink_environment import FlinkEnvironment
from bench.questions import TOP_K
from bench.workloads import CASES, Case, Workload


def workload(tmp_path: Path, files: int = 5, case: Case = CASES["aggregate"][0]) -> Workload:
    """A workload in which each file has three rows with the file's number."""
    paths = [tmp_path / "dense" / f"part-{number}.parquet" for number in range(files)]
    paths[0].parent.mkdir()
    for number, path in enumerate(paths):
        pq.write_table(pa.table({"value": [number] * 3}), path, compression="zstd")
    return Workload(case, 3 * files, paths, bound_ms=1300)


def test_the_job_describes_the_workload(tmp_path):
    spec = job(workload(tmp_path), Path("/in"), Path("/out"), 2)
    readings, sink = spec["tables"]
    assert spec["settings"]["parallelism.default"] == "2"
    assert "event_time - INTERVAL '1.300' SECOND" in readings
    assert "'path' = 'file:///in'" in readings
    assert "'path' = 'file:///out'" in sink
    assert (
        "HOP(TABLE readings, DESCRIPTOR(event_time), INTERVAL '0.100' SECOND, INTERVAL '0.500' SECOND)"
        in (spec["insert"])
    )


@pytest.mark.parametrize("case", CASES["topk"], ids=lambda case: case.name)
def test_a_ranking_is_partitioned_by_window_and_also_by_sensor_if_keyed(tmp_path, case):
    spec = job(workload(tmp_path, case=case), Path("/in"), Path("/out"), 2)
    assert ("CAST(NULL AS STRING), window_start" in spec["insert"]) != case.keyed
    views = [table for table in spec["tables"] if "VIEW" in table]
    assert bool(views) == (case.question is TOP_K)
    assert f"HOP(TABLE {'panes' if views else 'readings'}, " in spec["insert"]
    assert ("PARTITION BY sensor, window_start, window_end" in spec["insert"]) == case.keyed
    assert all("PARTITION BY sensor, window_start, window_end" in view for view in views)


def test_files_are_assigned_to_readers_in_turn(tmp_path):
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
    answer_table = answers(tmp_path)
    assert answer_table.schema.field("window_end").type == pa.timestamp("ms", "UTC")
    assert answer_table["window_start"].cast(pa.int64()).to_pylist() == [1_767_225_600_100]


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """An environment that needs no installation, in which a program, given as text, stands in for Flink."""
    stand_in = FlinkEnvironment(tmp_path / "home")
    stand_in.python.parent.mkdir(parents=True)
    stand_in.python.symlink_to(sys.executable)

    def program(text: str) -> FlinkEnvironment:
        (tmp_path / "flink_job.py").write_text(text)
        monkeypatch.setattr("bench.flink.__file__", str(tmp_path / "flink.py"))
        return stand_in

    return program


@pytest.mark.needs("process")
def test_a_pass_is_requested_and_its_time_returned(tmp_path, environment):
    echo_program = """
import json, sys
for line in sys.stdin:
    json.loads(line)["insert"]
    print(json.dumps({"job_s": 2.5}), flush=True)
"""
    case_workload = workload(tmp_path)
    with Flink(environment(echo_program), tmp_path / "flink") as flink:
        flink.lay_out(case_workload.files, 2)
        paces = [flink.run(None, case_workload, tmp_path / "out", 2) for _ in range(2)]
    assert [(pace.warm_rows, pace.warm_s, pace.batch_s) for pace in paces] == [(15, 2.5, [])] * 2
    assert flink.exit_code == 0  # it exits when its input ends


@pytest.mark.needs("process")
def test_a_failure_of_flink_is_raised_with_its_last_output(tmp_path, environment):
    failing_program = "import sys; sys.stdin.readline(); sys.exit('no such table')"
    case_workload = workload(tmp_path)
    with (
        Flink(environment(failing_program), tmp_path / "flink") as flink,
        pytest.raises(RuntimeError, match="Apache Flink ended; its last words:\nno such table"),
    ):
        flink.run(None, case_workload, tmp_path / "out", 2)


def test_a_failed_installation_is_repeated_and_a_complete_one_is_not(tmp_path, monkeypatch):
    commands = []

    def run(*command: str) -> None:
        commands.append(command)
        if fails and "pip" in command:
            raise RuntimeError("no way to the registry")

    for module in (peer_environment, maven):
        monkeypatch.setattr(module, "run", run)
    environment, fails = FlinkEnvironment(tmp_path / "home"), True
    with pytest.raises(RuntimeError, match="registry"):
        environment.make(lambda line: None)
    fails = False
    environment.make(lambda line: None)
    assert len(commands) == 2 + 3
    environment.make(lambda line: None)
    assert len(commands) == 2 + 3
    assert any(f"apache-flink=={flink_environment.VERSION}" in command for command in commands)


@pytest.mark.needs("process")
def test_a_failed_step_is_raised_with_its_command():
    with pytest.raises(RuntimeError, match=r"ended with exit code 3: .*bad luck"):
        maven.run(sys.executable, "-c", "print('bad luck'); raise SystemExit(3)")


def test_flink_reads_parquet_with_the_jars_of_pyspark(tmp_path):
    names = FlinkEnvironment(tmp_path).variables()["HADOOP_CLASSPATH"]
    assert all(jar in names for jar in ("hadoop-client-api", "hadoop-client-runtime", "zstd-jni"))
    assert all(Path(name).exists() for name in names.split(":"))


def test_the_job_program_does_not_import_tailrace():
    """It runs in an environment without tailrace."""
    text = Path(flink_environment.__file__).with_name("flink_job.py").read_text()
    assert "import tailrace" not in text
    assert "from tailrace" not in text
