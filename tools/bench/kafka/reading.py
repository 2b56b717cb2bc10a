"""Speed of windows over a Kafka topic: ours, and Spark's own windows over its Kafka connector.

Both take turns to read the same records of one broker, and write sums by sensor over sliding windows into a Delta table
by deltalake: ours in the session that its users have, the connector in a separate process with Spark's defaults. Ours
also stores every tuple in its table `history`, as for any topic. In the dropped round each answer of Spark is looked up
among ours.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bench.contestants import measured_run, native_windows
from bench.kafka.broker import running_broker
from bench.kafka.connector import connector_jars
from bench.meter import Meter
from bench.progress import Echo, Row
from bench.rounds import interleaved, median_ratio, medians
from bench.side_by_side import PARALLELISM, unlike
from bench.spark_peer import SparkPeer
from bench.workloads import CASES, MEAN_DELAY_MS, Workload, largest_delay
from generators.delays import Exponential
from generators.replay import generate
from generators.replay_to_topic import send
from tailrace.sources.kafka.kafka_producer import TopicWriter
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.spark.session import session
from tailrace.stream.run_options import RunOptions

PARTITIONS = (1, 2, 3)
_BATCHES, _AT_ONCE = 4, 20_000  # batches of a pass; records in transit to the broker at once
_JSON = "event_time timestamp, sensor string, value double"
_RATE = "whole_rows_s"


@dataclass(frozen=True)
class TopicWorkload(Workload):
    """A workload whose rows are the JSON records of a topic, instead of files."""

    servers: str
    topic: str

    @property
    def source(self) -> dict[str, str]:
        return {"format": "kafka", "servers": self.servers, "topic": self.topic}


def by_partitions(rows: int, rounds: int, echo: Echo) -> list[Row]:
    """Measure topics of one, two and three partitions on a broker that is started for them."""
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name, running_broker(Path(name)) as broker:
        return measure(broker.servers, rows, rounds, PARTITIONS, echo)


def measure(servers: str, rows: int, rounds: int, partitions: Sequence[int], echo: Echo) -> list[Row]:
    """Measure a new topic for each number of partitions; return a row for each contestant and topic."""
    results: list[Row] = []
    with (
        tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name,
        SparkPeer("connector", Path(name), PARALLELISM, connector_jars()) as connector,
        session("tailrace bench", PARALLELISM) as spark,
    ):
        echo(f"connector: a JVM of its own, {' '.join(connector.jvm_options)}")
        for count in partitions:
            workload = fill_topic(servers, rows, count)
            echo(f"{rows:,} JSON records, {count} partitions")
            results += side_by_side(spark, connector, workload, Path(name) / f"{count}", rounds, echo, count)
    return results


def fill_topic(servers: str, rows: int, partitions: int) -> TopicWorkload:
    """Send a stream to a new topic, to its partitions in turn, and in pieces so that these stay in step."""
    case, topic = CASES["aggregate"][0], f"readings-{uuid.uuid4().hex}"
    table = generate(rows, case.rate, case.sensors, Exponential(MEAN_DELAY_MS), seed=1)
    new = NewTopic(topic, partitions, 1, config={"message.timestamp.type": "LogAppendTime"})
    client = AdminClient({"bootstrap.servers": servers})  # ends its requests with itself
    client.create_topics([new])[topic].result()
    writer = TopicWriter(Servers(servers), topic)
    for first in range(0, rows, _AT_ONCE):
        send(table.slice(first, _AT_ONCE), writer, partitions)
    out_of_order_ms = 1000 * _AT_ONCE // case.rate  # at most, by the merge of partitions
    return TopicWorkload(case, rows, [], largest_delay(table) + out_of_order_ms, servers, topic)


def side_by_side(
    spark: SparkSession,
    connector: SparkPeer,
    workload: TopicWorkload,
    directory: Path,
    rounds: int,
    echo: Echo,
    partitions: int,
) -> list[Row]:
    """Let ours and the connector read a topic in turns; return medians, and ratios round by round."""
    places: dict[str, list[Path]] = {"tailrace": [], "connector": []}

    def measured(name: str, run: Callable[[Path], object], new_meter: Callable[[], Meter]) -> Row:
        folder = directory / f"{name}-{len(places[name])}"
        places[name].append(folder)
        with new_meter() as meter:
            run(folder)
        cost = meter.cost
        return {_RATE: workload.rows / cost.seconds, "cpu_us_a_row": 1e6 * cost.cpu_s / workload.rows}

    runs = {
        "tailrace": partial(
            measured, "tailrace", partial(_ours, spark, workload), partial(Meter, without=[connector.pid])
        ),
        "connector": partial(
            measured, "connector", partial(_theirs, connector, workload), partial(Meter, of=connector.pid)
        ),
    }
    passes = interleaved(runs, rounds, _RATE, echo)
    echo(f"  {_compare(places['tailrace'][0], places['connector'][0]):,} answers of Spark's were looked up among ours")
    return [
        {"partitions": partitions, "contestant": name, "rows": workload.rows, "rounds": rounds}
        | medians(rows)
        | {"to_connector": median_ratio(rows, passes["connector"], _RATE)}
        for name, rows in passes.items()
    ]


def _ours(spark: SparkSession, workload: TopicWorkload, directory: Path) -> None:
    measured_run(spark, workload.query(PARALLELISM), directory, RunOptions(-(-workload.rows // _BATCHES)))


def _theirs(connector: SparkPeer, workload: TopicWorkload, directory: Path) -> None:
    connector.call(answer_by_connector, workload.as_json(), str(directory))


def answer_by_connector(spark: SparkSession, values: dict[str, Any], directory: str) -> None:
    """Answer a workload by Spark's own windows over its connector, in its process."""
    workload = TopicWorkload.of_json(values)
    options = {"kafka.bootstrap.servers": workload.servers, "subscribe": workload.topic, "startingOffsets": "earliest"}
    options |= {"maxOffsetsPerTrigger": str(-(-workload.rows // _BATCHES))}
    records = spark.readStream.format("kafka").options(**options).load()
    rows = records.select(F.from_json(F.col("value").cast("string"), _JSON).alias("row")).select("row.*")
    native_windows(rows, workload, Path(directory))


def _compare(ours: Path, theirs: Path) -> int:
    """Check that each answer of Spark is among ours; return their number.

    Raises
    ------
    RuntimeError
        When one of them is not among ours, or there are none.
    """
    if not DeltaTable.is_deltatable(str(theirs / "results")):
        raise RuntimeError("Spark's windows answered nothing: --rows are too few for one of them to close")
    frame = DeltaTable(theirs / "results").to_pandas()
    if count := unlike(frame, DeltaTable(ours / "bench" / "results").to_pandas()):
        raise RuntimeError(f"{count} of {len(frame)} answers of Spark's windows are not ours")
    return len(frame)
