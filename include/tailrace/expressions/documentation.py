"""The table of all functions, for the documentation."""

from __future__ import annotations

import tailrace.expressions.functions  # noqa: F401  they register themselves
from tailrace.expressions.registry import FUNCTIONS


def function_table() -> str:
    """Return a Markdown table of the functions: arguments, meaning and other names."""
    names: dict[str, list[str]] = {}
    for name, function in FUNCTIONS.items():
        names.setdefault(function.signature, []).append(name)
    lines = ["| function | gives | also called |", "| --- | --- | --- |"]
    for signature, own in sorted(names.items()):
        function = FUNCTIONS[own[0]]
        others = ", ".join(f"`{name}`" for name in own if name != function.name)
        lines.append(f"| `{signature}` | {function.meaning} | {others} |")
    return "\n".join(lines)
