"""Answers are deterministic, a function of the tuples in order of arrival and of the facts: those of the oracle."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kit.draws.streams import cuts, disordered
from kit.oracles.oracle import stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.harness import run
from kit.suite.examples import drawn

MANY = drawn(300)


@MANY
@given(disordered(skews=True, placed=True), st.booleans())
def test_the_answers_of_one_batch_are_the_oracles(case, flush):
    tuples, query = case
    rows, outcome = run(tuples, query, flush=flush), stream(tuples, query, flush=flush)
    assert_streamed(rows, outcome)
    assert rows["metrics"][-1]["committed"] == outcome.committed
    assert rows["metrics"][-1]["frontier"] == outcome.frontier


@MANY
@given(st.data(), disordered(min_tuples=1, skews=True, placed=True), st.integers(1, 3), st.booleans())
def test_answers_do_not_depend_on_cuts_restarts_and_parallelism(data, case, tasks, flush):
    tuples, query = case
    at = data.draw(cuts(len(tuples)), label="cuts")
    together = data.draw(st.lists(st.booleans(), min_size=len(at) + 1, max_size=len(at) + 1), label="same batch")
    batches = [sum(together[: i + 1]) for i in range(len(at) + 1)]
    rows = run(tuples, query, cuts=at, tasks=tasks, flush=flush, batch_of=lambda segment: batches[segment])
    assert_streamed(rows, stream(tuples, query, flush=flush))
    assert sum(row["rows"] for row in rows["metrics"]) == len(tuples)
    assert len({(row["t_max"], row["frontier"], row["k_ms"]) for row in rows["metrics"][-tasks:]}) == 1
