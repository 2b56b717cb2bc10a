"""An aggregate function in a query file: its name, its column of values, and its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, Self

import pyarrow as pa
from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator
from pydantic.config import JsonDict, JsonValue

from tailrace.aggregate.having import HavingSection
from tailrace.aggregate.within_expressions import ExpressionsOverNames, expressions_over_names
from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.expression import parse
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.arrow.answer_columns import HAVING, VALUE
from tailrace.ground.fields import MOST_IN_LIST, Column, Section, field_error
from tailrace.kind.column_use import AGGREGATION, FILTER, SORT, ColumnUse

if TYPE_CHECKING:
    FunctionName = str
else:  # mypy requires a literal
    FunctionName = Literal[tuple(FUNCTIONS)]

_REQUIRED = dict.fromkeys(name for each in FUNCTIONS.values() for name in (*each.columns, *each.parameters))
"""The fields that some functions need."""
_OPTIONS = dict.fromkeys(name for each in FUNCTIONS.values() for name in each.options)
"""Boolean fields that some functions take."""
_REFUSALS = {
    "approximate": "is never approximate",
    "estimate": "is never estimated: its answers do not grow in step with the tuples that arrive",
}
"""Reasons why functions do not take a field; for other fields a refusal has no reason."""

VALUE_PART, CONDITION_PART = "value_", "condition_"
"""Prefixes of tuples' columns for aggregates, so that these don't have the name of another column."""

FUNCTION = "aggregate function of each window: sum"
"""The description of the field `function`."""


def _rule(names: list[str], rest: JsonDict) -> JsonDict:
    """Return the JSON Schema rule for sections with one of these functions."""
    return {"if": {"required": ["function"], "properties": {"function": {"enum": [*names]}}}, "then": rest}


def _takers(name: str) -> list[str]:
    """Return the functions that take a field."""
    return [each.name for each in FUNCTIONS.values() if name in (*each.columns, *each.parameters, *each.options)]


def _needs(function: str, name: str) -> bool:
    """Test whether a function needs a field that it takes."""
    known = FUNCTIONS[function]
    return known.needs_column if name == "column" else name in (*known.columns, *known.parameters)


def _rules() -> list[JsonValue]:
    """Return the JSON Schema rules about which field goes with which function."""
    rules: list[JsonValue] = []
    for name in _REQUIRED:
        given: JsonDict = {"required": [name], "properties": {name: {"type": ["string", "number", "boolean"]}}}
        others = [each for each in FUNCTIONS if each not in _takers(name)]
        rules.append(_rule([each for each in FUNCTIONS if _needs(each, name)], given))
        if others:
            rules.append(_rule(others, {"properties": {name: {"type": "null"}}}))
    return rules


def _named_only() -> JsonValue:
    """Return the JSON Schema rule that functions whose answers are no doubles need a name."""
    names = [each.name for each in FUNCTIONS.values() if each.needs_name]
    return _rule(names, {"properties": {"function": {"not": {"enum": [*names]}}}})


class ValuesSection(Section):
    """The values that a function aggregates in each window, and its parameters."""

    model_config = ConfigDict(json_schema_extra={"allOf": _rules()})

    column: Column | None = Field(default=None, description="column with the values to aggregate: speed")
    by: Column | None = Field(
        default=None, description="column whose minimum or maximum selects the tuple, for min_by and max_by: price"
    )
    other: Column | None = Field(
        default=None, description="second column of values, for corr, covar_samp and covar_pop: load"
    )
    q: float | None = Field(
        default=None,
        description="share of the values below the answer, for quantile and quantile_disc: 0.9",
        gt=0,
        lt=1,
        allow_inf_nan=False,
    )
    limit: int | None = Field(
        default=None,
        description="longest list of collect_list or collect_set; a longer one is null, and counts as overflowed: 100",
        ge=1,
        le=MOST_IN_LIST,
    )
    where: str | None = Field(
        default=None,
        description="Spark SQL condition; only tuples that meet it are aggregated, as by FILTER in SQL: code >= 500",
    )
    approximate: bool = Field(
        default=False,
        description="count_distinct by a sketch, exact up to 4,096 distinct values and off by about 2 % beyond: true",
    )

    estimate: bool = Field(
        default=False,
        description="divide early answers of sum or count by the share of tuples expected to have arrived so far: true",
    )

    @model_serializer(mode="wrap")
    def _serialize(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out fields that are not set, and put the function first."""
        dumped = dump(self)
        names = dict.fromkeys(["function", *dumped])
        return {name: value for name in names if (value := dumped[name]) is not None and value is not False}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the values; nulls in the first one leave tuples out."""
        function: str | None = getattr(self, "function", None)
        names = () if function is None else (getattr(self, name) for name in FUNCTIONS[function].columns)
        return tuple(name for name in names if name is not None)

    def uses_as(self, function: str, name: str, field: str, order: Iterable[str]) -> Iterator[ColumnUse]:
        """Yield the uses of the stream's columns by a function whose answers have a name.

        Parameters
        ----------
        field : str
            The section's place in the query file.
        order : iterable of str
            The columns by which tuples are ordered.
        """
        parts = dict.fromkeys(("column", *FUNCTIONS[function].columns))
        columns = {part: column for part in parts if (column := getattr(self, part)) is not None}
        text = f"{function}({', '.join(dict.fromkeys(columns.values()))})" if columns else function
        values = [
            ColumnUse(column, AGGREGATION, (name,), VALUE_PART + column, f"{field}.{part}", text=text)
            for part, column in columns.items()
        ]
        if self.by is not None:  # the first one in tuples
            yield values[-1]._replace(answers=None, field="")
        yield from values
        if (where := self.where) is not None:
            yield ColumnUse(f"{field}.where", FILTER, (name,), CONDITION_PART + name, text=where, derives=where)
        if FUNCTIONS[function].in_order:
            yield from (ColumnUse(column, SORT, (name,), text=text) for column in order)

    def parameters_of(self, function: str) -> dict[str, float | bool]:
        """Return the parameters that a function takes."""
        parameters = {name: getattr(self, name) for name in FUNCTIONS[function].parameters}
        return parameters | ({"approximate": True} if self.approximate else {})

    def check(self, function: str) -> None:
        """Refuse fields that do not go with a function, and a condition that can't be parsed.

        Raises
        ------
        PydanticCustomError
        """
        if self.where is not None:
            try:
                parse(self.where)
            except ExpressionError as error:
                raise field_error(f"at {error.position}: {error.fault}", error.remedy, "where") from None
        for name in (*_REQUIRED, *_OPTIONS):
            is_given, takers = getattr(self, name) not in (None, False), _takers(name)
            if is_given and function not in takers:
                remedy = f"function: {' or '.join(takers)}; or no {name}"
                raise field_error(f"function {function} {_REFUSALS.get(name, f'takes no {name}')}", remedy, name)
            if not is_given and _needs(function, name):
                fault = "has no value" if name in self.model_fields_set else "is missing"
                raise field_error(fault, self._example(name), name)

    @staticmethod
    def _example(name: str) -> str:
        """Return an example of a field with its meaning, from its description."""
        meaning, _, example = str(ValuesSection.model_fields[name].description).rpartition(": ")
        return f"{name}: {example} ({meaning})"


class FunctionSection(HavingSection, ValuesSection):
    """A function of the values of each key and window, whose answers are doubles in the column `value`."""

    model_config = ConfigDict(json_schema_extra={"allOf": [*_rules(), _named_only()]})

    function: FunctionName = Field(description=FUNCTION)

    def uses(self, order: Iterable[str] = (), over: ExpressionsOverNames | None = None) -> tuple[ColumnUse, ...]:
        """Return the uses of the stream's columns; `order` as in `uses_as`, and `over` is `over_names` if at hand."""
        dtype = None if FUNCTIONS[self.function].in_own_type else pa.float64()
        uses = list(self.uses_as(self.function, VALUE, "aggregate", order))
        uses = [use._replace(part=VALUE, dtype=dtype) if use.way == AGGREGATION else use for use in uses]
        return (*uses, *self.deciding_uses(over or self.over_names, {VALUE: uses}))

    @property
    def aggregates(self) -> dict[str, FunctionSection]:
        """The only aggregate, by its name in the answers."""
        return {VALUE: self}

    @property
    def over_names(self) -> ExpressionsOverNames:
        """The condition of answers with `value` in place of the function."""
        own = {name: value for name, value in self.model_dump(exclude_none=True).items() if name != HAVING}
        return expressions_over_names({}, {VALUE: own}, self.having)

    @model_validator(mode="after")
    def _validate_fields(self) -> Self:
        self.check(self.function)
        if FUNCTIONS[self.function].needs_name:
            fault = f"function {self.function} needs a name in the answers: without one, an answer is a double"
            named = f"{{function: {self.function}, …}}"
            raise field_error(fault, f"aggregate: {{answer: {named}}}; in SQL {self.function}(…) AS answer", "function")
        self.check_having([VALUE], [self.function] if self.estimate else [])
        for hidden in self.over_names.hidden.values():
            call = hidden.section["function"]
            fault = f"at {hidden.place.position}: this {call} is not the section's own {self.function}, of its column"
            remedy = (
                f"value; or {{total: {{function: {self.function}, …}}, having: …}}, where others may stand beside it"
            )
            raise field_error(fault, remedy, HAVING)
        return self
