"""Runs each query of the demonstration: streams it, corrects it, compares its answers and prints them.

Each function returns the id of the stream's run, and True if all answers are right.
"""

from __future__ import annotations

from collections.abc import Callable

from demo.demonstrated_query import DemoQuery
from demo.generated_data import READINGS, TRADES
from demo.topic_answers import check_topic
from demo.topics import Sending
from tailrace.ground.duration import format_duration, ms
from tailrace.sources.kafka.kafka_source import KafkaSource
from tailrace.terminal import screen

Echo = Callable[[str], None]
BACKFILL = ("2013-01-01T05:00:00+00:00", "2013-02-15T05:00:00+00:00")  # the half months of the sample's arrivals


def flights(demo_query: DemoQuery, echo: Echo, begun: Callable[[], None] | None = None) -> tuple[str, bool]:
    demo_query.unpause()
    path = demo_query.query.stream[1].path
    echo(f"[bold]stream_{demo_query.name}[/]: a replay of {path.name} in order of arrival")
    run = demo_query.stream(begun=begun)
    echo(f"[bold]correct_{demo_query.name}[/]: late tuples, by airflow backfill create")
    demo_query.backfill(*BACKFILL)
    echo("holding every answer against the truth")
    return run, demo_query.compare()


def game2(demo_query: DemoQuery, echo: Echo) -> tuple[str, bool]:
    demo_query.unpause()
    gap = demo_query.query.correction.gap
    assert gap is not None  # game2.yaml has it
    echo(f"[bold]stream_{demo_query.name}[/]: corrections start by themselves, at Γ = {format_duration(ms(gap))}")
    return _stream_and_correct(demo_query, echo)


def payments(demo_query: DemoQuery) -> str:
    """Deploy a query of the living stream, and return its run's id; it continues beside all others."""
    return demo_query.deploy({"batch_rows": 1000, "driver_memory": "1g"})  # a point of its charts every 25 s of backlog


def meters(demo_query: DemoQuery, echo: Echo) -> tuple[str, bool]:
    source, topic, sent = demo_query.query.stream[1].source, demo_query.query.answers.kafka, demo_query.sent
    assert isinstance(source, KafkaSource)  # meters.yaml has both topics
    assert topic is not None
    assert sent is not None
    demo_query.unpause()
    echo(f"[bold]stream_{demo_query.name}[/]: from topic {source.topic} to topic {topic.topic}, at {topic.servers}")
    sending = Sending(sent, source)
    sending.begin()
    run, is_right = _stream_and_correct(demo_query, echo, sending=sending)
    text, is_topic_right = check_topic(demo_query.query, sent)
    screen.out.print(text, soft_wrap=True)
    return run, is_right and is_topic_right


def delays(demo_query: DemoQuery, echo: Echo) -> tuple[str, bool]:
    demo_query.unpause()
    echo(f"[bold]stream_{demo_query.name}[/]: the most delayed departures, which are known last")
    return _stream_and_correct(demo_query, echo)


def trades(demo_query: DemoQuery, echo: Echo) -> tuple[str, bool]:
    demo_query.unpause()
    echo(f"[bold]stream_{demo_query.name}[/]: the largest trades; a calibration moves K on the way")
    return _stream_and_correct(demo_query, echo, READINGS[TRADES].rows // 3)


def copies(demo_query: DemoQuery, echo: Echo) -> tuple[str, bool]:
    demo_query.unpause()
    echo(
        f"[bold]stream_{demo_query.name}[/]: near-duplicate frames of a clip and of its darker copy, which comes later"
    )
    return _stream_and_correct(demo_query, echo)


def districts(demo_query: DemoQuery, echo: Echo) -> tuple[str, bool]:
    demo_query.unpause()
    echo(f"[bold]stream_{demo_query.name}[/]: the district of each fix of a fleet of taxis")
    run = demo_query.stream()
    echo("holding every answer against the truth")
    return run, demo_query.compare()


def meetings(demo_query: DemoQuery, echo: Echo) -> tuple[str, bool]:
    demo_query.unpause()
    echo(f"[bold]stream_{demo_query.name}[/]: taxis of two fleets that meet")
    return _stream_and_correct(demo_query, echo)


def _stream_and_correct(
    demo_query: DemoQuery, echo: Echo, calibrate_at: int | None = None, sending: Sending | None = None
) -> tuple[str, bool]:
    run = demo_query.stream(calibrate_at, sending=sending)
    demo_query.correct_the_rest()
    echo("holding every answer against the truth")
    return run, demo_query.compare()
