"""A YAML file as plain data: every scalar as text, the line of every field, and the problems found in it."""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.ground.files.regular_files import open_regular

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast where PyYAML has libyaml
_SYNTAX = yaml.YAMLError, ValueError, OverflowError  # the last two: an escape that stands for no character
_OF_DATA = (".csv", ".json", ".parquet")
_LISTED = 1000  # files of a directory, which may have millions
MAX_BYTES, MAX_DEPTH, MAX_MESSAGE = 64 * 1024, 20, 300
FieldPath = tuple[str, ...]


class YamlFile:
    """A parsed YAML text: its plain data, the line of every path in it, and its problems.

    Scalars stay text, and each field parses its own text, so that YAML 1.1 does not change `on`, `12:30` or `010`.
    """

    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        self.lines: dict[FieldPath, int] = {(): 1}
        self.problems: list[tuple[int, Problem]] = []
        try:
            root = self._compose(text, LOADER)
        except _SYNTAX:
            root = self._compose_slowly(text)
        if not isinstance(root, yaml.MappingNode):
            remedy = _remedy_of_data(file) or "fields, one a line, beginning with name: ball_load"
            raise refuse(f"{file}:1", "holds no fields", remedy)
        self.data = self._plain_data(root, ())

    @property
    def directory(self) -> Path:
        """The directory at which relative paths in it start."""
        return self.file.parent

    def add(self, path: FieldPath, fault: str, remedy: str, line: int | None = None) -> None:
        """Record a problem; a path that is not in the file gets the line of the nearest section above it."""
        ancestor = path
        while ancestor not in self.lines:
            ancestor = ancestor[:-1]
        line = self.lines[ancestor] if line is None else line
        where = f"{self.file}:{line}: {'.'.join(path)[:MAX_MESSAGE]}" if path else f"{self.file}:{line}"
        self.problems.append((line, Problem(where, fault[:MAX_MESSAGE], remedy[:MAX_MESSAGE])))

    def refuse(self) -> None:
        if self.problems:
            raise Refused([problem for _, problem in sorted(self.problems, key=lambda entry: entry[0])])

    def _compose(self, text: str, loader: Any) -> yaml.Node | None:
        self._check_events(text, loader)
        root: yaml.Node | None = yaml.compose(text, loader)
        return root

    def _compose_slowly(self, text: str) -> yaml.Node | None:
        """Compose what libyaml refuses with PyYAML's own parser: it accepts `{column:}`, and explains errors better."""
        self.problems.clear()
        try:
            return self._compose(text, yaml.SafeLoader)
        except _SYNTAX as error:
            raise self._explain_syntax(text, error) from None

    def _check_events(self, text: str, loader: Any) -> None:
        """Refuse anchors, aliases, tags, a second document and deep nesting before anything is built from the text.

        So a file means what it shows.
        """
        depth = documents = 0
        for event in yaml.parse(text, loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            documents += isinstance(event, yaml.DocumentStartEvent)
            line = getattr(event.start_mark, "line", 0) + 1
            if anchor := getattr(event, "anchor", None):
                self.add((), f"anchors and aliases are not read (here {anchor})", "the value itself", line)
            if tag := getattr(event, "tag", None):
                self.add((), f"tags are not read (here {tag!r})", "the value without the tag", line)
            if documents > 1 or depth > MAX_DEPTH:
                fault = "a second document begins (---)" if documents > 1 else f"nested deeper than {MAX_DEPTH} levels"
                self.add((), fault, "one query a file, of fields in sections", line)
                break
        self.refuse()

    def _explain_syntax(self, text: str, error: Exception) -> Refused:
        mark, context_mark = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
        line = mark.line + 1 if mark else text.count("\n", 0, getattr(error, "position", 0)) + 1
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        context = f" in what begins in line {context_mark.line + 1}" if context_mark else ""
        right = "a colon and a space after each field, even indentation by spaces, closed brackets and quotes"
        remedy = _remedy_of_data(self.file) or right
        return refuse(f"{self.file}:{line}", f"is no YAML: {reason}{context}", remedy)

    def _plain_data(self, node: yaml.Node, path: FieldPath) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return [self._plain_data(item, (*path, str(i))) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return None if not node.style and node.value in ("", "~", "null") else node.value
        section: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or not key.value.isprintable():
                self.add(path, "a field's name is no plain word", "a name, a colon, a value", line)
            elif key.value in section:
                first_line = self.lines[*path, key.value]
                self.add((*path, key.value), f"stands twice, first in line {first_line}", "one of the two", line)
            else:
                self.lines[*path, key.value] = line
                section[key.value] = self._plain_data(value, (*path, key.value))
        return section


def read(path: Path) -> str:
    """Read the text of a query file; refuse a file that is missing, not regular, too large or not UTF-8."""
    try:
        with open_regular(path) as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        others = [file.name for file in path.parent.glob("*.y*ml") if file.name != path.name]
        matches = get_close_matches(path.name, others)
        remedy = " or ".join(matches) if matches else "the path of a query file that you may read"
        remedy = _remedy_of_data(path) or remedy
        raise refuse(str(path), f"cannot be read: {error.strerror}", remedy) from None
    if len(content) > MAX_BYTES:
        remedy = _remedy_of_data(path) or "a YAML file of one query"
        raise refuse(f"{path}", "is larger than 64 KiB, so hardly a query file", remedy)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise refuse(
            f"{path}:{line}", "is not UTF-8", _remedy_of_data(path) or "the file saved as text in UTF-8"
        ) from None


def _remedy_of_data(path: Path) -> str | None:
    """Return the remedy for a file of data, or a directory with some, in place of a query file; None for others."""
    files = [path]
    if path.is_dir():
        with suppress(OSError):
            files = [*islice(path.iterdir(), _LISTED)]
    is_data = any(file.suffix.lower() in _OF_DATA and file.is_file() for file in files)
    return f"tailrace init {path} writes a query file for this data" if is_data else None
