"""What `emd_join` promises: the pairs of brute force, by every method and ground distance, however it is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from kit.oracles.emd_oracle import emd
from kit.oracles.pair_oracle import Join, joined
from kit.runs.pair_runs import (
    CARRIED,
    FOREVER,
    JOINS,
    SIDES,
    WHERE,
    Batch,
    Sample,
    assert_as_the_oracle,
    log_of,
    logs,
    note_of,
    run,
)
from kit.suite.examples import drawn
from tailrace.kind.protocol import Kind
from tailrace.kinds import build
from tailrace.query.declared import declared_query

SOME = drawn(25, phases=[Phase.generate])
THRESHOLD = 0.5

BINS = 8
HISTOGRAMS = {
    "a": [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    "b": [1.0, 1.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    "c": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0],
}
"""By the value that a generated tuple has; masses, not shares."""

GROUND = {"line": ("line", 1.0), "grid": ({"grid": [2, 2, 2]}, 2.0)}
VARIANTS = [
    ("line", {"bins": BINS}),
    ("line", {"bins": BINS, "search": "filter_chain"}),
    ("line", {"bins": BINS, "search": "filter_chain", "method": "shuffle", "distances": False}),
    ("line", {"bins": BINS, "search": "filter_chain", "method": "head"}),
    ("line", {"bins": BINS, "method": "head"}),
    ("grid", {}),
    ("grid", {"method": "shuffle"}),
    ("grid", {"method": "head", "distances": False}),
    ("grid", {"distances": False}),
]
variants = pytest.mark.parametrize(("ground", "more"), VARIANTS, ids=str)


@cache
def costs_of(ground: str) -> np.ndarray:
    """The ground distance, cell by cell."""
    if ground == "line":
        places = [(float(bin_),) for bin_ in range(BINS)]
    else:
        places = [(float(i), float(j), float(k)) for i in range(2) for j in range(2) for k in range(2)]
    scale = GROUND[ground][1]
    return np.array(
        [[sum((x - y) ** 2 for x, y in zip(p, q, strict=True)) ** 0.5 / scale for q in places] for p in places]
    )


@cache
def distance_of(ground: str, a: str, b: str) -> float:
    p, q = (np.array(HISTOGRAMS[value]) / sum(HISTOGRAMS[value]) for value in (a, b))
    return emd(p, q, costs_of(ground))


def make_kind(ground: str, more: dict, where: str | None = None) -> Callable[[Join, int], Kind]:
    def make(join: Join, feedback: int) -> Kind:
        declared, scale = GROUND[ground]
        section = {"threshold": THRESHOLD, "histogram": "value", "ground_distance": declared, "scale": scale} | more
        section |= {"select": ["right.note", "left.note"]} | ({} if where is None else {"where": where})
        if section.get("method", "emd_ddsj") == "emd_ddsj":
            section |= {"span": 0.25, "feedback": f"{min(feedback, 10**9)} ms"}
        stream = {"source": {"format": "parquet", "path": "x"}, "event_time": "event_time", "id": "id"}
        query = declared_query(
            {
                "name": "similar",
                "kind": "emd_join",
                "streams": dict.fromkeys(SIDES, stream | {"arrival_time": "arrival_time"}),
                "window": {"size": f"{max(join.reach, 1)} ms"},
                "emd_join": section,
            },
            Path(),
        )
        return replace(build(query, CARRIED), reach_ms=join.reach)

    return make


@variants
@SOME
@given(data=st.data())
def test_the_answers_are_those_of_brute_force(ground: str, more: dict, data: st.DataObject) -> None:
    batches: list[Batch] = data.draw(logs())
    batches = [batch._replace(plan=None) for batch in batches]
    join = data.draw(JOINS)
    where = data.draw(st.sampled_from(list(WHERE)))
    join = replace(join, alike=lambda a, b: distance_of(ground, a, b) <= THRESHOLD + 1e-9, keeps=WHERE[where])
    tasks, feedback = data.draw(st.integers(1, 3)), data.draw(st.sampled_from([1, 30, FOREVER]))
    rows, join = run(batches, join, tasks, feedback, Sample(make_kind(ground, more, where), HISTOGRAMS.__getitem__))
    tuples = [item for batch in batches for _, items in batch.segments for item in items]
    assert_as_the_oracle(rows, joined(log_of(batches), join), len(tuples))
    for row in rows["metrics"]:
        counts = dict(row["counts"] or {})
        assert not row["loads"] or row["load"] == counts.get("exact", 0) + counts.get("queries", 0)
    value_of, notes = {item.id: item.value for item in tuples}, {item.id: note_of(item) for item in tuples}
    for row in rows.get("results", []):
        expected = distance_of(ground, value_of[row["left_id"]], value_of[row["right_id"]])
        wanted = pytest.approx(expected, abs=1e-9) if more.get("distances", True) else None
        assert row["distance"] == wanted
        assert row["tuples"] == 2
        assert (row["left_note"], row["right_note"]) == (notes[row["left_id"]], notes[row["right_id"]])


def test_the_samples_have_pairs_on_both_sides_of_the_threshold() -> None:
    for ground in GROUND:
        near = {distance_of(ground, a, b) <= THRESHOLD for a in HISTOGRAMS for b in HISTOGRAMS if a != b}
        assert near == {True, False}
