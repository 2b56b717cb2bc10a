"""Translates pydantic's validation errors into refusals with the place in the file, the fault, and the remedy."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from tailrace.aggregate.named_section import NamedAggregatesSection
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.arrow.answer_columns import HAVING
from tailrace.ground.duration import format_duration, ms
from tailrace.query.declared import AnyQuery
from tailrace.query.disorder_section import Disorder
from tailrace.query.window_section import ANY_ZONE
from tailrace.query.yaml_file import FieldPath

NEAR_WORDS = {
    **{call.partition("(")[0]: each.name for each in reversed(FUNCTIONS.values()) for call in each.calls},
    **{"average": "avg", "minimum": "min", "maximum": "max", "total": "sum", "n": "count"},
    **{"arg_max": "max_by", "arg_min": "min_by"},
    **dict.fromkeys(("jsonl", "ndjson"), "json"),
    **{"asc": "ascending", "desc": "descending", "top_k": "topk", "within_distance": "dwithin"},
}
"""Words of other systems for our names, if they are not spelled similarly."""
LIMITS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
_BESIDE_POLICY = [name for name in Disorder.model_fields if name != "policy"]


@dataclass(frozen=True)
class _Place:
    """The place of an error: its path in the file, the section with the field, and the member of a union.

    Attributes
    ----------
    owner : type
        The model of the section, or `dict` if its names are the user's.
    choice : (str, str) or None
        The innermost discriminator on the path and its value, such as kind: aggregate.
    annotation : type or None
        The annotation at the path itself, and the field that has it.
    """

    path: FieldPath
    owner: Any
    choice: tuple[str, str] | None
    annotation: Any
    declaration: FieldInfo | None = None

    @staticmethod
    def from_location(location: FieldPath) -> _Place:
        branch = _Place((), AnyQuery, None, AnyQuery)
        for part in location:
            branch = branch._below(part)
        return branch

    def _below(self, part: str) -> _Place:
        if members := members_of(self.annotation):
            member = next(model for model in members if part in tags_of(model, discriminator_of(members)))
            return _Place(self.path, member, (discriminator_of(members), part), member)
        if get_origin(self.annotation) is dict:
            return _Place(
                (*self.path, part), self.annotation, self.choice, get_args(self.annotation)[1], self.declaration
            )
        if not hasattr(self.annotation, "model_fields"):  # an element of a list: the field that contains it decides
            return self
        field = self.annotation.model_fields.get(part)
        inner = None if field is None else _section_type(field.annotation)
        # In the file a policy's settings are directly in `disorder`, in the model below `policy`; likewise for
        # aggregates.
        is_gathered = (self.annotation, part) in ((Disorder, "policy"), (NamedAggregatesSection, "each"))
        path = self.path if is_gathered else (*self.path, part)
        return _Place(path, self.annotation, self.choice, inner, field)

    def field(self) -> tuple[FieldPath, str, FieldInfo]:
        """Return path, name and declaration of the field; for a union the discriminator, which is in its section."""
        if members := members_of(self.annotation):
            name = discriminator_of(members)
            field = members[0].model_fields[name]
            return (*self.path, name), name, field if field.description else self.declaration or field
        if get_origin(self.owner) is dict:  # a user's name, such as a stream's: the field that contains it describes it
            assert self.declaration is not None
            return self.path, self.path[-2], self.declaration
        return self.path, self.path[-1], self.owner.model_fields[self.path[-1]]


def explain(details: ErrorDetails, data: Any = None) -> tuple[FieldPath, str, str]:
    """Translate a validation error into its path in the file, the fault, and the remedy.

    `data` is the plain data of the file; existing fields are not suggested for a misspelt one.
    """
    error, value, context = details["type"], details["input"], details.get("ctx", {})
    branch = _Place.from_location(tuple(map(str, details["loc"])))
    right = getattr(context.get("error"), "near", None)
    if error == "taught":
        subpath = context["field"].split(".") if context["field"] else []
        return (*branch.path, *subpath), context["fault"], _with_stated_zone(context["remedy"], data)
    if error == "extra_forbidden":
        return branch.path, *_surplus(branch, _names_in(data, branch.path[:-1]))
    if not error.startswith("union_tag") and members_of(branch.annotation):  # a word where a section is expected
        field = branch.owner.model_fields[branch.path[-1]]
        return branch.path, *_messages(error, branch.path[-1], value, context, _hint(branch.path[-1], field, right))
    path, name, field = branch.field()
    if error == "none_required":
        assert branch.choice is not None
        discriminator, tag = branch.choice
        return path, f"{discriminator} {tag} takes no {name}", f"another {discriminator}, or no {name}"
    if error == "union_tag_not_found" and (near := _misspelt(name, value, members_of(branch.annotation))):
        return path, f"is missing, and {near!r} is no field here", f"{name} in place of {near}; {_hint(name, field)}"
    value = value[name] if error == "union_tag_invalid" else value
    return path, *_messages(error, path[-1], value, context, _hint(name, field, right))


def _with_stated_zone(remedy: str, data: Any) -> str:
    """Return a remedy that asks for any time zone with the one that a stream of the file states."""
    streams = data.get("streams") if isinstance(data, dict) else None
    sections = [each for each in streams.values() if isinstance(each, dict)] if isinstance(streams, dict) else []
    zone = next((each["timezone"] for each in sections if isinstance(each.get("timezone"), str)), None)
    return remedy if zone is None else remedy.replace(ANY_ZONE, f"timezone: {zone}, the stream's, below window")


def _hint(name: str, field: FieldInfo, right: str | None = None) -> str:
    """Return a valid value of a field, and its meaning; `right` is the one nearest to the wrong value, if known."""
    meaning, _, example = (field.description or "").partition(": ")
    return f"{name}: {right or example} ({meaning})"


def _names_in(data: Any, path: FieldPath) -> set[str]:
    """Return the names of the fields in a section of a file."""
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return set(data) if isinstance(data, dict) else set()


def _misspelt(name: str, section: Any, members: tuple[type[BaseModel], ...]) -> str | None:
    """Return the misspelt form of `name`, the field that distinguishes the models; None without one.

    No other field of a section can be checked before its model is known.
    """
    known = {field for model in members for field in model.model_fields}
    return next(iter(get_close_matches(name, [each for each in section if each not in known])), None)


def _surplus(branch: _Place, present: set[str]) -> tuple[str, str]:
    """Return fault and remedy for a field that its section does not have; `present` are the fields in the file."""
    name = branch.path[-1]
    kinds = [tag for model in members_of(AnyQuery) for tag in tags_of(model, "kind")]
    if len(branch.path) == 1 and name in kinds:
        assert branch.choice is not None
        return f"kind {branch.choice[1]} takes no section {name}", f"kind: {name}, or no such section"
    if branch.path == (HAVING,) and "aggregate" in branch.owner.model_fields:
        return f"{HAVING!r} is no field here", "aggregate: {…, having: tuples >= 100}"
    beside = _BESIDE_POLICY if branch.path[0] == "disorder" else []
    return _unknown_name("field", name, [*branch.owner.model_fields, *beside], present)


def _messages(error: str, field: str, value: Any, context: dict[str, Any], hint: str) -> tuple[str, str]:
    if error in ("missing", "union_tag_not_found"):
        return "is missing", hint
    if value in (None, ""):
        is_torn = field.count(")") > field.count("(")  # a flow mapping ends a value at a comma: {cost: round(price, 1)}
        return "has no value", f"quote an expression with a comma; {hint}" if is_torn else hint
    if error in ("literal_error", "union_tag_invalid"):
        choices = re.findall(r"'(\w+)'", context.get("expected") or context["expected_tags"])
        return _unknown_name(field, str(value), choices)
    if (choice := getattr(context.get("error"), "choice", None)) is not None:  # a duration without a unit
        return f"{value} has no unit", f"write {choice}; {hint}"
    if error == "value_error":
        return str(context["error"]), hint
    # Pydantic gives the bound of a duration as text, in several forms; it is always zero.
    limits = [(word, context[limit]) for limit, word in LIMITS.items() if limit in context]
    right = [f"{word} {bound if isinstance(bound, int | float) else '0 ms'}" for word, bound in limits]
    value_text = format_duration(ms(value)) if isinstance(value, timedelta) else repr(value)
    return f"{value_text} does not fit", ", as in ".join([*right, hint])


def members_of(annotation: Any) -> tuple[type[BaseModel], ...]:
    """Return the models of a discriminated union; none of any other annotation."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    models = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    return models if len(models) > 1 and all(map(_is_section, models)) else ()


def discriminator_of(members: tuple[type[BaseModel], ...]) -> str:
    """Return the field that distinguishes the members of a union: each has it, as a literal."""
    first, *others = ({n for n, f in m.model_fields.items() if get_origin(f.annotation) is Literal} for m in members)
    return next(name for name in members[0].model_fields if name in first.intersection(*others))


def tags_of(model: type[BaseModel], discriminator: str) -> tuple[str, ...]:
    return get_args(model.model_fields[discriminator].annotation)


def _section_type(annotation: Any) -> Any:
    """Return the model of an optional section; any other annotation unchanged."""
    members = get_args(annotation)
    return members[0] if len(members) > 1 and members[1] is type(None) and _is_section(members[0]) else annotation


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _unknown_name(noun: str, word: str, choices: list[str], present: Collection[str] = ()) -> tuple[str, str]:
    names = ", ".join(choices)
    near, open_choices = NEAR_WORDS.get(word.lower()), [choice for choice in choices if choice not in present]
    matches = [near] if near in choices else get_close_matches(word, open_choices)
    return f"{word!r} is no {noun} here", f"{' or '.join(matches)} (of {names})" if matches else f"one of {names}"
