"""The command `tailrace`. Exit codes: 0 done, 1 failed, 2 refused before anything was written.

130: interrupted; 141: its output is no longer read, as after `| head`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import typer
from typer.exceptions import TyperException

from tailrace.cli import driver_commands, leaving
from tailrace.cli.backups import backup, restore
from tailrace.cli.calibrate import calibrate
from tailrace.cli.correct import correct
from tailrace.cli.doctor import doctor
from tailrace.cli.init import init
from tailrace.cli.interruption import AFTER_INTERRUPTION, RESUMPTION, interruptible
from tailrace.cli.new import new
from tailrace.cli.readers import explain, plot, quality, results, validate
from tailrace.cli.record_readers import late, quarantine
from tailrace.cli.run import run
from tailrace.cli.schema import schema
from tailrace.cli.serve import serve
from tailrace.cli.start import INTERRUPTED
from tailrace.ground import json_log
from tailrace.ground.errors import Busy, Refused, with_remedy
from tailrace.ground.extras import refused_if_missing
from tailrace.ground.version import __version__
from tailrace.terminal import screen

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


for first, words in ((init, "orders.csv"), (new, "topk"), (doctor, "orders.yaml --warehouse warehouse")):
    app.command(epilog=f"Example: [bold]tailrace {first.__name__} {words}[/]")(first)
app.command(epilog="Example: [bold]tailrace validate include/queries/flights.yaml[/]")(validate)
app.command(epilog="Example: [bold]tailrace explain include/queries/flights.yaml[/]")(explain)


app.command(epilog="Example: [bold]tailrace run flights.yaml --warehouse warehouse --bounded --correct[/]")(run)
app.command(
    epilog="Example: [bold]tailrace correct flights.yaml --warehouse warehouse --from 2013-02-01 --to 2013-02-08[/]"
)(correct)
app.command(
    epilog="Example: [bold]tailrace results flights.yaml --warehouse warehouse --format csv --output answers.csv[/]"
)(results)
app.command(epilog="Example: [bold]tailrace quality flights.yaml --warehouse warehouse[/]")(quality)
app.command(epilog="Example: [bold]tailrace quarantine flights --warehouse warehouse --limit 10[/]")(quarantine)
app.command(epilog="Example: [bold]tailrace late flights --warehouse warehouse --format csv[/]")(late)
app.command(epilog="Example: [bold]tailrace plot flights.yaml --warehouse warehouse --output flights.png[/]")(plot)
app.command(epilog="Example: [bold]tailrace calibrate flights.yaml --warehouse warehouse --dry-run[/]")(calibrate)
app.command(epilog="Example: [bold]tailrace rebuild flights.yaml --warehouse wh --dry-run[/]")(driver_commands.rebuild)
app.command(epilog="Example: [bold]tailrace backup flights --warehouse warehouse --output /mnt/flights[/]")(backup)
app.command(epilog="Example: [bold]tailrace restore /mnt/flights --warehouse warehouse[/]")(restore)
app.command(epilog="Example: [bold]tailrace rescale flights 4 --warehouse warehouse[/]")(driver_commands.rescale)
for verb in (driver_commands.deploy, driver_commands.status, driver_commands.drain, driver_commands.stop):
    app.command(epilog=f"Example: [bold]tailrace {verb.__name__} flights[/]")(verb)
app.command(epilog="Example: [bold]tailrace serve platform[/]")(serve)
app.command(epilog="Example: [bold]tailrace schema --output query.schema.json[/]")(schema)


@dataclass(frozen=True)
class Program:
    """A command line.

    Attributes
    ----------
    name : str
        Its name in messages.
    commands : Typer
    after_interruption : dict
        The message after an interruption, by the command's name; `RESUMPTION` for the others.
    """

    name: str
    commands: typer.Typer
    after_interruption: Mapping[str, str]


def main(retried: bool = False, program: Program | None = None) -> None:
    """Run the command of a program, by default of `tailrace`; SIGTERM and SIGHUP end it as cleanly as Ctrl-C."""
    program = program or Program("tailrace", app, AFTER_INTERRUPTION)
    signals = interruptible()
    for name in (None, "py4j.clientserver", "py4j.java_gateway"):
        logging.getLogger(name).addFilter(lambda record: is_wanted(record, interrupted=bool(signals)))
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    with leaving.outputs() as outputs:
        code = _run(program, command, signals, retried, outputs)
    if signals or code == INTERRUPTED:  # typer's code for a KeyboardInterrupt
        with suppress(OSError):
            screen.work_begins()
            screen.err.print(f"interrupted: {program.after_interruption.get(command, RESUMPTION)}")
        leaving.leave(INTERRUPTED, waits=False)
    leaving.leave(code)


def _run(program: Program, command: str, signals: list[int], retried: bool, outputs: list[int]) -> int:
    """Run the command of the arguments, print its failure, if any, and return its exit code.

    `outputs` are the descriptors of stdout and stderr.
    """
    try:
        screen.no_work_yet()
        json_log.use_if_asked(command=command)
        with refused_if_missing(f"{program.name} {command}"):
            code = program.commands(standalone_mode=False)
        screen.work_begins()
        if sys.stdout is not None:
            sys.stdout.flush()  # otherwise a full disk would show after the end
        return code or 0
    except Refused as refused:
        screen.refusal(refused)
        return 1 if retried and isinstance(refused, Busy) else refused.exit_code
    except TyperException as wrong:
        screen.err.print("[bold red]refused[/] ", end="")
        message = getattr(wrong, "format_message", wrong.__str__)()  # names a wrong option
        screen.err.print(message, "(--help lists the options)", markup=False, soft_wrap=True)
        return 2
    except BaseException as error:
        if isinstance(error, SystemExit) and isinstance(error.__context__, OSError):  # typer's code for a closed pipe
            error = error.__context__
        if isinstance(error, BrokenPipeError) and not signals and leaving.is_output_closed(outputs):
            return leaving.CLOSED_PIPE
        if not signals:  # an error after an interruption is no failure
            screen.work_begins()
            screen.err.print(f"[bold red]failed[/] {type(error).__name__}: ", end="")
            text = with_remedy(error) if type(error) is ConnectionError else str(error)  # our own error
            screen.err.print(text, markup=False, soft_wrap=True)
            screen.notes(error)
        return 1


def is_wanted(record: logging.LogRecord, interrupted: bool) -> bool:
    """Return False for py4j's log records of errors that are raised in Python, or passed to Java, anyway.

    After an interruption it is False for all of py4j's records about broken connections.
    """
    text = str(record.msg)
    repeats = text.endswith("while sending command.") or text.startswith("There was an exception while executing")
    return not (repeats or (interrupted and record.name.startswith("py4j.")))
