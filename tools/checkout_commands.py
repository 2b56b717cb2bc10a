"""The program of `tools/dev.py`: its commands, which import what they need, and their messages."""

from __future__ import annotations

import typer

from bench.command import bench
from demo.command import demo
from generators.frames_command import frames
from generators.replay_command import replay
from tailrace.cli import commands
from tailrace.cli.commands import Program

app = typer.Typer(
    help="Commands of a checkout of tailrace's repository.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
)
for command, words in (
    (demo, "--warehouse warehouse/demo"),
    (bench, "aggregate --case dense --json"),
    (replay, "--model game1 --rows 100000 --output data/readings"),
    (frames, "--darken 58 --output data/frames film.mp4"),
):
    app.command(epilog=f"Example: [bold].venv/bin/python tools/dev.py {command.__name__} {words}[/]")(command)

DEV = Program(
    "tools/dev.py",
    app,
    {
        "demo": "nothing of it runs any more",
        "frames": "nothing is written",
        "replay": "no file of it stays; what a topic has of it does, and the same command sends all again",
    },
)


def main() -> None:
    """Run the command of the arguments."""
    commands.main(program=DEV)
