"""Writes the reference of the command `tailrace`: each command with its arguments and options, from the parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

import typer

from tailrace.cli.commands import app

_ABOUT = """\
# Commands

`tailrace --help` lists the commands, and `tailrace COMMAND --help` shows these options. Exit codes, and how output is
written: [Exit codes](../exit-codes.md).
"""


def commands() -> dict[str, Any]:
    """Return the commands that are not hidden, by name."""
    group = typer.main.get_command(app)
    return {name: command for name, command in group.commands.items() if not command.hidden}  # type: ignore[attr-defined]


def options(command: Any) -> list[Any]:
    """Return the arguments and options of a command that are not hidden."""
    return [each for each in command.params if not each.hidden and each.name != "help"]


def page() -> str:
    """Return the page."""
    return "\n".join([_ABOUT, *(_command(name, command) for name, command in commands().items())])


def _command(name: str, command: Any) -> str:
    parts = [f"## tailrace {name}", "", _plain(command.help or ""), ""]
    if command.epilog:
        parts += ["```sh", _plain(command.epilog).removeprefix("Example: "), "```", ""]
    rows = [_row(each) for each in options(command)]
    if rows:
        parts += ["| argument or option | value | default | meaning |", "| --- | --- | --- | --- |", *rows, ""]
    return "\n".join(parts)


def _row(option: Any) -> str:
    is_argument = option.param_type_name == "argument"
    names = option.metavar or option.name.upper() if is_argument else ", ".join([*option.opts, *option.secondary_opts])
    repeated = ", repeated" if option.multiple or option.nargs == -1 else ""
    value = "" if getattr(option, "is_flag", False) else f"{_value(option)}{repeated}"
    variable = f" Environment variable: `{option.envvar}`." if option.envvar else ""
    cells = [f"`{names}`", value, _default(option), _plain(option.help or "") + variable]
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _value(option: Any) -> str:
    annotation = option.type_descriptor.annotation
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(f"`{member.value}`" for member in annotation)
    if option.metavar:
        return f"`{option.metavar}`"
    names = {"str": "text", "int": "integer", "float": "number", "Path": "path"}
    (name,) = {*_names(annotation)} & names.keys() or {"str"}
    bounds = [f"≥ {option.min}"] if option.min is not None else []
    bounds += [f"≤ {option.max}"] if option.max is not None else []
    return " ".join([names[name], *bounds])


def _names(annotation: Any) -> Iterator[str]:
    yield getattr(annotation, "__name__", "")
    for part in getattr(annotation, "__args__", ()):
        yield from _names(part)


def _default(option: Any) -> str:
    if option.required:
        return "*required*"
    value = option.default.value if isinstance(option.default, Enum) else option.default
    if value is None or value is False or value == [] or callable(value):
        return "–"
    return f"`{value}`"


def _plain(text: str) -> str:
    """Return text without rich's markup and line breaks."""
    plain = re.sub(r"\[/?(?:bold|dim|italic|cyan|red)?(?: \w+)*\]", "", text)
    return " ".join(plain.replace(r"\[", "[").split())
