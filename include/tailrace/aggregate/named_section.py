"""The section `aggregate` of a query file with several aggregates, each under its name in the answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_serializer, model_validator

from tailrace.aggregate.typed_functions import QUANTILE, SHARE, TYPED_FUNCTIONS
from tailrace.ground.fields import Column, Section, field_error

NAMED = "by name"
"""What stands in the model for the function of a section with names; no file can state it."""

_NAME = re.compile("[a-z][a-z0-9_]{0,62}")

RESERVED = frozenset(
    {"key", "window_start", "window_end", "tuples", "coverage", "k_ms", "as_of", "emitted_at", "facts_version"}
    | {"interval", "retracted", "event_time", "arrival_time", "arrived", "frontier", "committed", "t_max"}
    | {"newest_event", "left_time", "right_time", "corrected_at"}
)
"""The columns that answers have already, or that tables take for times."""


class NamedAggregateSection(Section):
    """An aggregate of each key and window, under its name in the answers."""

    function: Literal[tuple(TYPED_FUNCTIONS)] = Field(description="what is computed of each window: sum")  # type: ignore[valid-type]
    column: Column | None = Field(default=None, description="column of the values: speed")
    q: SHARE | None = Field(default=None, description=QUANTILE)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters that the function takes."""
        return {name: getattr(self, name) for name in TYPED_FUNCTIONS[self.function].parameters}

    @model_validator(mode="after")
    def _validate_fields(self) -> Self:
        function = TYPED_FUNCTIONS[self.function]
        if function.needs_column and self.column is None:
            raise field_error("is missing", "column: speed (column of the values)", "column")
        if (self.q is not None) != ("q" in function.parameters):
            if self.q is None:
                raise field_error("is missing", "q: 0.9 (the share of the numbers that lie below)", "q")
            raise field_error(f"function {self.function} takes no q", "function: quantile, or no q", "q")
        return self


class NamedAggregatesSection(Section):
    """Several aggregates, by their names in the answers. In a file the names stand directly in `aggregate`."""

    function: Literal["by name"] = Field(description="what is computed of each window: sum")
    each: dict[str, NamedAggregateSection] = Field(
        description="aggregates, each under its name: {total: {function: sum, column: speed}}", min_length=1
    )

    @field_validator("each")
    @classmethod
    def _validate_names(cls, each: dict[str, NamedAggregateSection]) -> dict[str, NamedAggregateSection]:
        for name in each:
            if not _NAME.fullmatch(name):
                remedy = "a name of a-z, 0-9 and _, a letter first, at most 63 characters: revenue"
                raise field_error(f"{name!r} is no name of a column of answers", remedy, name)
            if name in RESERVED:
                raise field_error(f"answers have a column {name} already", "another name for the aggregate", name)
        return each

    @model_serializer
    def _serialize(self) -> dict[str, Any]:
        return {name: section.model_dump(mode="json") for name, section in self.each.items()}


def gathered(section: Any) -> Any:
    """Return a section of a file as the models take it: names below `each`, if a value is a section itself."""
    if isinstance(section, Mapping) and any(isinstance(value, Mapping) for value in section.values()):
        return {"function": NAMED, "each": dict(section)}
    if isinstance(section, Mapping) and section.get("function") == NAMED:
        return {**section, "function": f"{NAMED} "}  # which is no function
    return section
