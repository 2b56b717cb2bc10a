"""Explanations of the verdicts on drivers, for people: what happened, and what to do."""

from __future__ import annotations

from tailrace.drivers.driver_host import DriverHost
from tailrace.drivers.liveness import LivenessVerdict
from tailrace.orchestration import driver_lifecycle
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status


def explain(verdict: LivenessVerdict, host: DriverHost, layout: Layout) -> str:
    """Describe what happened to a driver, and what to do."""
    name = layout.home.name
    if verdict.kind == "unreachable":
        return (
            f"the driver host: {verdict.detail}. The stream of {name} was left as it is, nobody watches it now. Start "
            "the driver host, or mend the connection tailrace_driver_host; then clear this task"
        )
    lines = f"\nIts last lines:\n{driver_lifecycle.last_lines(host, layout)}"
    if verdict.kind == "gone":
        return f"the driver of {name} was stopped or removed: {verdict.detail}. To go on, clear this task{lines}"
    if verdict.kind == "hung":
        return f"the driver of {name} hangs again and again: {verdict.detail}; it is stopped now{lines}"
    status = Status.read(layout)
    if status is None or status.problem is None:
        fault = f"the driver of {name} has given up: {verdict.detail}"
        return f"{fault}. Mend what its last lines say; clear this task{lines}"
    end = f"The driver host says: {verdict.detail}. Mend that; clear this task"
    return f"the driver of {name} has given up: {status.problem}\n{end}{lines}"
