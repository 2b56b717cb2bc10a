"""The command `tailrace`. Exit codes: 0 done, 1 failed, 2 refused before anything was written, 130 interrupted."""

from __future__ import annotations

import signal
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import click
import typer

from tailrace import show
from tailrace.declare import load
from tailrace.duration import parse_time_ms
from tailrace.errors import Problem, Refused, refuse
from tailrace.query import Query

app = typer.Typer(
    help="Continuous queries over out-of-order streams that answer early and end up right.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
)

File = Annotated[Path, typer.Argument(help="The query file.", metavar="FILE")]
Warehouse = Annotated[Path, typer.Option(help="The directory that holds the tables of all queries.")]


class Form(StrEnum):
    table = "table"
    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"


class Version(StrEnum):
    stream = "stream"
    corrected = "corrected"


class System(StrEnum):
    aggregate = "aggregate"


class Format(StrEnum):
    parquet = "parquet"
    json = "json"


@app.command(epilog="Example: [bold]tailrace validate include/queries/flights.yaml[/]")
def validate(files: Annotated[list[Path], typer.Argument(help="Query files.", metavar="FILE…")]) -> None:
    """Check query files: what is wrong, in which file, line and field, and what would be right."""
    problems: list[Problem] = []
    for file in files:
        try:
            load(file)
        except Refused as refused:
            problems += refused.problems
        else:
            show.out.print(f"{file}: right", soft_wrap=True)
    if problems:
        raise Refused(problems)


@app.command(epilog="Example: [bold]tailrace run flights.yaml --warehouse warehouse --bounded --correct[/]")
def run(
    file: File,
    warehouse: Warehouse,
    input: Annotated[
        list[str] | None, typer.Option(help="Read a stream from elsewhere.", metavar="STREAM=PATH")
    ] = None,
    bounded: Annotated[bool, typer.Option("--bounded", help="End at the end of the input.")] = False,
    keep_open: Annotated[
        bool, typer.Option("--keep-open", help="End without closing what is open; a later run goes on.")
    ] = False,
    correct: Annotated[bool, typer.Option("--correct", help="Then correct all of it.")] = False,
    batch_rows: Annotated[
        int, typer.Option(help="How many rows make a batch; no answer depends on it.", min=1)
    ] = 1_000_000,
) -> None:
    """Run a query on Spark in the foreground. Ctrl-C stops it; the next run goes on from there."""
    from tailrace.spark import app as stream_app
    from tailrace.spark.correct import correct as correct_all

    query = _with_inputs(load(file), input or [])
    if not bounded:
        raise refuse("--bounded", "this version runs bounded input only", "tailrace run … --bounded")
    with show.StreamProgress() as progress:
        batches = stream_app.run(query, warehouse, keep_open, batch_rows, progress)
    if not batches:
        show.err.print("nothing new to read")
    if correct:
        with show.working("correcting"):
            _tell(correct_all(query, warehouse))


@app.command(
    epilog="Example: [bold]tailrace correct flights.yaml --warehouse warehouse --from 2013-02-01 --to 2013-02-08[/]"
)
def correct(
    file: File,
    warehouse: Warehouse,
    start: Annotated[
        str | None, typer.Option("--from", help="Event time, ISO 8601: windows that end after it.", metavar="T")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", help="Event time: windows that start before it.", metavar="T")
    ] = None,
    arrived_from: Annotated[
        str | None, typer.Option(help="Arrival time: what came late from here …", metavar="T")
    ] = None,
    arrived_to: Annotated[str | None, typer.Option(help="… up to here, this end not included.", metavar="T")] = None,
) -> None:
    """Give windows that late tuples missed their next version, from history. It can be run again, in any order."""
    from tailrace.spark.correct import correct as correct_span
    from tailrace.spark.touched import Span

    query, arrival = load(file), arrived_from is not None or arrived_to is not None
    if arrival and (start is not None or end is not None):
        raise refuse(
            "--from, --arrived-from",
            "a range of event time and an interval of arrival exclude each other",
            "one of them",
        )
    if arrival and (arrived_from is None or arrived_to is None):
        raise refuse("--arrived-from, --arrived-to", "an interval of arrival has two ends", "both of them")
    span = (
        Span(_time("--arrived-from", arrived_from), _time("--arrived-to", arrived_to), True)
        if arrival
        else Span(_time("--from", start), _time("--to", end))
    )
    with show.working(f"correcting {span}"):
        _tell(correct_span(query, warehouse, span))


@app.command(
    epilog="Example: [bold]tailrace results flights.yaml --warehouse warehouse --format csv --output answers.csv[/]"
)
def results(
    file: File,
    warehouse: Warehouse,
    as_of: Annotated[
        Version, typer.Option(help="As the stream gave them, or their latest versions.")
    ] = Version.corrected,
    format: Annotated[Form, typer.Option(help="How they are written.")] = Form.table,
    output: Annotated[Path | None, typer.Option(help="The file to write; absent: the terminal.")] = None,
    limit: Annotated[int, typer.Option(help="How many rows a table on the terminal shows.", min=0)] = 50,
) -> None:
    """Read answers, without starting Spark."""
    from tailrace.spark.results import read_answers

    frame, columns = read_answers(load(file), warehouse, streamed=as_of is Version.stream)
    show.answers(frame, columns, format.value, output, limit)


