"""Continuous queries over out-of-order streams that answer early and end up right.

The Python API: `load`, `query` and `sql` declare a `Query`, whose methods run it, correct it and read its answers.

>>> import tailrace
>>> rows = {"at": ["2024-05-01T00:00:01Z", "2024-05-01T00:00:04Z"], "id": [1, 2], "speed": [2.5, 1.5]}
>>> readings = tailrace.Stream(rows, event_time="at", id="id")
>>> total = {"function": "sum", "column": "speed"}
>>> loads = tailrace.query("aggregate", streams={"readings": readings}, window="5 s", aggregate=total)
>>> loads.run().results().arrow()["value"].to_pylist()
[4.0]
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from tailrace.ground.version import __version__ as __version__

TYPE_CHECKING = False  # true for type checkers; importing `typing` would take longer than all the rest here
if TYPE_CHECKING:
    from typing import Any

    from tailrace import testing as testing
    from tailrace.api.answers import Answers as Answers
    from tailrace.api.declaration import load as load
    from tailrace.api.declaration import query as query
    from tailrace.api.declaration import sql as sql
    from tailrace.api.failed import Failed as Failed
    from tailrace.api.query import Query as Query
    from tailrace.api.run import Run as Run
    from tailrace.api.stream import Stream as Stream
    from tailrace.ground.errors import Busy as Busy
    from tailrace.ground.errors import Damaged as Damaged
    from tailrace.ground.errors import InUse as InUse
    from tailrace.ground.errors import Problem as Problem
    from tailrace.ground.errors import Refused as Refused

_MODULES = {
    **dict.fromkeys(("load", "query", "sql"), "tailrace.api.declaration"),
    **dict.fromkeys(("Busy", "Damaged", "InUse", "Problem", "Refused"), "tailrace.ground.errors"),
    "Answers": "tailrace.api.answers",
    "Failed": "tailrace.api.failed",
    "Query": "tailrace.api.query",
    "Run": "tailrace.api.run",
    "Stream": "tailrace.api.stream",
}
"""The module of each public name; it is imported when the name is first used (PEP 562)."""

__all__ = ["__version__", "testing", *_MODULES]  # noqa: PLE0604 (the names are texts)


class _Module(ModuleType):
    """A module with its own type, which is pickled by name like other modules."""

    def __reduce__(self) -> Any:
        return import_module, (self.__name__,)


class _CallableRoom(_Module):
    """A subpackage that has the name of an API function; calling it calls that function."""

    def __call__(self, *arguments: Any, **fields: Any) -> Any:
        name = self.__name__.rpartition(".")[2]
        return getattr(import_module(_MODULES[name]), name)(*arguments, **fields)


class _Package(_Module):
    """The package itself: it makes a subpackage callable if the API has a function of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _MODULES and isinstance(value, ModuleType):
            value.__class__ = _CallableRoom
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "testing" or (name in _MODULES and name.islower() and name != "load"):
        return import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
