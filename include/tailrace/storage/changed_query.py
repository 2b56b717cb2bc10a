"""The refusal of a query whose structure differs from its checkpoint's, with the remedies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailrace.ground.command_line import NextCommand
from tailrace.ground.errors import Problem, Refused
from tailrace.storage.manifest import keeps_answers

Changes = Mapping[str, tuple[Any, Any]]
"""The parts of a query's structure that differ: values before and now, by field path."""

_TUMBLING = ("window.size", "window.slide")  # one declared length is both size and slide


class ChangedQuery(Refused):
    """Raised for a query that differs from the one that its checkpoint was made for.

    Put the old values back, rebuild the query, or begin again under another name.
    """


def changed_query(
    changed: Changes, home: str, file: Path | None, rebuild: str | None, begin_again: str
) -> ChangedQuery:
    """Build the refusal of a changed query: one problem, whatever the number of changed fields.

    Parameters
    ----------
    home : str
        The query's folder in the warehouse.
    rebuild : str or None
        The remedy by a rebuild, in words; None if none is possible.
    begin_again : str
        The remedy of beginning again.
    """
    (first, (before, now)), *others = _declared(changed).items()
    fault = f"it is {_in_words(now)}, but the stream in {home} was begun with {_in_words(before)}"
    for name, (old, new) in others:
        fault += f"; {name} is {_in_words(new)}, not {_in_words(old)}"
    ways = ["the old values" if others else "the old value", *([] if rebuild is None else [rebuild]), begin_again]
    return ChangedQuery([Problem(first if file is None else f"{file}: {first}", fault, "; or ".join(ways))])


def rebuild_of(changed: Changes, command: NextCommand, has_driver: bool, has_late_tuples: bool) -> str:
    """Return in words what a rebuild of a changed query does, with the commands.

    `has_driver` says whether a driver runs the query: then it must be drained before, and corrections follow by
    themselves.
    """
    rebuild, keeps = command("rebuild"), keeps_answers(changed)
    if has_driver:
        done = "spreads the state over the tasks again, and keeps all answers"
        done = done if keeps else "answers all of history again, and keeps the old answers aside"
        return f"{rebuild}, once the driver is drained: it {done}"
    if keeps:
        return f"{rebuild}, which spreads the state over the tasks again and keeps all answers"
    again = f"{rebuild}, which answers all of history again and keeps the old answers aside"
    return f"{again}, and then {command('correct')}" if has_late_tuples else again


def _declared(changed: Changes) -> Changes:
    """Drop the change of a slide that equals the size, before and now: the window is tumbling, and its size changed."""
    size, slide = (changed.get(name) for name in _TUMBLING)
    return {name: each for name, each in changed.items() if name != _TUMBLING[1] or size is None or size != slide}


def _in_words(value: Any) -> str:
    return "not set" if value is None else repr(value)
