"""Notes after a stream's status: how to start its driver, what there is to correct, an edit that is not in force."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pyarrow.dataset as ds

from tailrace.api.to_correct import ToCorrect
from tailrace.disorder.policies import policy_from_json
from tailrace.drivers import edits
from tailrace.drivers.driver_status import DriverStatus
from tailrace.ground.errors import Refused
from tailrace.orchestration import settings
from tailrace.orchestration.settings import Declared
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.progress import read_progress


def stream_notes(layout: Layout, status: DriverStatus) -> Iterator[str]:
    """Yield the lines after a stream's status."""
    name = layout.home.name
    try:
        declaration = settings.find(name)
    except Refused:  # it is not declared any more
        declaration = None
    if declaration is not None and status.driver.state == "absent":
        failed = "; if a run has failed, the log of its task says why" if status.reported is None else ""
        yield f"a run of the DAG stream_{name} starts its driver, after a check; so does tailrace deploy {name}{failed}"
    if declaration is None and (clash := settings.clash(name)) is not None:
        yield f"WARNING: {clash}"
    try:
        if note := next_settings(layout):
            yield note
        yield from to_correct(layout, declaration).lines()
    except Exception as error:  # tables may be unavailable or damaged; the driver's status is shown nevertheless
        yield unread(error)
    with suppress(Refused):  # the deployed copy is damaged
        if declaration is not None and status.driver.alive and (warning := edits.warning(layout, declaration.file)):
            yield f"WARNING: {warning}"


def next_settings(layout: Layout) -> str | None:
    """Return a note if the newest complete tick did not have the deployed settings of the policy; None if it had.

    Return None, too, if a calibration has proposed settings, as the driver may use these.
    """
    deployed, tables = DeployedQuery.read(layout), OpenedTables(layout)
    if deployed is None or not tables.has("facts") or tables.has("proposals"):
        return None
    progress = read_progress(tables)
    if progress is None or progress.complete_tick is None:
        return None
    is_in_force = (ds.field("about") == "settings") & (ds.field("from_tick") <= progress.complete_tick)
    facts = tables.read("facts", ["version", "value"], is_in_force).sort_by("version").to_pylist()
    if not facts or policy_from_json(facts[-1]["value"]) == deployed.query().policy:
        return None
    return "K held in the newest complete tick; the deployed settings of disorder hold from the next one on"


def to_correct(layout: Layout, declaration: Declared | None) -> ToCorrect:
    """Read what a stream has to correct, with the DAG that does it."""
    if declaration is None:
        return ToCorrect.read(layout)
    dag = f"correct_{layout.home.name}" if declaration.query.has_late_tuples else None
    return ToCorrect.read(layout, declaration.file, dag)


def unread(error: Exception) -> str:
    """Return the note on tables that can't be read."""
    return f"what there is to correct can't be read: {error}"
