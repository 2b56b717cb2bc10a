"""Derives the rules of a section's validators, beyond the types of its fields, by validating samples of the section.

A sample is made of the examples that end the fields' descriptions. So a rule such as "function sum needs a column"
stands in its validator alone.
"""

from __future__ import annotations

from itertools import chain, combinations, product
from typing import Any, Literal, NamedTuple, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

Sample = dict[str, Any]
MOST = 3  # number of entries tried in a field whose entries the user names, as streams


class Needs(NamedTuple):
    """The optional fields that some values of a choice need, and those that they exclude."""

    choice: str
    values: list[Any]
    needed: list[str]
    excluded: list[str]
    by_default: bool  # whether one of the values is the default of the choice


def needs(model: type[BaseModel]) -> list[Needs]:
    """The optional fields that each choice of a section needs and excludes; values with the same rule share an entry.

    Raises
    ------
    LookupError
        When no sample of the section, of a choice's value or with an optional field is valid: the example of a field
        is missing or wrong.
    """
    rules: list[Needs] = []
    samples = _samples(model)
    optional = frozenset(_optional(model))
    for name in _choices(model):
        field = model.model_fields[name]
        groups: dict[tuple[frozenset[str], frozenset[str]], list[Any]] = {}
        for value in get_args(field.annotation):
            key_sets = [sample.keys() for sample in samples if sample[name] == value]
            if not key_sets:
                raise _no_valid_sample(model, f"{name}: {value}")
            groups.setdefault((optional.intersection(*key_sets), optional.difference(*key_sets)), []).append(value)
        for (needed, excluded), values in groups.items():
            by_default = not field.is_required() and field.default in values
            if needed or excluded:
                rules.append(Needs(name, values, sorted(needed), sorted(excluded), by_default))
    return rules


def sizes(model: type[BaseModel]) -> dict[str, tuple[int, int | None]]:
    """The least and the greatest number of entries of each field whose entries the user names; None: no limit."""
    limits: dict[str, tuple[int, int | None]] = {}
    for name, field in model.model_fields.items():
        if get_origin(field.annotation) is dict:
            (entry,) = _example_value(field).values()
            candidates = [{f"a{i}": entry for i in range(n)} for n in range(MOST + 1)]
            samples = _samples(model)
            counts = [
                len(candidate)
                for candidate in candidates
                if any(_is_valid(model, sample | {name: candidate}) for sample in samples)
            ]
            limits[name] = min(counts), max(counts) if max(counts) < MOST else None
    return limits


def _samples(model: type[BaseModel]) -> list[Sample]:
    """Every valid sample of a section, over all values of its choices and all subsets of its optional fields."""
    fields, choices, optional = model.model_fields, _choices(model), _optional(model)
    base = {name: _example_value(field) for name, field in fields.items() if field.is_required()}
    extras = chain.from_iterable(combinations(optional, n) for n in range(len(optional) + 1))
    choice_values = product(*(get_args(fields[name].annotation) for name in choices))
    candidates = [
        base | {name: _example_value(fields[name]) for name in extra} | dict(zip(choices, values, strict=True))
        for extra, values in product(extras, choice_values)
    ]
    samples = [sample for sample in candidates if _is_valid(model, sample)]
    for name in [*base, *optional]:
        if not any(name in sample for sample in samples):
            raise _no_valid_sample(model, name)
    return samples


def _no_valid_sample(model: type[BaseModel], part: str) -> LookupError:
    return LookupError(
        f"no sample of {model.__name__} with {part} is valid: descriptions end in a colon and an example"
    )


def _is_valid(model: type[BaseModel], section: Sample) -> bool:
    try:
        model.model_validate(section)
    except ValidationError:
        return False
    return True


def _choices(model: type[BaseModel]) -> list[str]:
    return [name for name, field in model.model_fields.items() if get_origin(field.annotation) is Literal]


def _optional(model: type[BaseModel]) -> list[str]:
    return [name for name, field in model.model_fields.items() if not field.is_required() and field.default is None]


def _example_value(field: FieldInfo) -> Any:
    return _sample_of(field.annotation, (field.description or "").partition(": ")[2])


def _sample_of(annotation: Any, example: str) -> Any:
    """A sample of a type: for a leaf or a list, the example."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _samples(annotation)[0]
    if origin is dict:
        return {"a": _sample_of(inner[1], example)}
    if origin is Literal:
        return inner[0]
    if origin in (list, tuple):
        return yaml.load(example, yaml.BaseLoader)
    return _sample_of(inner[0], example) if inner else example  # of Annotated[…] and of X | None, the first argument
