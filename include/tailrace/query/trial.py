"""What a section's validators ask for beyond the types of its fields, found by trying them on samples.

A sample is made of the examples in which the fields' descriptions end. So a rule such as "function sum needs a column"
stands in its validator alone.
"""

from __future__ import annotations

from itertools import chain, combinations, product
from typing import Any, Literal, NamedTuple, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

Sample = dict[str, Any]
MOST = 3  # entries that are tried of what the user names, as streams


class Needs(NamedTuple):
    """Which of the fields that may be left out some values of a choice need, and which they exclude."""

    choice: str
    values: list[Any]
    needed: list[str]
    excluded: list[str]
    by_default: bool  # whether one of the values is meant where the choice is left out


def needs(model: type[BaseModel]) -> list[Needs]:
    """What each choice of a section needs and excludes; values that need and exclude alike stand together.

    Raises
    ------
    LookupError
        When no sample of the section, of a choice's value or with a field that may be left out is valid: the example
        of a field is missing or wrong.
    """
    found: list[Needs] = []
    samples = _samples(model)
    optional = frozenset(_optional(model))
    for name in _choices(model):
        field = model.model_fields[name]
        groups: dict[tuple[frozenset[str], frozenset[str]], list[Any]] = {}
        for value in get_args(field.annotation):
            alike = [sample.keys() for sample in samples if sample[name] == value]
            if not alike:
                raise _lost(model, f"{name}: {value}")
            groups.setdefault((optional.intersection(*alike), optional.difference(*alike)), []).append(value)
        for (needed, excluded), values in groups.items():
            by_default = not field.is_required() and field.default in values
            if needed or excluded:
                found.append(Needs(name, values, sorted(needed), sorted(excluded), by_default))
    return found


def sizes(model: type[BaseModel]) -> dict[str, tuple[int, int | None]]:
    """The least and the most entries that a section takes under each field whose entries the user names."""
    found: dict[str, tuple[int, int | None]] = {}
    for name, field in model.model_fields.items():
        if get_origin(field.annotation) is dict:
            (entry,) = _value(field).values()
            entries = [{f"a{i}": entry for i in range(n)} for n in range(MOST + 1)]
            samples = _samples(model)
            fits = [len(some) for some in entries if any(_fits(model, sample | {name: some}) for sample in samples)]
            found[name] = min(fits), max(fits) if max(fits) < MOST else None
    return found


def _samples(model: type[BaseModel]) -> list[Sample]:
    """Every valid section with any choices, and with or without each field that may be left out."""
    fields, choices, optional = model.model_fields, _choices(model), _optional(model)
    base = {name: _value(field) for name, field in fields.items() if field.is_required()}
    extras = chain.from_iterable(combinations(optional, n) for n in range(len(optional) + 1))
    chosen = product(*(get_args(fields[name].annotation) for name in choices))
    tried = [
        base | {name: _value(fields[name]) for name in extra} | dict(zip(choices, values, strict=True))
        for extra, values in product(extras, chosen)
    ]
    found = [sample for sample in tried if _fits(model, sample)]
    for name in [*base, *optional]:
        if not any(name in sample for sample in found):
            raise _lost(model, name)
    return found


def _lost(model: type[BaseModel], what: str) -> LookupError:
    return LookupError(
        f"no sample of {model.__name__} with {what} is valid: descriptions end in a colon and an example"
    )


def _fits(model: type[BaseModel], section: Sample) -> bool:
    try:
        model.model_validate(section)
    except ValidationError:
        return False
    return True


def _choices(model: type[BaseModel]) -> list[str]:
    return [name for name, field in model.model_fields.items() if get_origin(field.annotation) is Literal]


def _optional(model: type[BaseModel]) -> list[str]:
    return [name for name, field in model.model_fields.items() if not field.is_required() and field.default is None]


def _value(field: FieldInfo) -> Any:
    return _of(field.annotation, (field.description or "").partition(": ")[2])


def _of(annotation: Any, example: str) -> Any:
    """A sample of a type; of a leaf and of a list it is the example."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _samples(annotation)[0]
    if origin is dict:
        return {"a": _of(inner[1], example)}
    if origin is Literal:
        return inner[0]
    if origin in (list, tuple):
        return yaml.load(example, yaml.BaseLoader)
    return _of(inner[0], example) if inner else example  # what is annotated, or may be left empty
