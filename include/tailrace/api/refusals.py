"""Refusals for users of Python: they name arguments instead of options of the command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tailrace.ground.errors import Problem, Refused

_OPTION = re.compile(r"--([a-z][a-z-]*)")
_ARGUMENTS = {"from": "start", "to": "end"}


@contextmanager
def naming_arguments() -> Iterator[None]:
    """Name the arguments of Python in refusals that name options of the command."""
    try:
        yield
    except Refused as refused:
        said = [Problem(*map(_in_python, (each.where, each.fault, each.remedy))) for each in refused.problems]
        if tuple(said) == refused.problems:
            raise
        raise refused.restated(said) from refused


def _in_python(text: str) -> str:
    """Replace options by arguments in a text; a text with a whole command stays."""
    if "tailrace " in text:
        return text
    return _OPTION.sub(lambda option: _ARGUMENTS.get(option[1], option[1].replace("-", "_")), text)
