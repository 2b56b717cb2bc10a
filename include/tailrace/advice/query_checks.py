"""Checks of the things that a query file names: connections, sources, tables and delivery targets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tailrace.advice.checks import Check, Finding, fault, ok
from tailrace.ground.connections import read_connection
from tailrace.ground.files import object_stores
from tailrace.query.loading import load, located
from tailrace.query.query import Query
from tailrace.sources.kafka import kafka_servers
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.sources.kafka.kafka_topic import KafkaTopic
from tailrace.sources.lookup import postgres_server
from tailrace.sources.lookup.postgres_server import PostgresServer
from tailrace.stream.source_sample import sample_sources


def query_checks(file: Path) -> Iterator[Check]:
    """Yield the checks of a query, after reading its file.

    Raises
    ------
    Refused
        When the file declares no query.
    """
    query = load(file)
    yield Check("query", lambda: [ok("query", f"{file} declares {query.name}, of kind {query.kind}")])
    for name in query.connections:
        yield Check(f"connection {name}", lambda name=name: [check_connection(query, name)])  # type: ignore[misc]
    yield Check("sources", lambda: [*check_sources(query, file)])
    if (topic := query.answers.kafka) is not None:
        yield Check("answers.kafka", lambda: [check_topic(topic)])
    if (table := query.answers.postgres) is not None:
        yield Check("answers.postgres", lambda: [check_database(str(table.connection))])


def check_connection(query: Query, name: str) -> Finding:
    """Check that a query's connection is declared in this environment, without showing its content."""
    read = read_connection(name, _example(query, name))
    return ok(f"connection {name}", "declared" + (f", with the host {read.host}" if read.host else ""))


def check_sources(query: Query, file: Path) -> Iterator[Finding]:
    """Yield a finding for each stream whose source can be read and has the query's columns."""
    with located(file):
        samples = sample_sources(query)
    for name, sample in samples.items():
        shown = f"{len(sample.types)} columns fit" if sample.types else "no record is there yet"
        yield ok("sources", f"stream {name}: {sample.where}: {shown}")


def check_topic(topic: KafkaTopic) -> Finding:
    """Check that a topic of answers exists, and that its brokers accept this process."""
    from tailrace.sources.kafka.kafka_client import Topic

    topic_url = f"kafka://{topic.cluster}/{topic.topic}"
    if Topic(Servers(topic.servers, topic.connection), topic.topic).description() is None:
        return fault(
            "answers.kafka", f"{topic_url}: there is no such topic", "the topic made, compacted; or another name"
        )
    return ok("answers.kafka", f"{topic_url} is there")


def check_database(connection: str) -> Finding:
    """Check that the database of answers accepts this process."""
    PostgresServer(connection).connect().close()
    return ok("answers.postgres", f"connection {connection}: the database lets in")


def _example(query: Query, name: str) -> str:
    """Return an example of a connection in JSON, for the system to which the query connects by this name."""
    places = [query.answers.kafka, *(stream.source for stream in query.streams.values())]
    for place in places:
        if place is not None and place.connection == name:
            return kafka_servers.EXAMPLE if isinstance(place, KafkaTopic) else object_stores.EXAMPLE
    return postgres_server.EXAMPLE  # for a table: of answers, of a lookup or of a join
