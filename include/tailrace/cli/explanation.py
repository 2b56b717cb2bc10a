"""Prints a sample of a query's sources, for `tailrace explain`."""

from __future__ import annotations

from tailrace.query.query import Query
from tailrace.stream.sample_steps import FIRST_ROWS, sample_steps
from tailrace.stream.source_bins import with_bins_of_source
from tailrace.stream.source_sample import sample_sources
from tailrace.terminal import screen
from tailrace.terminal.answers import write_answers


def print_sample(query: Query) -> None:
    """Print how many of a sample's records each step of a stream keeps, and the first rows after `columns` and `where`.

    Raises
    ------
    Refused
        When a source is not there, or does not fit the query.
    """
    samples = sample_sources(query)
    for steps in sample_steps(with_bins_of_source(query, samples), samples):
        screen.out.print()
        for line in steps.lines():
            screen.out.print(line, markup=False, soft_wrap=True)
        if steps.rows.num_rows:
            write_answers(steps.rows, steps.rows.column_names, "table", None, FIRST_ROWS, wide=True, times=())
