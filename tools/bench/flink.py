"""Contestant Flink: Flink SQL on HOP windows over the same rows, in streaming mode, into Parquet files.

It does less than Spark's windows and ours, which make each batch durable: it takes no checkpoints, and its sink
commits its files when the input ends. It reads the same rows in the same order, but in as many files as it has
readers. The reason is that its file source hands out the files of a directory in no order (its
`LocalityAwareSplitAssigner` keeps them in a hash set): a file read too soon would advance the watermark, and the rows
of others would be dropped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from bench.contestants import PassTimes
from bench.flink_environment import FlinkEnvironment
from bench.peer_process import PeerProcess
from bench.workloads import Workload

_PARQUET = "'connector' = 'filesystem', 'format' = 'parquet', 'parquet.utc-timezone' = 'true'"


class Flink(PeerProcess):
    """Flink in a process of its own.

    Parameters
    ----------
    environment : FlinkEnvironment
        Installed already.
    directory : Path
        Directory of the files laid out for its readers, and of its log.
    """

    def __init__(self, environment: FlinkEnvironment, directory: Path) -> None:
        command = environment.command(Path(__file__).with_name("flink_job.py"))
        super().__init__(environment.peer.name, command, environment.variables(), directory / "flink.log")
        self._directory = directory

    def lay_out(self, files: list[Path], parallelism: int) -> None:
        """Rewrite a workload's files as one file for each reader."""
        lay_out(files, self._source_directory(files), parallelism)

    def run(self, spark: SparkSession, workload: Workload, directory: Path, parallelism: int) -> PassTimes:
        """Run one pass, without the Spark session.

        Raises
        ------
        RuntimeError
            When Flink fails; quotes the end of its log.
        """
        source, sink = self._source_directory(workload.files), directory / "answers"
        answer = self.submit(job(workload, source, sink, parallelism))
        return PassTimes([], workload.rows, float(answer["job_s"]))

    def _source_directory(self, files: list[Path]) -> Path:
        return self._directory / files[0].parent.name


def job(workload: Workload, source: Path, sink: Path, parallelism: int) -> dict[str, Any]:
    """Return the workload as a job of flink_job.py."""
    case = workload.case
    settings = {
        "parallelism.default": str(parallelism),
        "table.local-time-zone": "UTC",
        "pipeline.object-reuse": "true",
    }
    readings = f"""CREATE TABLE readings (
        id BIGINT, event_time TIMESTAMP_LTZ(3), sensor STRING, `value` DOUBLE,
        WATERMARK FOR event_time AS event_time - {_interval(workload.bound_ms)}
    ) WITH ({_PARQUET}, 'path' = '{source.as_uri()}')"""
    answers = f"""CREATE TABLE answers (
        `key` STRING, window_start TIMESTAMP(3), window_end TIMESTAMP(3), {case.question.columns}
    ) WITH ({_PARQUET}, 'path' = '{sink.as_uri()}')"""
    slide, size = _interval(case.slide_ms), _interval(case.size_ms)
    key, groups = ("sensor", "sensor, ") if case.keyed else ("CAST(NULL AS STRING)", "")
    names = {"key": key, "groups": f"{groups}window_start, window_end"}
    tables, rows = [readings, answers], "readings"
    if case.question.flink_panes:
        panes = f"TABLE(TUMBLE(TABLE readings, DESCRIPTOR(event_time), {slide}))"
        tables.append(f"CREATE VIEW panes AS {case.question.flink_panes.format(panes=panes)}")
        rows = "panes"
    windows = f"TABLE(HOP(TABLE {rows}, DESCRIPTOR(event_time), {slide}, {size}))"
    insert = f"INSERT INTO answers {case.question.flink.format(windows=windows, **names)}"
    return {"settings": settings, "tables": tables, "insert": insert}


def lay_out(files: list[Path], directory: Path, readers: int) -> None:
    """Distribute files to readers in turn: the first reader's file has the rows of files 0, `readers`, 2 · `readers`, …

    Each file becomes a row group with its compression, so that the readers advance side by side.
    """
    directory.mkdir(parents=True)
    for reader in range(readers):
        reader_files = files[reader::readers]
        if not reader_files:
            continue
        path = directory / f"part-{reader}.parquet"
        with pq.ParquetWriter(path, pq.read_schema(reader_files[0]), compression="zstd") as writer:
            for file in reader_files:
                rows = pq.read_table(file)
                writer.write_table(rows, row_group_size=max(len(rows), 1))


def answers(directory: Path) -> pa.Table:
    """Read the answers of a pass into this directory; times in ms, UTC."""
    table = ds.dataset(directory / "answers", format="parquet").to_table()
    time = pa.timestamp("ms", "UTC")
    for name in ("window_start", "window_end"):
        index = table.column_names.index(name)
        table = table.set_column(index, name, table.column(name).cast(pa.timestamp("ms")).cast(time))
    return table


def _interval(length_ms: int) -> str:
    return f"INTERVAL '{length_ms / 1000:.3f}' SECOND"
