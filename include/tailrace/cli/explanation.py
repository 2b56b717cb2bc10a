"""The explanation of a declared query: how it is run, and why so."""

from __future__ import annotations

from tailrace.ground.duration import format_duration
from tailrace.kinds import build
from tailrace.query.query import Query


def explanation(query: Query) -> dict[str, str]:
    """Return the parts of the plan by their names."""
    plan = build(query).explanation
    spread = "" if query.tasks == 0 else ", over 1 task" if query.tasks == 1 else f", over {query.tasks} tasks"
    return {
        "query": query.name,
        "kind": query.kind,
        "streams": ", ".join(query.streams),
        "partition": f"{plan.partition}{spread}",
        "method": plan.method,
        "why": plan.reason,
        "policy": f"{query.policy.policy}, decided at the end of each tick of {format_duration(query.tick_ms)}",
    }
