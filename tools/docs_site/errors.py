"""Writes the reference of errors: each exception, from its class; and what is printed for a broken file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import tailrace
from tailrace.advice.proposal import AmbiguousDates
from tailrace.api.failed import Failed
from tailrace.calibration.recent_windows import NotReady
from tailrace.ground.errors import Busy, Damaged, InUse, Refused, SourceChanged, Unfit
from tailrace.kind.table_place import WrongColumn
from tailrace.query.loading import load
from tailrace.sources.formats.required_columns import MissingColumn, UnknownTypes
from tailrace.storage.changed_query import ChangedQuery

ERRORS: tuple[type[Exception], ...] = (
    Refused,
    Unfit,
    MissingColumn,
    UnknownTypes,
    WrongColumn,
    AmbiguousDates,
    ChangedQuery,
    SourceChanged,
    NotReady,
    InUse,
    Busy,
    Damaged,
    Failed,
)
"""The exceptions that a user meets, in the order of the page."""

_BROKEN = """\
name: revenue
kind: aggregate
streams:
  orders:
    source: {format: csv, path: orders}
    event_time: ordered
    id: order_id
    key: shop
windw: 5 min
aggregate: {function: summ, column: amount}
disorder: {policy: k_slack, k: 30 parsecs}
"""
_ABOUT = """\
# Errors

A command that ends with one of these exceptions prints its message, and has its exit code. There are
[other exit codes](../exit-codes.md). A function of the [Python API](../python.md#errors) raises the exception. Public
classes begin with `tailrace.`. Each other class is a subclass of the public one beside it, and `except` with the public
one catches it.
"""
_PROBLEM = """\
## The shape of a problem

A refusal has all problems of its input, in `problems`. Each one has three parts:

| part | says |
| --- | --- |
| `where` | the place: file, line and field; or the option, the path or the topic |
| `fault` | what is wrong |
| `remedy` | what would be right, with the nearest name where one is misspelt |

The command names four problems of this file:
"""
_PYTHON = """\
In Python the same problems are data:

```python
import tailrace

try:
    tailrace.load("revenue.yaml")
except tailrace.Refused as refused:
    for problem in refused.problems:
        print(problem.where, problem.fault, problem.remedy, sep="\\n")
```

A command that ends with any other exception prints `failed`, the exception and its message; its exit code is 1. Then no
input was refused: a disk is full, for example, or a server is away.
"""


def page() -> str:
    """Return the page."""
    rows = ["| exception | exit code | when | what to do |", "| --- | --- | --- | --- |", *map(_row, ERRORS), ""]
    example = [
        f'```text title="revenue.yaml"\n{_BROKEN}```\n',
        "```sh\ntailrace validate revenue.yaml   # exit code 2\n```\n",
        f"```text\n{_refusal()}\n```\n",
    ]
    return "\n".join([_ABOUT, *rows, _PROBLEM, *example, _PYTHON])


def exit_code(error: type[Exception]) -> int:
    """Return the exit code of a command that ends with an exception; it is 1 unless the class says another one."""
    return error.exit_code if issubclass(error, Refused) else 1


def _row(error: type[Exception]) -> str:
    when, what_to_do = _paragraphs(error)
    cells = (_names(error), str(exit_code(error)), when.removeprefix("Raised "), what_to_do)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _names(error: type[Exception]) -> str:
    """Return the public name of a class; before it the name of its own, if that one is not public."""
    if error.__name__ in tailrace.__all__:
        return f"`tailrace.{error.__name__}`"
    public = next(each for each in error.__mro__ if each.__name__ in tailrace.__all__)
    return f"`{error.__name__}`, a `tailrace.{public.__name__}`"


def _paragraphs(error: type[Exception]) -> tuple[str, str]:
    """Return the first two paragraphs of a class's docstring: when it is raised, and what the user does."""
    when, what_to_do = (" ".join(each.split()) for each in (error.__doc__ or "").split("\n\n")[:2])
    return when, what_to_do


def _refusal() -> str:
    """Return what `tailrace validate` prints for the broken file."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "revenue.yaml"
        file.write_text(_BROKEN)
        try:
            load(file)
        except Refused as refused:
            return "\n".join(f"refused {problem}" for problem in refused.problems).replace(f"{directory}/", "")
    raise AssertionError("the file is not broken")
