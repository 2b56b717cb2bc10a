"""The commands that read queries, answers and their quality, or draw them, without starting Spark."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.cli.arguments import File, FileOrName, Form, Limit, Output, Streams, Warehouse, Wide, is_name
from tailrace.cli.local_paths import local_path
from tailrace.ground.errors import Problem, Refused
from tailrace.terminal import screen

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 50
"""The number of answers that a table on the terminal shows."""

_QUALITY_FIRST = ("bucket_start", "answers", "share", "mean_error", "error", "risk", "accuracy")
"""The most important columns of the table `quality`: measured errors, and the promise."""


class VersionChoice(StrEnum):
    stream = "stream"
    corrected = "corrected"


def validate(
    files: Annotated[list[Path], typer.Argument(help="Query files.", metavar="FILE…", callback=local_path)],
    streams: Streams = None,
    source: Annotated[
        bool, typer.Option("--source", help="Look at the sources too: their columns, types and first records.")
    ] = False,
) -> None:
    """Check query files: what is wrong, in which file, line and field, and what would be right."""
    from tailrace.query.chain import chain_of
    from tailrace.query.loading import load, located
    from tailrace.stream.opening_lines import window_zone_lines

    problems: list[Problem] = []
    first_files: dict[str, Path] = {}
    has_places = False
    for file in files:
        try:
            query = load(file, streams)
            has_places |= bool(query.answers.uris)
            chain_of(query, file)
            if source:
                from tailrace.cli.source_report import print_source_reports

                with located(file, streams):
                    print_source_reports(query)
        except Refused as refused:
            problems += refused.problems
            continue
        first = first_files.setdefault(query.name, file)
        if first.absolute() != file.absolute():
            fault = f"{query.name} is declared in {first}, too: of files that share a name none is deployed"
            problems.append(Problem(f"{file}: name", fault, "a name of its own for each query"))
        else:
            screen.out.print(f"{file}: no fault found", soft_wrap=True)
            for line in window_zone_lines(query):
                screen.out.print(f"attention: {line}", markup=False, soft_wrap=True)
    if problems:
        raise Refused(problems)
    if not source:
        screen.err.print("the sources were not looked at: --source does that")
    if has_places:
        screen.err.print("the places of answers were not looked at: tailrace doctor FILE does that")


def explain(
    file: File,
    streams: Streams = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Read a sample of the sources: what each step keeps, and the first rows.")
    ] = False,
) -> None:
    """Explain how a query is run: its kind, partition and method, and why; also print its sections and SQL text."""
    from tailrace.cli.explanation import print_sample
    from tailrace.cli.opening import open_query
    from tailrace.query.loading import located
    from tailrace.terminal.tables import print_named_texts

    query = open_query(file, streams)
    explanation = query.explain()
    print_named_texts(explanation.plan)
    for name, text in explanation.forms.items():
        screen.out.print(f"\n{name}:", markup=False)
        screen.out.print(text, markup=False, highlight=False, soft_wrap=True)
    if sample:
        with located(file, streams):
            print_sample(query.declared)


def results(
    query: FileOrName,
    warehouse: Warehouse,
    as_of: Annotated[
        VersionChoice, typer.Option(help="As the stream gave them, or their latest versions.")
    ] = VersionChoice.corrected,
    format: Annotated[Form, typer.Option(help="How they are written.")] = Form.table,
    output: Output = None,
    streams: Streams = None,
    where: Annotated[
        str | None, typer.Option(help="Only answers for which this is true: an expression over their columns.")
    ] = None,
    order_by: Annotated[
        str | None, typer.Option(help="In this order, as 'value desc, key'; absent: of time.", metavar="EXPR,…")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="At most so many; absent: all, of which a terminal's table shows 50.", min=0)
    ] = None,
    wide: Wide = False,
    start: Annotated[
        str | None,
        typer.Option("--from", help="Event time, ISO 8601: windows that end after it, pairs from it on.", metavar="T"),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", help="Event time: windows that start before it, pairs before it.", metavar="T")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Only the answers of this key.")] = None,
) -> None:
    """Read answers, without starting Spark; of a range or a key, only the files that may hold them.

    By a NAME it reads the table current, which a living stream brings up to date within a minute.
    """
    from tailrace.api.reading import chosen_of, current_answers, part_of
    from tailrace.cli.opening import open_query
    from tailrace.terminal.answers import require_output, write_answers

    require_output(format.value, output)
    part = part_of(start, end, key)
    if is_name(query, streams):
        answers = current_answers(query, warehouse, as_of, part)
    else:
        answers = open_query(Path(query), streams, warehouse).results(as_of.value, start=start, end=end, key=key)
    chosen = chosen_of(answers, where, order_by, limit)
    if chosen.why_none:
        screen.err.print(chosen.why_none, markup=False, soft_wrap=True)
        if format is Form.table and output is None:
            screen.work_begins()
            return
    shown = len(chosen) if limit is not None else _SHOWN
    write_answers(chosen.raw, chosen.columns, format.value, output, shown, wide)


def quality(
    query: FileOrName,
    warehouse: Warehouse,
    format: Annotated[Form, typer.Option(help="How it is written.")] = Form.table,
    output: Output = None,
    streams: Streams = None,
    limit: Limit = 50,
    wide: Wide = False,
) -> None:
    """Show how far answers were from what corrections found, over time, against what is promised.

    A table on the terminal is followed by what its columns mean.
    """
    from tailrace.api.named import quality_named
    from tailrace.cli.opening import open_query
    from tailrace.tables.correction import QUALITY
    from tailrace.terminal.answers import require_output, write_answers

    require_output(format.value, output)
    if is_name(query, streams):
        rows = quality_named(query, warehouse)
    else:
        rows = open_query(Path(query), streams, warehouse).quality()
    columns = rows.columns
    is_table = format is Form.table and output is None
    if rows.why_none:
        screen.err.print(rows.why_none, markup=False, soft_wrap=True)
        if is_table:
            screen.work_begins()
            return
    if is_table:
        columns = _what_tells_most_first(rows.raw, columns)
    shown = write_answers(rows.raw, columns, format.value, output, limit, wide, rows.times)
    if is_table:
        for name in shown:
            screen.err.print(f"{name}: {QUALITY.columns[name].meaning}", markup=False, soft_wrap=True)


def plot(
    query: FileOrName,
    warehouse: Warehouse,
    output: Annotated[
        Path | None,
        typer.Option(help="The picture: .png, .svg or .pdf; absent: NAME.png here.", callback=local_path),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", help="ISO 8601: arrival and event times after it; absent: all.", metavar="T"),
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="Arrival and event times up to it.", metavar="T")] = None,
    key: Annotated[str | None, typer.Option(help="Draw the answers of this key, as streamed and as corrected.")] = None,
    streams: Streams = None,
) -> None:
    """Draw a query: frontier and K, the promise against measured errors, answers, late tuples. Spark is not started."""
    from tailrace.api.picture_file import picture_form, require_drawable
    from tailrace.api.times import time_ms
    from tailrace.cli.opening import open_named

    require_drawable(time_ms("--from", start), time_ms("--to", end))
    opened = open_named(query, streams, warehouse)
    target = Path(f"{opened.name}.png") if output is None else output
    picture_form(target)
    with screen.working("reading"):
        picture = opened.plot(start=start, end=end, key=key)
    screen.out.print(str(picture.save(target)), markup=False, soft_wrap=True)


def _what_tells_most_first(rows: pa.Table, columns: list[str]) -> list[str]:
    """Return columns in order of importance, for a narrow terminal; columns without values come last.

    If rows are about several columns of answers, the name of the column replaces the number of answers.
    """
    filled = [name for name in columns if rows[name].null_count < rows.num_rows]
    others = {"answers": "answer"} if "answer" in filled and len(rows["answer"].unique()) > 1 else {}
    first = [name for each in _QUALITY_FIRST if (name := others.get(each, each)) in filled]
    return [*first, *(name for name in filled if name not in first), *(name for name in columns if name not in filled)]
