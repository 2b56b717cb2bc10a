"""The command `tailrace`. Exit codes: 0 done, 1 failed, 2 refused before anything was written.

130: interrupted; 141: nobody reads its output any more, as after `| head`.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.exceptions import TyperException

from tailrace import __version__
from tailrace.cli import driver_commands, leaving
from tailrace.cli.backups import backup, restore
from tailrace.cli.calibrate import calibrate
from tailrace.cli.engines import Engine, EngineName, correct_on, run_on
from tailrace.cli.frames import frames
from tailrace.cli.inputs import with_inputs
from tailrace.cli.interruption import AFTER_INTERRUPTION, RESUMPTION, interruptible
from tailrace.cli.py4j_log import is_wanted
from tailrace.cli.readers import File, Streams, Warehouse, explain, plot, quality, results, validate
from tailrace.cli.replay import replay
from tailrace.cli.time_options import time_option
from tailrace.cli.tools import bench, demo, schema
from tailrace.ground import json_log
from tailrace.ground.errors import Busy, Refused, refuse
from tailrace.ground.words import counted, overflow_of
from tailrace.kind.failed_pairs import FailedPairs
from tailrace.stream.run_options import BATCH_ROWS, RunOptions
from tailrace.terminal import screen

if TYPE_CHECKING:
    pass

_INTERRUPTED = 130

app = typer.Typer(
    help="Continuous queries over out-of-order streams that answer early and end up right.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        screen.out.print(f"tailrace {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Continuous queries over out-of-order streams that answer early and end up right."""


app.command(epilog="Example: [bold]tailrace validate include/queries/flights.yaml[/]")(validate)
app.command(epilog="Example: [bold]tailrace explain include/queries/flights.yaml[/]")(explain)


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
        int, typer.Option(help="At most so many rows make a batch; no answer depends on it.", min=1)
    ] = BATCH_ROWS,
    engine: Engine = EngineName.spark,
    streams: Streams = None,
    deployed: Annotated[
        str | None, typer.Option(help="Run the copy of FILE with which this query was deployed.", hidden=True)
    ] = None,
) -> None:
    """Run a query in the foreground: live, or --bounded. Ctrl-C stops it; the next run goes on, on either engine."""
    from tailrace.cli.run_report import fail_if_none_was_accepted, print_summary
    from tailrace.query.loading import load, located
    from tailrace.query.query import require_late_tuples
    from tailrace.storage.deployed import DeployedQuery
    from tailrace.storage.deployment import await_deployment
    from tailrace.storage.layout import Layout
    from tailrace.stream.run_summary import RunSummary, all_of
    from tailrace.terminal.stream_progress import StreamProgress

    if deployed is None:
        query = load(file, streams)
    else:
        layout = Layout.of(warehouse, deployed)
        query = await_deployment(layout.home, lambda: DeployedQuery.read(layout)).query()
    query = with_inputs(query, input or [])
    if not bounded and (keep_open or correct):
        fault = "without --bounded the stream goes on until it is stopped"
        raise refuse("--keep-open" if keep_open else "--correct", fault, "--bounded beside it")
    if correct:
        require_late_tuples(query)
    Layout.of(warehouse, query.name).require_deployable(query, file)
    summary = RunSummary()
    with located(file, streams), StreamProgress() as progress:
        options = RunOptions(batch_rows, live=not bounded, flush=not keep_open)
        batches = run_on(engine)(query, warehouse, options, all_of(progress, summary))
    if not Layout.of(warehouse, query.name).manifest():
        screen.err.print("the input has no rows: there is nothing to answer, nor to correct")
        return
    if not batches:
        screen.err.print("nothing new to read")
    print_summary(summary, query, Layout.of(warehouse, query.name))
    if correct:
        with screen.working("correcting"):
            _print_report(correct_on(engine)(query, warehouse))
    fail_if_none_was_accepted(summary)


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
    engine: Engine = EngineName.spark,
    streams: Streams = None,
) -> None:
    """Give windows that late tuples missed their next version, from history. It can be run again, in any order."""
    from tailrace.correction.correction_range import CorrectionRange
    from tailrace.query.loading import load

    query, by_arrival = load(file, streams), arrived_from is not None or arrived_to is not None
    if by_arrival and (start is not None or end is not None):
        raise refuse(
            "--from, --arrived-from",
            "a range of event time and an interval of arrival exclude each other",
            "one of them",
        )
    if by_arrival and (arrived_from is None or arrived_to is None):
        raise refuse("--arrived-from, --arrived-to", "an interval of arrival has two ends", "both of them")
    correction_range = (
        CorrectionRange(time_option("--arrived-from", arrived_from), time_option("--arrived-to", arrived_to), True)
        if by_arrival
        else CorrectionRange(time_option("--from", start), time_option("--to", end))
    )
    with screen.working(f"correcting {correction_range}"):
        _print_report(correct_on(engine)(query, warehouse, correction_range))


