"""Overview of all queries and drivers: declared ones, ones in the warehouse, and ones on the driver host."""

from __future__ import annotations

from collections.abc import Iterator

from tailrace.drivers.driver_host import DriverHost
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.homes import deployed_program, resolved
from tailrace.ground.duration import format_time
from tailrace.ground.query_names import is_query_name
from tailrace.orchestration import driver_lifecycle, settings
from tailrace.storage.layout import Layout
from tailrace.storage.warehouses import location_of

COLUMNS = ("query", "driver", "stream", "batches", "to read", "committed up to", "file", "pid", "answers", "late")


def overview() -> tuple[tuple[str, ...], list[list[str]], list[str]]:
    """Return the columns and rows of a table of all queries; and problems of query files, and drivers without one."""
    settings.use_in_shell()
    declared, problems = settings.declared()
    files = {each.query.name: each.file.name for each in declared}
    host, warehouse = settings.driver_host(), settings.warehouse()
    homes = location_of(warehouse).glob("[a-z]*")
    begun = [home.name for home in homes if is_query_name(home.name) and (home / "_stream").is_dir()]
    rows, notes = [], [str(problem) for problem in problems]
    hosted, others = _hosted(host, resolved(location_of(warehouse)))
    for name in sorted({*files, *begun, *hosted}):
        status = driver_lifecycle.status(host, Layout.of(warehouse, name))
        rows.append(_row(name, status, files.get(name)))
        notes += _notes(name, status)
        if name not in files and status.driver.alive:
            notes.append(
                f"{name}: a driver without a query file; tailrace drain {name} or tailrace stop {name} ends it"
            )
    return COLUMNS, rows, notes + others


def _notes(name: str, status: DriverStatus) -> Iterator[str]:
    """Yield what is wrong with a stream, for a line below the table."""
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
    """Test whether a query has a stream in the warehouse, or a driver of ours, whether or not it is declared."""
    if not is_query_name(name):
        return False
    layout = Layout.of(settings.warehouse(), name)
    return layout.stream.is_dir() or deployed_program(host, layout.home) is not None


def _hosted(host: DriverHost, warehouse: str) -> tuple[set[str], list[str]]:
    """Return the queries of a warehouse that have a driver on the host, and a note of each other warehouse's driver."""
    ours, notes = set(), []
    for query in sorted({name.partition(".")[0] for name in host.names()}):
        for home in map(resolved, host.homes(query).values()):
            other, _, _ = home.rpartition("/")
            if other == warehouse:
                ours.add(query)
            else:
                notes.append(f"{query}: the host has a driver of another warehouse, too: {other}")
    return ours, notes


def _row(name: str, status: DriverStatus, file: str | None) -> list[str]:
    reported = status.reported
    pid = "–" if status.driver.pid is None else str(status.driver.pid)
    if reported is None:
        return [name, status.driver.state, *["–"] * 4, file or "none", pid, "–", "–"]
    committed = "–" if reported.committed is None else format_time(reported.committed)[:19]
    counts = [f"{number:,}" for number in (reported.batches, reported.rows_left)]
    totals = [f"{number:,}" for number in (reported.answers, reported.late)]
    state = reported.state if reported.problem is None else "problem"
    return [name, status.driver.state, state, *counts, committed, file or "none", pid, *totals]
