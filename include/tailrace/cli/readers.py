"""The commands that read queries, answers and their quality, or draw them, without starting Spark."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.cli.local_paths import local_path
from tailrace.cli.time_options import time_option
from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.terminal import screen

if TYPE_CHECKING:
    import pyarrow as pa

File = Annotated[Path, typer.Argument(help="The query file.", metavar="FILE", callback=local_path)]
Streams = Annotated[
    Path | None,
    typer.Option(
        help="Of a FILE of SQL text: the YAML file with its streams and all else.", metavar="FILE", callback=local_path
    ),
]
Warehouse = Annotated[
    str,
    typer.Option(
        help="The directory that holds the tables of all queries; or a URL of an object store, such as s3://bucket/wh.",
        envvar="TAILRACE_WAREHOUSE",
    ),
]
Output = Annotated[Path | None, typer.Option(help="The file to write; absent: the terminal.", callback=local_path)]
Wide = Annotated[bool, typer.Option("--wide", help="A table on the terminal has all columns, however wide.")]


_PICTURES = ("png", "svg", "pdf")

_QUALITY_FIRST = ("bucket_start", "answers", "share", "mean_error", "error", "risk", "accuracy")
"""Columns of the table `quality` that say most: what was found, and what is promised."""


class Form(StrEnum):
    table = "table"
    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"


class AnswerVersion(StrEnum):
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
    from tailrace.query.loading import load, located

    problems: list[Problem] = []
    first_files: dict[str, Path] = {}
    for file in files:
        try:
            query = load(file, streams)
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
    if problems:
        raise Refused(problems)


def explain(
    file: File,
    streams: Streams = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Read a sample of the sources: what each step keeps, and the first rows.")
    ] = False,
) -> None:
    """Explain how a query is run: its kind, partition and method, the reason for it; and its sections and SQL text."""
    from tailrace.cli.explanation import forms, print_sample
    from tailrace.panels.explanation import explanation
    from tailrace.query.loading import load, located
    from tailrace.terminal.tables import print_named_texts

    query = load(file, streams)
    print_named_texts(explanation(query))
    for name, text in forms(query).items():
        screen.out.print(f"\n{name}:", markup=False)
        screen.out.print(text, markup=False, highlight=False, soft_wrap=True)
    if sample:
        with located(file, streams):
            print_sample(query)


def results(
    file: File,
    warehouse: Warehouse,
    as_of: Annotated[
        AnswerVersion, typer.Option(help="As the stream gave them, or their latest versions.")
    ] = AnswerVersion.corrected,
    format: Annotated[Form, typer.Option(help="How they are written.")] = Form.table,
    output: Output = None,
    streams: Streams = None,
    limit: Annotated[int, typer.Option(help="How many rows a table on the terminal shows.", min=0)] = 50,
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
    """Read answers, without starting Spark; of a range or a key, only the files that may hold them."""
    from tailrace.query.loading import load
    from tailrace.storage.answer_range import ALL, AnswerRange
    from tailrace.storage.results import read_answers
    from tailrace.terminal.answers import require_output, write_answers

    require_output(format.value, output)
    first, last = time_option("--from", start), time_option("--to", end)
    part = AnswerRange(ALL.start if first is None else first, ALL.end if last is None else last, key)
    answers, columns = read_answers(load(file, streams), warehouse, as_of is AnswerVersion.stream, part)
    write_answers(answers, columns, format.value, output, limit, wide)


def quality(
    file: File,
    warehouse: Warehouse,
    format: Annotated[Form, typer.Option(help="How it is written.")] = Form.table,
    output: Output = None,
    streams: Streams = None,
    limit: Annotated[int, typer.Option(help="How many rows a table on the terminal shows.", min=0)] = 50,
    wide: Wide = False,
) -> None:
    """Show how far answers were from what corrections found, over time, against what is promised."""
    from tailrace.correction.quality import read_quality
    from tailrace.query.loading import load
    from tailrace.terminal.answers import require_output, write_answers

    require_output(format.value, output)
    rows, columns = read_quality(load(file, streams), warehouse)
    if format is Form.table and output is None:
        columns = _what_tells_most_first(rows, columns)
    write_answers(rows, columns, format.value, output, limit, wide)


def plot(
    file: File,
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
    from tailrace.cli.picture import draw
    from tailrace.cli.shown_panels import ShownPanels
    from tailrace.query.loading import load
    from tailrace.storage.checkpoint import require_begun
    from tailrace.storage.layout import Layout
    from tailrace.terminal.output_file import open_output
    from tailrace.terminal.plots import require_matplotlib

    require_matplotlib("tailrace plot")
    first, last = time_option("--from", start), time_option("--to", end)
    if first is not None and last is not None and first >= last:
        raise refuse("--from, --to", "the range is empty", "--from before --to")
    query = load(file, streams)
    target = Path(f"{query.name}.png") if output is None else output
    form = target.suffix.lower().removeprefix(".")
    if form not in _PICTURES:
        raise refuse(
            f"--output {target}", "its name says no form of picture", " or ".join(f".{each}" for each in _PICTURES)
        )
    layout = Layout.of(warehouse, query.name)
    require_begun(layout, query)
    with screen.working("reading"):
        shown = ShownPanels.read(query, layout, first, last, key)
    with open_output(target) as picture:
        draw(shown, picture, form)
    screen.out.print(str(target), markup=False, soft_wrap=True)


def _what_tells_most_first(rows: pa.Table, columns: list[str]) -> list[str]:
    """Return columns in the order to show them in where not all of them fit: those without values are last.

    Of several columns of answers the rows say which they are of, in the place of how many answers there were.
    """
    filled = [name for name in columns if rows[name].null_count < rows.num_rows]
    is_by_column = "answer" in filled and len(set(rows["answer"].to_pylist())) > 1
    wanted = ["answer" if is_by_column and name == "answers" else name for name in _QUALITY_FIRST]
    first = [name for name in wanted if name in filled]
    return [*first, *(name for name in filled if name not in first), *(name for name in columns if name not in filled)]
