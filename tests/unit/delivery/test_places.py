"""Each place of answers has a lock of its own, whose holder is named to those who find it busy."""

from __future__ import annotations

import pytest

from kit.fakes.fake_topic import sending
from kit.runs.kind_streams import query_of
from tailrace.delivery.places import places_of
from tailrace.ground.errors import InUse
from tailrace.kinds import build
from tailrace.sources.lookup.postgres_table import PostgresTable
from tailrace.storage.layout import Layout


def test_a_process_at_each_place_is_named_to_the_next(tmp_path):
    query = sending(query_of("topk", tmp_path))
    answers = query.answers.model_copy(update={"postgres": PostgresTable(connection="reports", table="t")})
    query, layout = query.model_copy(update={"answers": answers}), Layout.for_query(tmp_path, query.name)
    places = places_of(layout, query, build(query))
    named = type(answers).model_fields.keys() - {"buffer"}
    assert len(places) == len(named) + 1, "all that a query file may name, and current"
    for place in places:
        with layout.lock(place.name), pytest.raises(InUse, match=r"another process (sends|brings) "):
            place.deliver(0)
