"""The section `aggregate` of a query file: a function of the registry, its column and its parameters."""

from __future__ import annotations

from functools import reduce
from itertools import groupby
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model

from tailrace.aggregate.function import Function
from tailrace.aggregate.functions import FUNCTIONS
from tailrace.aggregate.named_section import NamedAggregatesSection
from tailrace.ground.fields import Column, Section

_COLUMN = "column of the numbers: speed"


class FunctionSection(Section):
    """A function of the numbers of each key and window."""

    function: str = Field(description="what is computed of each window: sum")
    column: Column | None = Field(default=None, description=_COLUMN)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters that the function takes."""
        return {name: getattr(self, name) for name in FUNCTIONS[self.function].parameters}


def _sections() -> list[type[FunctionSection]]:
    """Make a model for all functions that take the same fields; a field that others take is None in it."""
    parameters = {name: kind for function in FUNCTIONS.values() for name, kind in function.parameters.items()}
    functions = sorted(FUNCTIONS.values(), key=_fields)  # stable
    return [_section([*alike], parameters) for _, alike in groupby(functions, _fields)]


def _fields(function: Function) -> tuple[list[str], bool]:
    return sorted(function.parameters), not function.needs_column


def _section(functions: list[Function], parameters: dict[str, Any]) -> type[FunctionSection]:
    """Make the model of functions that take the same fields; it has a name here, by which pickle finds it."""
    first, names = functions[0], tuple(function.name for function in functions)
    fields: dict[str, Any] = {"function": (Literal[names], FunctionSection.model_fields["function"])}
    if first.needs_column:
        fields["column"] = (Column, Field(description=_COLUMN))
    for name, kind in parameters.items():
        description = kind.__metadata__[0].description
        none = (None, Field(default=None, description=description))
        fields[name] = (kind, ...) if name in first.parameters else none
    model = create_model(
        f"{first.name.capitalize()}Section",
        __base__=FunctionSection,
        __module__=__name__,
        __doc__=FunctionSection.__doc__,
        **fields,
    )
    globals()[model.__name__] = model
    return model


if TYPE_CHECKING:
    AggregateSection = FunctionSection | NamedAggregatesSection
else:  # mypy takes no computed union
    AggregateSection = Annotated[reduce(or_, [*_sections(), NamedAggregatesSection]), Field(discriminator="function")]
