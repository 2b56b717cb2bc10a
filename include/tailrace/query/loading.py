"""Loads a query file as a Query, or refuses it and names every problem with its line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from difflib import get_close_matches
from functools import reduce
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tailrace.disorder.policies import POLICIES
from tailrace.ground.duration import format_duration, ms
from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.query.query import Query
from tailrace.query.sections import Disorder

MAX_BYTES, MAX_DEPTH, MAX_MESSAGE = 64 * 1024, 20, 300

# In the contract, but not in this version yet: values by their field, and fields.
LATER_VALUES = {
    "kind": ("emd_join", "spatial_join"),
    "format": ("kafka",),
}
LATER_FIELDS = ("emd_join", "spatial_join", "deduplicate")
LIMITS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
FieldPath = tuple[str, ...]
_BESIDE_POLICY = [name for name in Disorder.model_fields if name != "policy"]


def load(path: Path) -> Query:
    """Load the query that a file declares; relative paths in it start at the file's directory.

    Raises
    ------
    Refused
        With all problems, in the order of the file.
    """
    tree = _Tree(path, _read(path))
    try:
        query = Query.model_validate(tree.data, context={"directory": path.parent})
    except ValidationError as error:
        for details in error.errors(include_url=False):
            tree.add(*_explain(details))
    tree.refuse()
    return query


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        matches = get_close_matches(path.name, [file.name for file in path.parent.glob("*.y*ml")])
        right = " or ".join(matches) if matches else "the path of a query file that you may read"
        raise refuse(str(path), f"cannot be read: {error.strerror}", right) from None
    if len(content) > MAX_BYTES:
        raise refuse(f"{path}", "is larger than 64 KiB, so hardly a query file", "a YAML file of one query")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise refuse(f"{path}:{line}", "is not UTF-8", "the file saved as text in UTF-8") from None


class _Tree:
    """A parsed YAML text: its plain data, the line of every path in it, and its problems.

    Scalars stay text, and each field parses its own: so YAML 1.1 can't make something else of `on`, `12:30` or `010`.
    """

    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        self.lines: dict[FieldPath, int] = {(): 1}
        self.problems: list[tuple[int, Problem]] = []
        try:
            self._check_events(text)
            root = yaml.compose(text, yaml.SafeLoader)
        except (yaml.YAMLError, ValueError, OverflowError) as error:  # the last two: an escape names no character
            raise self._explain_syntax(text, error) from None
        if not isinstance(root, yaml.MappingNode):
            raise refuse(f"{file}:1", "holds no fields", "fields, one a line, beginning with name: ball_load")
        self.data = self._plain_data(root, ())

    def add(self, path: FieldPath, wrong: str, right: str, line: int | None = None) -> None:
        """Record a problem; a path that is not in the file gets the line of the nearest section above it that is."""
        ancestor = path
        while ancestor not in self.lines:
            ancestor = ancestor[:-1]
        line = self.lines[ancestor] if line is None else line
        where = f"{self.file}:{line}: {'.'.join(path)[:MAX_MESSAGE]}" if path else f"{self.file}:{line}"
        self.problems.append((line, Problem(where, wrong[:MAX_MESSAGE], right[:MAX_MESSAGE])))

    def refuse(self) -> None:
        if self.problems:
            raise Refused([problem for _, problem in sorted(self.problems, key=lambda entry: entry[0])])

    def _check_events(self, text: str) -> None:
        """Refuse anchors, aliases, tags, a second document and deep nesting before anything is built from the text.

        So a file can't say something else than it shows.
        """
        depth = documents = 0
        for event in yaml.parse(text, yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            documents += isinstance(event, yaml.DocumentStartEvent)
            line = getattr(event.start_mark, "line", 0) + 1
            if anchor := getattr(event, "anchor", None):
                self.add((), f"anchors and aliases are not read (here {anchor})", "the value itself", line)
            if tag := getattr(event, "tag", None):
                self.add((), f"tags are not read (here {tag!r})", "the value without the tag", line)
            if documents > 1 or depth > MAX_DEPTH:
                wrong = "a second document begins (---)" if documents > 1 else f"nested deeper than {MAX_DEPTH} levels"
                self.add((), wrong, "one query a file, of fields in sections", line)
                break
        self.refuse()

    def _explain_syntax(self, text: str, error: Exception) -> Refused:
        mark, context_mark = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
        line = mark.line + 1 if mark else text.count("\n", 0, getattr(error, "position", 0)) + 1
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        context = f" in what begins in line {context_mark.line + 1}" if context_mark else ""
        right = "a colon and a space after each field, even indentation by spaces, closed brackets and quotes"
        return refuse(f"{self.file}:{line}", f"is no YAML: {reason}{context}", right)

    def _plain_data(self, node: yaml.Node, path: FieldPath) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return [self._plain_data(item, (*path, str(i))) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return None if node.style is None and node.value in ("", "~", "null") else node.value
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


def _explain(details: ErrorDetails) -> tuple[FieldPath, str, str]:
    """Translate a validation error into its path in the file, what is wrong, and what would be right."""
    location = tuple(map(str, details["loc"]))
    error, value, context = details["type"], details["input"], details.get("ctx", {})
    owner = reduce(_descend, location[:-1], Query)
    # In the file a policy's settings stand directly in `disorder`, in the model below `policy` and the policy's name.
    path = ("disorder", *location[3:]) if location[:2] == ("disorder", "policy") and location[3:] else location
    if error == "taught":
        subpath = context["field"].split(".") if context["field"] else []
        return (*path, *subpath), context["wrong"], context["right"]
    if error == "extra_forbidden":
        names = [*owner.model_fields, *(_BESIDE_POLICY if path[0] == "disorder" else [])]
        return path, *_unknown_name("field", path[-1], names, LATER_FIELDS)
    if get_origin(owner) is dict:  # a name of the user's, as a stream's: the field that holds it has the description
        owner, location = Query, location[:-1]
    value = value["policy"] if error == "union_tag_invalid" else value
    meaning, _, example = (owner.model_fields[location[-1]].description or "").partition(": ")
    return path, *_messages(error, path[-1], value, context, f"{location[-1]}: {example} ({meaning})")


def _messages(error: str, field: str, value: Any, context: dict[str, Any], hint: str) -> tuple[str, str]:
    if error in ("missing", "union_tag_not_found"):
        return "is missing", hint
    if value in (None, ""):
        return "has no value", hint
    if error in ("literal_error", "union_tag_invalid"):
        choices = re.findall(r"'(\w+)'", context.get("expected") or context["expected_tags"])
        return _unknown_name(field, str(value), choices, LATER_VALUES.get(field, ()))
    if error == "value_error" and re.fullmatch(r"\d+", str(value)):
        return f"{value} has no unit", f"write {value} ms, if you mean milliseconds; {hint}"
    if error == "value_error":
        return str(context["error"]), hint
    # Pydantic gives the bound of a duration as text, in more than one form; it is always zero.
    limits = [(word, context[limit]) for limit, word in LIMITS.items() if limit in context]
    right = [f"{word} {bound if isinstance(bound, int | float) else '0 ms'}" for word, bound in limits]
    value_text = format_duration(ms(value)) if isinstance(value, timedelta) else repr(value)
    return f"{value_text} does not fit", ", as in ".join([*right, hint])


def _descend(annotation: Any, part: str) -> Any:
    """The type below one part of an error's location: in a model, in a dict, or in a union of policies."""
    if get_origin(annotation) is dict:
        return get_args(annotation)[1]
    if _is_section(annotation):
        return _section_type(annotation.model_fields[part].annotation)
    return next(policy for policy in POLICIES if part in get_args(policy.model_fields["policy"].annotation))


def _section_type(annotation: Any) -> Any:
    """The model of an optional section; any other annotation as it is."""
    members = get_args(annotation)
    return members[0] if len(members) > 1 and members[1] is type(None) and _is_section(members[0]) else annotation


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _unknown_name(noun: str, word: str, choices: list[str], later: Sequence[str]) -> tuple[str, str]:
    names = ", ".join(choices)
    if word in later:
        return f"this version does not have the {noun} {word} yet", f"one of {names}"
    matches = get_close_matches(word, choices)
    return f"{word!r} is no {noun} here", f"{' or '.join(matches)} (of {names})" if matches else f"one of {names}"
