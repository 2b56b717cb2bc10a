"""The command that makes or replays an out-of-order stream, to files or to a Kafka topic."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import ValidationError

from tailrace.api.times import time_ms
from tailrace.cli.local_paths import local_path
from tailrace.ground.errors import refuse
from tailrace.ground.words import counted
from tailrace.terminal import screen

if TYPE_CHECKING:
    import pyarrow as pa

    from tailrace.sources.kafka.kafka_servers import Servers

_SHOWN_LINES = 5  # of those that were kept out
_HELP = "tools/dev.py replay --help lists the options"


class ReplayFormat(StrEnum):
    parquet = "parquet"
    json = "json"


class SourceFormat(StrEnum):
    parquet = "parquet"
    debs2013 = "debs2013"
    tdrive = "tdrive"


def replay(
    output: Annotated[
        Path | None, typer.Option(help="The directory to write to, empty or new …", callback=local_path)
    ] = None,
    kafka: Annotated[
        str | None,
        typer.Option(
            help="… or the topic to send JSON records to, --rate of them a second (TOPIC alone: the connection's) …",
            metavar="SERVERS/TOPIC",
        ),
    ] = None,
    connection: Annotated[
        str | None,
        typer.Option(
            help="… with the brokers, and the settings of TLS and SASL, in AIRFLOW_CONN_NAME …", metavar="NAME"
        ),
    ] = None,
    partition_by: Annotated[
        str | None,
        typer.Option(help="… a partition for each value of this column; absent: by turns …", metavar="COLUMN"),
    ] = None,
    at_once: Annotated[bool, typer.Option("--at-once", help="… as fast as the brokers take them.")] = False,
    model: Annotated[
        str, typer.Option(help="none, game1, game2, 'exponential:6 s', or data:FILE:EVENT:ARRIVAL.")
    ] = "game1",
    rows: Annotated[int, typer.Option(help="How many tuples to make.")] = 100_000,
    rate: Annotated[float, typer.Option(help="Tuples in a second of event time; and sent in a second.")] = 1000.0,
    keys: Annotated[int, typer.Option(help="How many sensors.")] = 16,
    start: Annotated[
        str, typer.Option(help="Event time of the first one; of the kick-off in debs2013.", metavar="T")
    ] = "2026-01-01",
    source: Annotated[
        Path | None, typer.Option(help="Replay this file in place of made tuples …", callback=local_path)
    ] = None,
    source_format: Annotated[
        SourceFormat,
        typer.Option(
            help="… which is Parquet, the CSV of the DEBS 2013 football match, or the taxis of T-Drive, a file of them "
            "or a directory …"
        ),
    ] = SourceFormat.parquet,
    event_time: Annotated[str, typer.Option(help="… and has its event time in this column.")] = "event_time",
    seed: Annotated[int, typer.Option(help="The same seed makes the same stream.")] = 1,
    files: Annotated[int, typer.Option(help="How many files to cut it in, but no more than rows.")] = 10,
    format: Annotated[ReplayFormat, typer.Option(help="How they are stored.")] = ReplayFormat.parquet,
) -> None:
    """Make an out-of-order stream with a seeded delay model, in files or a Kafka topic, in the order of arrival."""
    from generators import replay as replaying
    from generators.delays import delay_model

    is_for_topic = connection is not None or partition_by is not None or at_once
    _require_one_place(output, kafka, is_for_topic)
    topic_source = None if kafka is None else _topic(kafka, connection)
    try:
        delays = delay_model(model)
        start_ms = time_ms("--start", start) or 0
        if source is None:
            table = replaying.generate(rows, rate, keys, delays, seed, start_ms)
        else:
            table = replaying.disorder(_read_source(source, source_format, start_ms), event_time, delays, seed)
        if output is not None:
            _write(table, output, files, format)
    except (ValueError, OSError) as error:
        raise refuse("replay", str(error), _HELP) from error
    if topic_source is not None:
        _send(table, *topic_source, partition_by, None if at_once else rate)


def _require_one_place(output: Path | None, kafka: str | None, is_for_topic: bool) -> None:
    """Refuse a stream without a place, or with two; and options of a topic (`is_for_topic`) without one."""
    if (output is None) == (kafka is None):
        raise refuse("replay", "a stream goes to one place", "--output DIR, or --kafka SERVERS/TOPIC")
    if kafka is None and is_for_topic:
        raise refuse("--connection, --partition-by, --at-once", "they are for a topic", "--kafka SERVERS/TOPIC")


def _write(table: pa.Table, output: Path, files: int, format: ReplayFormat) -> None:
    """Write a stream to files, and print each of them."""
    from generators import replay as replaying

    paths = replaying.write(table, output, files, format.value, _print_written)
    written = f"wrote {counted(table.num_rows, 'row')} in {counted(len(paths), 'file')} to {output}"
    screen.err.print(written, markup=False, soft_wrap=True)


def _print_written(file: Path, rows: int) -> None:
    screen.err.print(f"{file.name}: {counted(rows, 'row')}", markup=False, soft_wrap=True)


def _read_source(source: Path, source_format: SourceFormat, start_ms: int) -> pa.Table:
    """Read the tuples to replay, and report which lines of T-Drive were left out."""
    from generators import debs2013, tdrive
    from generators import replay as replaying

    if source_format is SourceFormat.parquet:
        return replaying.read(source)
    if source_format is SourceFormat.debs2013:
        return debs2013.read(source, start_ms)
    table, rejected, listed = tdrive.read(source)
    if rejected:
        screen.err.print(f"lines that hold no fix, kept out: {rejected:,}", soft_wrap=True)
        for file, line, reason in listed[:_SHOWN_LINES]:
            screen.err.print(f"    {file}:{line}: {reason}", soft_wrap=True, markup=False)
    return table


def _topic(text: str, connection: str | None) -> tuple[Servers, str]:
    """Return the cluster and the topic that an option names."""
    from tailrace.sources.kafka.kafka_servers import Servers
    from tailrace.sources.kafka.kafka_topic import KafkaTopic

    servers, _, topic = text.rpartition("/")
    try:
        topic_source = KafkaTopic(servers=servers or None, topic=topic, connection=connection)
    except ValidationError as error:
        field = next(iter(error.errors()[0]["loc"]), None)
        fault = (
            "it names no servers, and there is no --connection that has them"
            if field is None
            else f"{field} is not fit"
        )
        remedy = "--kafka broker:9092/readings, and --connection with the name of one, of a-z, 0-9 and _"
        raise refuse(f"--kafka {text}", fault, remedy) from None
    return Servers(topic_source.servers, topic_source.connection), topic_source.topic


def _send(table: pa.Table, servers: Servers, topic: str, key: str | None, rate: float | None) -> None:
    """Send a stream to a topic; refuses it where nothing could be sent."""
    from generators import replay_to_topic
    from tailrace.sources.kafka.kafka_producer import TopicWriter

    try:
        partitions = replay_to_topic.partitions_of(servers, topic)
    except ConnectionError as error:
        raise refuse(f"--kafka: topic {topic}", str(error), "brokers that can be reached") from None
    writer, total = TopicWriter(servers, topic), counted(table.num_rows, "row")

    def echo(sent: int) -> None:
        screen.err.print(f"sent {sent:,} of {total}", markup=False, soft_wrap=True)

    try:
        replay_to_topic.send(table, writer, partitions, key, rate, echo)
    except ValueError as error:
        raise refuse("replay", str(error), _HELP) from None
    except ConnectionError as error:
        raise ConnectionError(f"{error}; the topic has {writer.acknowledged:,} of {total}") from None
    screen.err.print(f"topic {topic} has them all, in {counted(partitions, 'partition')}", markup=False, soft_wrap=True)
