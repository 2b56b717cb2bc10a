"""A feed of a topic whose records don't show the types of all columns, over a topic in memory."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from kit.parts.source_mappings import source_mapping
from tailrace.expressions.projection import Projection
from tailrace.ground.errors import Refused, Unfit
from tailrace.sources.kafka.kafka_feed import KafkaFeed
from tailrace.sources.kafka.kafka_records import Records

PROJECTION = Projection.parse({}, "amuont > 0 and paid")
COLUMNS = source_mapping("at", "came", "id", None, projection=PROJECTION, stream="events")
RECORD = {"at": 1, "came": 1, "id": "a", "amount": 2.5}


class Topic:
    """A topic of one partition, and the records in it."""

    name = "sales"

    def __init__(self, *records: dict[str, Any]) -> None:
        self.values = [json.dumps(record).encode() for record in records]

    def description(self) -> tuple[str, list[int]]:
        return "topic-id", [0]

    def configuration(self) -> dict[str, str]:
        return {}

    def first(self, partitions: list[int]) -> dict[int, int]:
        return dict.fromkeys(partitions, 0)

    def ends(self, partitions: list[int]) -> dict[int, int]:
        return dict.fromkeys(partitions, len(self.values))

    newest_ms = offsets_at = ends

    by_append_time = False

    def fetch(self, _: object) -> Records:
        numbers = np.arange(len(self.values))
        return Records(self.name, np.zeros(len(numbers), np.int64), numbers, numbers, [*self.values], {})


def feed(topic: Topic, live: bool) -> KafkaFeed:
    return KafkaFeed(topic, topic, COLUMNS, {}, None, None, 0.0, live)  # type: ignore[arg-type]


def test_columns_that_no_record_has_are_refused_by_their_fields_and_no_record_decides_alone() -> None:
    topic = Topic(RECORD, RECORD | {"paid": True})
    with pytest.raises(Refused) as refused:
        feed(topic, live=False).fresh()
    assert not isinstance(refused.value, Unfit), "records with the column may come"
    (problem,) = refused.value.problems
    assert problem.where == "streams.events.where: 1:1: topic sales"
    assert problem.fault == "it has no column 'amuont', which the expression where reads"
    assert problem.remedy == "amount"


def test_a_column_that_is_null_so_far_is_not_missing() -> None:
    with pytest.raises(Refused, match="no record has a value of a fitting type"):
        feed(Topic(RECORD | {"paid": True, "amuont": None}), live=False).fresh()


def test_a_live_run_waits_for_a_record_with_the_column_and_says_so() -> None:
    topic = Topic(RECORD | {"paid": True})
    stream = feed(topic, live=True)
    assert stream.fresh() == []
    assert stream.problem is not None
    assert stream.problem.startswith("streams.events.where: 1:1: topic sales: it has no column 'amuont'")
    topic.values += Topic(RECORD | {"amuont": 1.0}).values
    assert len(stream.fresh()) == 1
    assert (stream.problem, stream.types["amuont"]) == (None, "double")


def test_a_column_that_each_record_has_to_have_is_refused_and_a_live_run_names_no_others() -> None:
    fields = {True: ["streams.events.id"], False: ["streams.events.id", "streams.events.where"]}
    for live, expected in fields.items():
        with pytest.raises(Unfit) as refused:
            feed(Topic({"at": 1, "came": 1, "Id": "a", "paid": True}), live).fresh()
        assert [problem.where.partition(":")[0] for problem in refused.value.problems] == expected


def test_a_live_topic_waits_for_a_key_and_a_bounded_one_takes_nulls_for_texts() -> None:
    columns = source_mapping("at", "came", "id", "k", stream="events")
    topic = Topic(RECORD | {"k": None}, RECORD | {"id": "b", "k": None})
    waiting, bounded = (
        KafkaFeed(topic, topic, columns, {}, None, None, 0.0, live)  # type: ignore[arg-type]
        for live in (True, False)
    )
    assert (waiting.fresh(), waiting.types) == ([], {})
    assert waiting.problem is not None
    assert bounded.fresh()
    assert bounded.types["k"] == "string"
    topic.values += Topic(RECORD | {"id": "c", "k": 7}).values
    assert waiting.fresh()
    assert (waiting.types["k"], waiting.problem) == ("int64", None)
