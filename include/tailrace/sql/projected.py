"""The rows that a SELECT reads from its stream, with derived columns, conditions, and the visible columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from tailrace.expressions.errors import ExpressionError
from tailrace.ground.near_names import nearest
from tailrace.sql.clauses import Clauses, Item
from tailrace.sql.tokens import TokenSpan
from tailrace.sql.windows import WINDOW_COLUMNS


@dataclass(frozen=True)
class SelectedRows:
    """The rows that a SELECT reads: the stream's rows, with derived columns and the visible columns.

    Attributes
    ----------
    title : str
        The rows' name in the text: the name of the stream or of the last SELECT.
    fixed : frozenset of str
        The names that derived columns can't take.
    derived : dict
        The expressions of derived columns by name, in order.
    conditions : tuple of Piece
    visible : tuple of str or None
        The names that can be read; None for the derived columns and the stream's, which are unknown here.
    tables : frozenset of str
        The names of the stream and of the SELECTs.
    """

    title: str
    fixed: frozenset[str]
    derived: Mapping[str, TokenSpan] = field(default_factory=dict)
    conditions: tuple[TokenSpan, ...] = ()
    visible: tuple[str, ...] | None = None
    tables: frozenset[str] = frozenset()

    def read(self, value: TokenSpan) -> tuple[str, ...]:
        """Return the columns that an expression reads.

        Raises
        ------
        ExpressionError
            At an unknown column.
        """
        refuse_table_names(value, self.tables)
        names = columns_read(value)
        for name in names:
            if self.visible is not None and name not in self.visible:
                near = nearest(name, self.visible) or f"one of {', '.join(self.visible)}"
                fault = f"{self.title} has no column {name}"
                raise ExpressionError(value.position_of(name), fault, f"{near}; or {name} in the list of {self.title}")
        return names

    def select(self, clauses: Clauses, title: str) -> SelectedRows:
        """Return the rows of a SELECT from these rows.

        Raises
        ------
        ExpressionError
            At a construct with another meaning in sections, in which `where` comes after all columns.
        """
        conditions = self.conditions if clauses.where is None else (*self.conditions, clauses.where)
        if clauses.where is not None:
            self.read(clauses.where)
        stars = [item for item in clauses.items if item.value.word(0) == "*"]
        for star in (star for number, star in enumerate(stars) if number or len(star.whole) > 1):
            raise star.whole.error(
                f"{star.whole.text[:60]} is no list of columns", "*, once; or columns by their names"
            )
        own: dict[str, Item] = {}
        for item in clauses.items:
            if item not in stars:
                read, name = self.read(item.value), self._name(item, bool(stars))
                if name in own:
                    raise item.whole.error(f"two columns are named {name}", "a name of its own for each")
                above = next((other for other in read if _is_derived(own.get(other))), None)
                if above is not None:
                    fault = f"{item.value.text[:60]} reads {above}, by which {own[above].value.text[:60]} is named too"
                    raise item.value.error(fault, f"another name than {above}; or this column in a SELECT from {title}")
                own[name] = item
        derived = {name: item.value for name, item in own.items() if _is_derived(item)}
        readers = {name: each for each in reversed(conditions if derived else ()) for name in columns_read(each)}
        for name, value in derived.items():
            if (reader := readers.get(name)) is not None:
                fault = f"{reader.text[:60]} reads {name}, by which {value.text[:60]} is named too"
                raise reader.error(fault, f"another name than {name}; or this condition in a SELECT from {title}")
        visible = (*(self.visible or ()), *own) if stars else tuple(own)
        return replace(
            self,
            title=title,
            derived={**self.derived, **derived},
            conditions=conditions,
            visible=None if stars and self.visible is None else visible,
            tables=self.tables | {title},
        )

    def require_free(self, name: str, written: TokenSpan) -> None:
        """Refuse a derived column with the name of an existing column.

        Raises
        ------
        ExpressionError
        """
        if name in self.fixed:
            fault = f"{name} is a column of the stream by its declaration"
            raise written.error(fault, f"another name than {name}")
        if name in self.derived:
            fault = f"{self.derived[name].text[:60]} is named {name} already"
            raise written.error(fault, f"another name than {name}")

    def _name(self, item: Item, has_all: bool) -> str:
        """Return the name of an item's column."""
        name, written = item.alias_name or item.value.name, item.alias or item.value
        if name is None:
            text = item.value.text[:60]
            raise item.whole.error(f"{text} has no name, by which it could be read", f"{text} AS name")
        is_there = not _is_derived(item) or name in (self.visible or self.derived) or name in columns_read(item.value)
        if has_all and is_there:
            fault = f"{name} stands beside *, which has it"
            raise written.error(fault, f"another name than {name}, or all columns by their names and no *")
        if _is_derived(item):
            self.require_free(name, written)
        if name.lower() in WINDOW_COLUMNS:
            raise written.error(f"{name} is the name of a bound of windows", f"another name than {name}")
        return name


def columns_read(value: TokenSpan) -> tuple[str, ...]:
    """Return the columns that an expression reads."""
    return (value.name,) if value.name is not None else value.expression().columns


def refuse_table_names(value: TokenSpan, tables: Collection[str]) -> None:
    """Refuse a column qualified by its table, which would be read as a field of a column."""
    for index in range(len(value) - 1):
        is_path = value.word(index + 1) == "." and value.word(index - 1 if index else -len(value) - 1) != "."
        table = value[index : index + 1].name
        if is_path and table in tables:
            after = value[index + 2 : index + 3].text
            raise value[index:].error(f"a column by the name of its table: {table}.{after}", after)


def _is_derived(item: Item | None) -> bool:
    """Test whether an item is a derived column, and not an existing one under its own name."""
    return item is not None and item.value.name != (item.alias_name or item.value.name or "")
