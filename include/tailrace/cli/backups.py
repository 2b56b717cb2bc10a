"""The commands that back up a query, even while its stream runs, and restore it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.cli.arguments import Warehouse
from tailrace.cli.local_paths import local_path
from tailrace.ground.query_names import is_query_name
from tailrace.ground.words import counted
from tailrace.terminal import screen

if TYPE_CHECKING:
    from tailrace.storage.backup_manifest import BackupManifest


def backup(
    query: Annotated[str, typer.Argument(help="The name of a query, or its file.", metavar="QUERY|FILE")],
    warehouse: Warehouse,
    output: Annotated[Path, typer.Option(help="The directory to write to, empty or new.", callback=local_path)],
) -> None:
    """Copy a query's tables, journal and state, also while its stream runs; corrections wait meanwhile.

    The state of a stream that runs is left out. What a source holds is not in it.
    """
    from tailrace.query.loading import load
    from tailrace.storage.backup import back_up
    from tailrace.storage.layout import Layout

    name = query if is_query_name(query) and not Path(query).is_file() else load(Path(query)).name
    layout = Layout.for_query(warehouse, name)
    with screen.working(f"backing up {layout.home}"):
        made = back_up(layout, output)
    screen.work_begins()
    screen.err.print(f"backed up {_described(made)}", markup=False, soft_wrap=True)
    _print_missing_state(made)


def restore(
    backup: Annotated[Path, typer.Argument(help="A directory of tailrace backup.", callback=local_path)],
    warehouse: Warehouse,
) -> None:
    """Restore a query from a backup, into a warehouse that does not have it; its stream goes on from there."""
    from tailrace.storage.restore import restore as restore_backup

    with screen.working(f"restoring {backup}"):
        made = restore_backup(backup, warehouse)
    screen.work_begins()
    screen.err.print(f"restored {_described(made)}, of {made.made_at}", markup=False, soft_wrap=True)
    _print_missing_state(made)


def _described(made: BackupManifest) -> str:
    sizes = f"{counted(len(made.files), 'file')}, {made.size / 1e6:,.1f} MB"
    return f"{made.query}: {counted(made.batches, 'batch', 'batches')}, {sizes}"


def _print_missing_state(made: BackupManifest) -> None:
    if made.batches and not made.has_state:
        screen.err.print(
            "its stream was running, so the tasks' state is not in it: once it is restored, tailrace rebuild FILE "
            "builds the state again from history, before the stream is started",
            soft_wrap=True,
        )
