"""The section `aggregate` of a query file with several aggregates, each under its name in the answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_serializer, model_validator

from tailrace.aggregate.function_section import FUNCTION, FunctionName, ValuesSection
from tailrace.aggregate.having import HavingSection, passed_on
from tailrace.aggregate.interval_names import interval_names
from tailrace.aggregate.within_expressions import ExpressionsOverNames, expressions_over_names
from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.projection import NamedError, Projection
from tailrace.expressions.written_names import written
from tailrace.ground.arrow.answer_columns import HAVING, TUPLES
from tailrace.ground.fields import field_error
from tailrace.ground.near_names import nearest
from tailrace.kind.column_use import ColumnUse
from tailrace.tables.every import ANSWERED

NAMED = "by name"
"""The function's value in the model of a section with names; no file can contain it."""

_NAME = re.compile("[a-z][a-z0-9_]{0,62}")

RESERVED = ANSWERED | {"time"}
"""The columns that answers, or closed windows before them, already have, or that tables use for times."""


class NamedAggregateSection(ValuesSection):
    """An aggregate of each key and window, or an expression over others, with its name in the answers."""

    function: FunctionName | None = Field(default=None, description=FUNCTION)
    expression: str | None = Field(
        default=None,
        description="expression over other named answers and aggregates, in place of a function: failures / count(*)",
    )

    @model_validator(mode="after")
    def _validate_fields(self) -> Self:
        if self.expression is not None:
            if surplus := [
                name
                for name in ("function", "column", "by", "other", "q", "limit", "where")
                if getattr(self, name) is not None
            ]:
                raise field_error(f"an expression takes no {surplus[0]}", "a function, or an expression", surplus[0])
            if self.estimate:
                remedy = "estimate: true at the sums and counts that it reads"
                raise field_error("an expression is computed of estimates, and is none", remedy, "estimate")
        elif self.function is None:
            raise field_error("is missing", "function: sum, or expression: failures / purchases", "function")
        else:
            self.check(self.function)
        return self


class NamedAggregatesSection(HavingSection):
    """Several aggregates by their names in answers. In a file the names are directly below `aggregate`."""

    function: Literal["by name"] = Field(description="aggregate function of each window: sum")
    each: dict[str, NamedAggregateSection] = Field(
        description="aggregates, each under its column name in the answers: {total: {function: sum, column: speed}}",
        min_length=1,
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

    @model_validator(mode="after")
    def _validate_intervals(self) -> Self:
        for name, section in self.each.items():
            for column in interval_names(name) if section.estimate else ():
                if column in self.each:
                    fault = f"the estimate of {name} has a column {column}, too"
                    raise field_error(fault, "another name for one of the two", column)
        return self

    @model_validator(mode="after")
    def _validate_expressions(self) -> Self:
        try:
            expressions = self._over(None)
            projection = Projection.parse(expressions.texts, None)
            functions = {**self.functions, **expressions.hidden}
            projection.require_order(functions, "functions, and expressions that stand above it")
            for name, columns in expressions.beside.items():
                for column, position in columns.items():
                    if column not in self.each and column != TUPLES:
                        near = " or ".join(get_close_matches(column, self.each)) or ", ".join([*self.each, TUPLES])
                        near = f"{near}; or an aggregate of a column of the stream, such as max({written(column)})"
                        raise NamedError(name, ExpressionError(position, f"no answer has a column {column}", near))
        except NamedError as error:
            fault = f"at {error.position}: {error.fault}"
            raise field_error(fault, error.remedy, f"{error.name}.expression") from None
        self.check_having(self.each, [name for name, each in self.each.items() if each.estimate])
        return self

    @property
    def functions(self) -> dict[str, NamedAggregateSection]:
        """The aggregates, by their names in the answers."""
        return {name: each for name, each in self.each.items() if each.function is not None}

    @property
    def expressions(self) -> dict[str, str]:
        """The expressions as written, by their names in the answers."""
        return {name: each.expression for name, each in self.each.items() if each.expression is not None}

    @property
    def over_names(self) -> ExpressionsOverNames:
        """The expressions with names in place of their aggregates, and the aggregates without a name in answers."""
        return self._over(self.having)

    def _over(self, having: str | None) -> ExpressionsOverNames:
        named = {name: each.model_dump(exclude_none=True) for name, each in self.functions.items()}
        return expressions_over_names(self.expressions, named, having)

    @property
    def aggregates(self) -> dict[str, NamedAggregateSection]:
        """The aggregates by name, and those within expressions under names that no column of answers can have."""
        hidden = {name: NamedAggregateSection(**each.section) for name, each in self.over_names.hidden.items()}
        return self.functions | hidden

    def uses(self, order: Iterable[str] = (), over: ExpressionsOverNames | None = None) -> tuple[ColumnUse, ...]:
        """Return the uses of the stream's columns; `order` as in `uses_as`, and `over` is `over_names` if at hand."""
        over = over or self.over_names
        uses = {
            name: [*each.uses_as(each.function, name, f"aggregate.{name}", order)]
            for name, each in self.each.items()
            if each.function is not None
        }
        conditions = sum(use.derives is not None for each in uses.values() for use in each)
        for name, (section, place, condition) in over.hidden.items():
            conditions += condition is not None
            derived = {"column": f"{place.path}.filter {conditions}", "derives": condition}
            each = NamedAggregateSection(**section).uses_as(section["function"], name, "", order)
            uses[name] = [use._replace(**({"field": place.field} if use.derives is None else derived)) for use in each]
        for name, text in over.texts.items():
            uses[name] = passed_on(uses, text, answers=(name,))
        of_hidden = [use._replace(answers=None) for name in over.hidden for use in uses[name]]
        return (*(use for name in self.each for use in uses[name]), *of_hidden, *self.deciding_uses(over, uses))

    def in_structure(self) -> dict[str, str]:
        """Return the condition and the expressions."""
        spellings = {f"aggregate.{name}.expression": text for name, text in self.over_names.spellings.items()}
        return spellings | super().in_structure()

    @model_serializer
    def _serialize(self) -> dict[str, Any]:
        own = {name: section.model_dump(mode="json") for name, section in self.each.items()}
        return own | ({} if self.having is None else {HAVING: self.having})


def gathered(section: Any) -> Any:
    """Return a section of a file in the form of the models: names below `each` if a value is itself a section."""
    if not isinstance(section, Mapping):
        return section
    sections = [name for name, value in section.items() if isinstance(value, Mapping)]
    if sections and not (sections == [HAVING] and isinstance(section.get("function"), str)):
        each = dict(section)
        having = {} if isinstance(each.get(HAVING, {}), Mapping) else {HAVING: each.pop(HAVING)}
        for name, value in each.items():
            if isinstance(value, str) and nearest(name, [HAVING]) is not None:
                raise field_error(f"{name!r} is no field here", f"{HAVING}: {value}", f"aggregate.{name}")
        return {"function": NAMED, "each": each} | having
    if section.get("function") == NAMED:
        return {**section, "function": f"{NAMED} "}  # this is not a function
    return section
