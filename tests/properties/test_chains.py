"""Chains of queries: the answers of one are the stream of the next, and corrections travel down.

The last table of a chain of three equals one SQL statement by DuckDB over the first occurrences of all tuples, whatever
the disorder, and in whatever order the three are corrected.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
import yaml
from hypothesis import Phase, example, given
from hypothesis import strategies as st

from kit.runs.chained_queries import DAY, HOUR, MINUTE, START, answers, chain, declarations, disordered, expected, write
from kit.runs.local_driver import Driver, no_spark
from kit.suite.examples import drawn
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.kinds import build
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.storage.backup import back_up
from tailrace.storage.progress import read_progress
from tailrace.storage.restore import restore
from tailrace.storage.results import AnswerTables


def correct_at_random(queries: list[Query], warehouse: Path, draw: random.Random, open_from: dict[str, int]) -> None:
    """Correct all that arrived so far of a drawn query, by an interval of arrival."""
    query = draw.choice(queries)
    until = read_progress(Driver(query, warehouse).tables)
    if until is None or until.until <= open_from[query.name]:
        return
    end = until.until // 1000 * 1000
    interval = (open_from[query.name], end)
    if interval[0] < end:
        correct(query, warehouse, CorrectionRange(*interval, arrival=True), no_spark)
        open_from[query.name] = end


@pytest.mark.needs("long")
@drawn(1, phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 10_000))
@example(seed=7078)  # the third query runs before the second one has answers
def test_corrected_in_any_order_the_last_table_equals_one_sql_statement(tmp_path_factory, seed):
    draw, directory = random.Random(seed), tmp_path_factory.mktemp("chain")
    queries, warehouse = chain(directory / "in"), directory / "wh"
    events = disordered(draw, 120)
    open_from = {query.name: START - DAY for query in queries}
    cuts = sorted(draw.sample(range(10, len(events) - 1), 3))
    for number, (low, high) in enumerate(zip([0, *cuts], [*cuts, len(events)], strict=True)):
        write(events[low:high], directory / "in" / f"{number}.parquet")
        for query in queries:
            Driver(query, warehouse).run(draw.choice([40, 1000]))
            for _ in range(draw.randrange(3)):
                correct_at_random(queries[: queries.index(query) + 1], warehouse, draw, open_from)
    Driver(queries[0], warehouse).run(flush=True)
    draws = [draw.choice(queries) for _ in range(3)]
    for query in draws:  # before what is above them is corrected: it is harmless
        if read_progress(Driver(query, warehouse).tables) is not None:
            correct(query, warehouse, CorrectionRange(), no_spark)
    correct(queries[0], warehouse, CorrectionRange(), no_spark)
    Driver(queries[1], warehouse).run(flush=True)
    correct(queries[1], warehouse, CorrectionRange(), no_spark)
    Driver(queries[2], warehouse).run(flush=True)
    correct(queries[2], warehouse, CorrectionRange(), no_spark)
    truth = expected(events)
    assert truth
    assert answers(queries[2], warehouse) == truth


@pytest.mark.needs("long")
@drawn(1, phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 10_000))
def test_corrected_by_intervals_of_arrival_alone_it_equals_it_too(tmp_path_factory, seed):
    draw, directory = random.Random(seed), tmp_path_factory.mktemp("chain")
    queries, warehouse = chain(directory / "in"), directory / "wh"
    events = disordered(draw, 40)
    open_from = {query.name: START - DAY for query in queries}
    for number, (low, high) in enumerate([(0, 20), (20, len(events) - 1), (len(events) - 1, len(events))]):
        write(events[low:high], directory / "in" / f"{number}.parquet")
        for query in queries:
            Driver(query, warehouse).run(flush=number == 2)
            correct_at_random([query], warehouse, draw, open_from)
    for query in queries:
        Driver(query, warehouse).run(flush=True)
        progress = read_progress(Driver(query, warehouse).tables)
        interval = (open_from[query.name], progress.until + 1000)
        correct(query, warehouse, CorrectionRange(*interval, arrival=True), no_spark)
    assert answers(queries[2], warehouse) == expected(events)


@pytest.mark.needs("long")
@drawn(2, phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 10_000), is_rebuilt=st.booleans())
def test_after_another_state_of_the_first_query_it_equals_it_too(tmp_path_factory, seed, is_rebuilt):
    draw, directory = random.Random(seed), tmp_path_factory.mktemp("chain")
    queries, warehouse = chain(directory / "in"), directory / "wh"
    events = disordered(draw, 60)
    first = Driver(queries[0], warehouse)
    cut = draw.randrange(10, 30)
    write(events[:cut], directory / "in" / "0.parquet")
    first.run()
    back_up(first.layout, directory / "backup")
    write(events[cut : cut + 20], directory / "in" / "1.parquet")
    for query in queries:
        Driver(query, warehouse).run(flush=True)
        correct(query, warehouse, CorrectionRange(), no_spark)
    if is_rebuilt:
        fields = declarations(directory / "in")[0]
        fields["aggregate"]["revenue"]["function"] = "max"
        first.rebuild(declared_query(fields))
        for query in queries[1:]:
            Driver(query, warehouse).run(flush=True)
        first.rebuild(queries[0])
    else:
        shutil.rmtree(first.layout.home)
        restore(directory / "backup", warehouse)
    write(events[cut + 20 :], directory / "in" / "2.parquet")
    for query in queries:
        Driver(query, warehouse).run(draw.choice([7, 1000]), flush=True)
        correct(query, warehouse, CorrectionRange(), no_spark)
    assert answers(queries[2], warehouse) == expected(events)


def test_the_page_has_the_query_that_is_tested(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "chains.md").read_text()
    declared = yaml.safe_load(text.split("```yaml\n")[1].split("```")[0])
    first, last = chain(tmp_path / "in")[0], declared_query(declared)
    events = [(START + n * MINUTE, START + n * MINUTE + 10, n, "a", n) for n in range(90)]
    write(events, tmp_path / "in" / "0.parquet")
    Driver(first, tmp_path / "wh").run(flush=True)
    Driver(last, tmp_path / "wh").run(flush=True)
    rows = AnswerTables(Driver(last, tmp_path / "wh").tables, build(last).answers).latest().to_pylist()
    hours = [(row["window_start"], row["revenue"], row["minutes"]) for row in rows]
    assert sorted(hours) == [(START, sum(range(60)), 60), (START + HOUR, sum(range(60, 90)), 30)]