@app.command(
    epilog="Example: [bold]tailrace replay --model game1 --rows 100000 --rate 1000 --keys 16 --output data/readings[/]"
)
def replay(
    output: Annotated[Path, typer.Option(help="The directory to write to, empty or new.")],
    model: Annotated[
        str, typer.Option(help="none, game1, game2, 'exponential:6 s', or data:FILE:EVENT:ARRIVAL.")
    ] = "game1",
    rows: Annotated[int, typer.Option(help="How many tuples to make.")] = 100_000,
    rate: Annotated[float, typer.Option(help="Tuples in a second of event time.")] = 1000.0,
    keys: Annotated[int, typer.Option(help="How many sensors.")] = 16,
    start: Annotated[str, typer.Option(help="Event time of the first one.", metavar="T")] = "2026-01-01",
    source: Annotated[Path | None, typer.Option(help="Replay this Parquet file in place of made tuples …")] = None,
    event_time: Annotated[str, typer.Option(help="… which has its event time in this column.")] = "event_time",
    seed: Annotated[int, typer.Option(help="The same seed makes the same stream.")] = 1,
    files: Annotated[int, typer.Option(help="How many files to cut it in.")] = 10,
    format: Annotated[Format, typer.Option(help="How they are stored.")] = Format.parquet,
) -> None:
    """Make an out-of-order stream with a seeded delay model, in files in the order of arrival."""
    from tailrace.streams import replay as replaying
    from tailrace.streams.delays import delay_model

    try:
        delays = delay_model(model)
        if source is None:
            table = replaying.generate(rows, rate, keys, delays, seed, _time("--start", start) or 0)
        else:
            table = replaying.disorder(replaying.read(source), event_time, delays, seed)
        replaying.write(table, output, files, format.value, lambda rows: show.err.print(f"wrote {rows:,} rows"))
    except ValueError as error:
        raise refuse("replay", str(error), "tailrace replay --help tells each option") from error


@app.command(epilog="Example: [bold]tailrace demo --warehouse warehouse/demo[/]")
def demo(
    warehouse: Warehouse = Path("warehouse/demo"),
    file: Annotated[Path, typer.Option(help="The query.")] = Path("include/queries/flights.yaml"),
) -> None:
    """Run a query over its sample, correct it, and hold every answer against the truth."""
    from tailrace.demo import demonstrate

    if not demonstrate(load(file), warehouse):
        raise typer.Exit(1)


@app.command(epilog="Example: [bold]tailrace bench aggregate --case dense --json[/]")
def bench(
    system: Annotated[System, typer.Argument(help="What is measured.")],
    rows: Annotated[int, typer.Option(help="Rows of each workload.", min=1)] = 4_000_000,
    files: Annotated[int, typer.Option(help="Files, each a batch.", min=2)] = 8,
    rounds: Annotated[int, typer.Option(help="Rounds that count; one more is dropped.", min=1)] = 5,
    case: Annotated[list[str] | None, typer.Option(help="A part of a case's name: dense, 60/5.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Every pass and the summary as JSON.")] = False,
) -> None:
    """Measure side by side: ours, Spark's own windows, and a pass-through without state."""
    from tailrace.bench import aggregate

    found = aggregate.bench(
        rows, files, rounds, case or ["dense", "sparse"], lambda line: show.err.print(line, soft_wrap=True)
    )
    if json:
        print(aggregate.as_json(found))
    else:
        show.out.print(aggregate.table(aggregate.summary(found)))


def _with_inputs(query: Query, inputs: list[str]) -> Query:
    for given in inputs:
        name, _, path = given.partition("=")
        if name not in query.streams or not path:
            raise refuse(f"--input {given}", "it names no stream of the query", f"{'|'.join(query.streams)}=PATH")
        stream = query.streams[name]
        source = stream.source.model_copy(update={"path": Path(path).absolute()})
        streams = query.streams | {name: stream.model_copy(update={"source": source})}
        query = query.model_copy(update={"streams": streams})
    return query


def _time(option: str, text: str | None) -> int | None:
    try:
        return None if text is None else parse_time_ms(text)
    except ValueError:
        raise refuse(
            option, f"{text!r} is no time", "ISO 8601, in UTC unless it says otherwise: 2013-02-01T06:30:00Z"
        ) from None


def _tell(report: Any) -> None:
    show.err.print(
        f"corrected {report.interval}: {report.answers:,} answers given, {report.retracted:,} taken back, "
        f"{report.late:,} late tuples",
        markup=False,
        soft_wrap=True,
    )


def main() -> None:
    """The entry point."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what a supervisor sends ends as cleanly as Ctrl-C
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except Refused as refused:
        show.refusal(refused)
        sys.exit(2)
    except click.ClickException as wrong:
        wrong.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        show.err.print("interrupted; nothing is lost, and the next run goes on from here")
        sys.exit(130)
    except Exception as error:
        show.err.print(f"[bold red]failed[/] {type(error).__name__}: ", end="")
        show.err.print(str(error), markup=False, soft_wrap=True)
        sys.exit(1)