app.command(
    epilog="Example: [bold]tailrace results flights.yaml --warehouse warehouse --format csv --output answers.csv[/]"
)(results)
app.command(epilog="Example: [bold]tailrace quality flights.yaml --warehouse warehouse[/]")(quality)
app.command(epilog="Example: [bold]tailrace plot flights.yaml --warehouse warehouse --output flights.png[/]")(plot)
app.command(epilog="Example: [bold]tailrace calibrate flights.yaml --warehouse warehouse --dry-run[/]")(calibrate)
app.command(epilog="Example: [bold]tailrace rebuild flights.yaml --warehouse warehouse --dry-run[/]")(
    driver_commands.rebuild
)
app.command(epilog="Example: [bold]tailrace backup flights --warehouse warehouse --output /mnt/flights[/]")(backup)
app.command(epilog="Example: [bold]tailrace restore /mnt/flights --warehouse warehouse[/]")(restore)
for verb in (driver_commands.deploy, driver_commands.status, driver_commands.drain, driver_commands.stop):
    app.command(epilog=f"Example: [bold]tailrace {verb.__name__} flights[/]")(verb)
app.command(epilog="Example: [bold]tailrace replay --model game1 --rows 100000 --output data/readings[/]")(replay)
app.command(epilog="Example: [bold]tailrace frames --darken 58 --output data/frames film.mp4[/]")(frames)
app.command(epilog="Example: [bold]tailrace demo --warehouse warehouse/demo[/]")(demo)
app.command(epilog="Example: [bold]tailrace bench aggregate --case dense --json[/]")(bench)
app.command(epilog="Example: [bold]tailrace schema --output query.schema.json[/]")(schema)


def _print_report(report: Any) -> None:
    late, given = counted(report.late, "late tuple"), counted(report.answers, "answer")
    counts = f"{given} given, {report.retracted:,} taken back, {late}"
    if report.repeats:
        counts += f", {counted(report.repeats, 'repeat')} of ids"
    screen.err.print(f"corrected {report.interval}: {counts}", markup=False, soft_wrap=True)
    if report.overflowed:
        screen.err.print(f"warning: {overflow_of(report.overflowed)}", markup=False, soft_wrap=True)
    if report.where_failed:
        failed = FailedPairs(report.where_failed, report.where_failure)
        screen.err.print(f"warning: {failed.warning}", markup=False, soft_wrap=True)


def main(retried: bool = False) -> None:
    """The entry point of the command; SIGTERM and SIGHUP end it as cleanly as Ctrl-C.

    `retried`: whether a supervisor starts it, which takes exit code 2 for final; a query in use is 1 then.
    """
    signals = interruptible()
    for name in (None, "py4j.clientserver", "py4j.java_gateway"):
        logging.getLogger(name).addFilter(lambda record: is_wanted(record, interrupted=bool(signals)))
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    with leaving.outputs() as outputs:
        code = _run(command, signals, retried, outputs)
    if signals or code == _INTERRUPTED:  # typer makes this code of a KeyboardInterrupt
        with suppress(OSError):
            screen.err.print(f"interrupted: {AFTER_INTERRUPTION.get(command, RESUMPTION)}")
        leaving.leave(_INTERRUPTED, waits=False)
    leaving.leave(code)


def _run(command: str, signals: list[int], retried: bool, outputs: list[int]) -> int:
    """Run the command of the arguments, say how it failed if it did, and return its exit code.

    `outputs`: the descriptors of stdout and stderr.
    """
    try:
        json_log.use_if_asked(command=command)
        code = app(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()  # else a full disk would show after the end
        return code or 0
    except Refused as refused:
        screen.refusal(refused)
        return 1 if retried and isinstance(refused, Busy) else refused.exit_code
    except TyperException as wrong:
        screen.err.print("[bold red]refused[/] ", end="")
        message = getattr(wrong, "format_message", wrong.__str__)()  # names the option, where one is wrong
        screen.err.print(message, "(--help tells what there is)", markup=False, soft_wrap=True)
        return 2
    except BaseException as error:
        if isinstance(error, SystemExit) and isinstance(error.__context__, OSError):  # typer's, at a closed pipe
            error = error.__context__
        if isinstance(error, BrokenPipeError) and not signals and leaving.is_output_closed(outputs):
            return leaving.CLOSED_PIPE
        if not signals:  # an error on the way out of an interruption is no failure
            screen.err.print(f"[bold red]failed[/] {type(error).__name__}: ", end="")
            screen.err.print(str(error), markup=False, soft_wrap=True)
        return 1
