"""The section `streams.NAME.lookup` of a query file: columns of a stream that come from a table, by key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tailrace.expressions.projection import Projection
from tailrace.ground.facts import lookup_subject
from tailrace.ground.fields import Column, field_error, null_word
from tailrace.kind.table_place import OnNoMatch
from tailrace.sources.table_section import TableSection

if TYPE_CHECKING:
    from tailrace.sources.lookups import Lookup


def _by_name(columns: Any) -> Any:
    """Return columns by their names in the stream: one, or each of a list, is named as in the table."""
    names = [columns] if isinstance(columns, str) else columns
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return {name: name for name in names} if is_list else names


LookupColumns = Annotated[
    dict[Column, Column],
    Field(min_length=1),
    BeforeValidator(_by_name, json_schema_input_type=Column | list[Column] | dict[Column, Column]),
]
"""Pydantic field type of columns: one, several of the same names in stream and table, or pairs of both names."""


class LookupSection(TableSection):
    """A lookup: the table, the key, and the columns that are taken from it."""

    key: LookupColumns = Field(
        description="join key, as stream column and table column, or names that both have: {sku: product_id}"
    )
    columns: LookupColumns = Field(
        description="columns to add, as name in the stream and table column, or names for both: "
        "{category: product_category}"
    )
    on_no_match: Annotated[OnNoMatch, BeforeValidator(null_word, json_schema_input_type=OnNoMatch | None)] = Field(
        default="null",
        description="a record without a row in the table gets nulls (null), "
        "is left out (drop) or rejected (quarantine): drop",
    )

    corrections: Literal["seen", "newest"] = Field(
        default="seen",
        description="table version that corrections look up in, seen (the one that the stream used) or newest: newest",
    )

    @model_validator(mode="after")
    def _validate_columns(self) -> Self:
        self.require_own_times(self.key.values())
        return self

    def build(self, stream: str, name: str) -> Lookup:
        """Build the lookup of a stream, by its name."""
        from tailrace.sources.lookup_table import LookupTable  # noqa: PLC0415 (slow; DAG files import this)
        from tailrace.sources.lookups import Lookup  # noqa: PLC0415

        section = f"streams.{stream}.lookup.{name}"
        fields = dict.fromkeys(self.key.values(), f"{section}.key")
        fields |= {
            column: f"{section}.{field}"
            for field, column in zip(("valid_from", "valid_to"), self.valid, strict=True)
            if column is not None
        }
        fields |= {column: f"{section}.columns.{own}" for own, column in self.columns.items() if column not in fields}
        names = (*self.key.values(),), (*self.columns.items(),)
        table = LookupTable(self.place, *names, self.format, self.valid, (*fields.items(),), section)
        is_repeated = self.corrections == "newest"
        return Lookup(name, lookup_subject(stream, name), table, (*self.key,), self.on_no_match, is_repeated)


def check_corrections(
    lookups: Mapping[str, LookupSection], named: Mapping[str, str | None], projection: Projection | None
) -> None:
    """Refuse lookups of a stream that corrections can't repeat in the newest versions.

    Where a tuple belongs, and which tuple it is, may not depend on a version. `named` has the columns of a stream's
    times and id by their fields.

    Raises
    ------
    PydanticCustomError
    """
    newest = [name for name, lookup in lookups.items() if lookup.corrections == "newest"]
    if not newest:
        return
    if others := [name for name in lookups if name not in newest]:
        fault = f"lookup {newest[0]} has newest, and lookup {others[0]} has seen: a correction repeats all or none"
        raise field_error(fault, "one of both for all lookups of the stream", f"lookup.{others[0]}.corrections")
    looked_up = {column for lookup in lookups.values() for column in lookup.columns}
    for field, column in named.items():
        behind: tuple[str, ...] = ()
        if projection is not None and column is not None:
            alone = replace(projection, where=None).pruned([column])
            behind = () if alone is None else alone.inputs
        if given := sorted(looked_up.intersection([column, *behind])):
            fault = f"{given[0]} is looked up, and a newer version of the table may change the tuple's {field}"
            raise field_error(fault, "a column of the source; or corrections: seen", field)
