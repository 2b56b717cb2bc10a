"""The report on a query's sources that `validate --source` prints."""

from __future__ import annotations

from tailrace.ground.errors import refuse
from tailrace.query.query import Query
from tailrace.storage.delta_dimension import open_dimension
from tailrace.stream.opening_lines import opening_lines
from tailrace.stream.source_bins import with_bins_of_source
from tailrace.stream.source_sample import report_of, sample_sources
from tailrace.stream.table_versions import content_of
from tailrace.terminal import screen


def print_source_reports(query: Query) -> None:
    """Print the columns of a query's sources, which of their first records would be rejected and why, and its tables.

    Raises
    ------
    Unfit
        When a column is missing or of a wrong type.
    Refused
        When a source does not exist, none of the examined records fits, or a table is unfit.
    """
    samples = sample_sources(query)
    reports = report_of(with_bins_of_source(query, samples), samples)
    for report in reports:
        for line in report.lines():
            screen.out.print(line, markup=False, soft_wrap=True)
    types = {report.sample.stream: report.sample.types for report in reports}
    doubts = [line for report in reports for line in report.doubts()]
    for line in [*doubts, *opening_lines(query, types)]:
        screen.out.print(f"attention: {line}", markup=False, soft_wrap=True)
    for subject, table in query.tables.items():
        checked = table.check(content_of(table, open_dimension(table.place)).content)
        screen.out.print(f"{subject}: {table.place}: {checked.rows}", markup=False, soft_wrap=True)
    for report in reports:
        if report.is_unfit:
            reason = next(report.rejections.lines())
            raise refuse(report.sample.where, f"none of its records fits: {reason}", "records that the query can take")
