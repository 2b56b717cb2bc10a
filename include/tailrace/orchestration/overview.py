"""Overview of all queries and drivers: declared ones, those in the warehouse, and those on the driver host."""

from __future__ import annotations

from collections.abc import Container, Iterator

from tailrace.drivers import driver_lifecycle
from tailrace.drivers.driver_host import DriverHost
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.homes import deployed_program, resolved
from tailrace.ground.duration import format_time
from tailrace.ground.query_names import is_query_name
from tailrace.orchestration import settings
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.stream_notes import to_correct, unread
from tailrace.storage.begun import begun
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.storage.warehouses import Warehouse, location_of

COLUMNS = (
    "query",
    "driver",
    "stream",
    "batches",
    "to read",
    "to correct",
    "committed up to",
    "file",
    "pid",
    "answers",
    "late",
)


def overview() -> tuple[tuple[str, ...], list[list[str]], list[str]]:
    """Return the columns and rows of a table of all queries, and problems.

    The problems are of query files, and of drivers without one.
    """
    settings.use_in_shell()
    declared, problems = settings.declared()
    declarations = {each.query.name: each for each in declared}
    host, warehouse = settings.driver_host(), settings.warehouse()
    rows, notes = [], [str(problem) for problem in problems]
    ours, others = hosted(host, warehouse)
    for name in sorted({*declarations, *begun(location_of(warehouse)), *ours}):
        layout, declaration = Layout.for_query(warehouse, name), declarations.get(name)
        status = driver_lifecycle.status(host, layout)
        notes += _notes(name, status)
        try:
            uncorrected = _uncorrected(layout, status.reported, declaration)
        except Exception as error:  # tables may be unavailable or damaged; the row is shown nevertheless
            uncorrected = "–"
            notes.append(f"{name}: {unread(error)}")
        file = "none" if declaration is None else declaration.file.name
        rows.append(_row(name, status, file, uncorrected))
        if declaration is None and status.driver.alive:
            end = f"a driver without a query file; tailrace drain {name} or tailrace stop {name} ends it"
            notes.append(f"{name}: {settings.clash(name) or end}")
    return COLUMNS, rows, notes + others


def _notes(name: str, status: DriverStatus) -> Iterator[str]:
    """Yield the problems of a stream, for a line below the table."""
    reported = status.reported
    if reported is None:
        return
    for problem in reported.problems:
        yield f"{name}: {problem}"
    if reported.quarantined:
        most = "most" if reported.quarantined > reported.rows else f"{reported.quarantined:,}"
        read = reported.rows + reported.filtered + reported.quarantined
        yield f"{name}: {most} of {read:,} records were rejected: {reported.rejected}"


def is_begun(host: DriverHost, name: str) -> bool:
    """Test whether a query, declared or not, has a stream in the warehouse, or a driver of this warehouse."""
    if not is_query_name(name):
        return False
    layout = Layout.for_query(settings.warehouse(), name)
    return layout.stream.is_dir() or deployed_program(host, layout.home) is not None


def hosted(host: DriverHost, warehouse: Warehouse, besides: Container[str] = ()) -> tuple[set[str], list[str]]:
    """Return the queries of a warehouse that have a driver on the host, and notes of other warehouses' drivers.

    Parameters
    ----------
    besides : container of str
        Queries to leave out, for which the host is not asked.
    """
    ours, notes, wanted = set(), [], resolved(location_of(warehouse))
    for query in sorted({name.partition(".")[0] for name in host.names()}):
        if query in besides:
            continue
        for home in map(resolved, host.homes(query).values()):
            other, _, _ = home.rpartition("/")
            if other == wanted:
                ours.add(query)
            else:
                notes.append(f"{query}: the host has a driver of another warehouse, too: {other}")
    return ours, notes


def _uncorrected(layout: Layout, reported: Status | None, declaration: Declared | None) -> str:
    """Return the number of late tuples that wait for a correction; tables are only read if there may be any."""
    if reported is None:
        return "–"
    may_have_late = reported.late or not reported.knows_its_source  # totals may be 0
    return f"{to_correct(layout, declaration).late:,}" if may_have_late else "0"


def _row(name: str, status: DriverStatus, file: str, uncorrected: str) -> list[str]:
    reported = status.reported
    pid = "–" if status.driver.pid is None else str(status.driver.pid)
    if reported is None:
        driver = "not started" if status.driver.state == "absent" else status.driver.state
        return [name, driver, *["–"] * 5, file, pid, "–", "–"]
    committed = "–" if reported.committed is None else format_time(reported.committed)[:19]
    counts = [f"{reported.batches:,}", _count(status.lag_rows), uncorrected]
    totals = [f"{number:,}" for number in (reported.answers, reported.late)]
    state = reported.state if reported.problem is None or reported.state == "failed" else "problem"
    return [name, status.driver.state, state, *counts, committed, file, pid, *totals]


def _count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"
