"""The calls of aggregate functions in SQL text, as declared by the functions, and the calls for sections."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tailrace.functions.function import Function
from tailrace.functions.registry import FUNCTIONS

LIMIT = "100"
"""The most values of a list in SQL text, which states no limit."""

EXAMPLES = {"column": "column", "by": "column", "other": "column", "q": "0.9", "limit": "1000", "where": "column > 0"}
"""The values of a query file's fields in examples of calls."""


class CallForm(NamedTuple):
    """The form of a call of a function.

    Attributes
    ----------
    function : str
        The function's name in query files.
    text : str
        The call, with fields of a query file as arguments.
    option : str or None
        The field that the call sets to true.
    """

    function: str
    text: str
    option: str | None = None

    @property
    def name(self) -> str:
        """The name in SQL text."""
        return self.text.partition("(")[0]

    @property
    def is_distinct(self) -> bool:
        return "(DISTINCT " in self.text

    @property
    def is_ordered(self) -> bool:
        """Whether the values are in WITHIN GROUP."""
        return "WITHIN GROUP" in self.text

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that the arguments give; the order of WITHIN GROUP is the first."""
        given = (word for word in re.findall(r"\w+", self.text) if word in EXAMPLES)
        return tuple(sorted(given, key=lambda name: name != "column"))

    @property
    def counts_tuples(self) -> bool:
        """Whether `*` or a number is allowed in place of the column."""
        return self.fields == ("column",) and not FUNCTIONS[self.function].needs_column

    @property
    def spellings(self) -> tuple[str, ...]:
        """The call, preceded by the one with `*` if that is allowed."""
        return (filled(self.text, {"column": "*"}), self.text) if self.counts_tuples else (self.text,)

    @property
    def example(self) -> str:
        """A valid call, or several."""
        right = ", or ".join(filled(text, EXAMPLES) for text in self.spellings)
        return f"{self.name}(column), of at most {LIMIT} values; or {right}" if "limit" in self.fields else right


def forms_of(function: Function) -> dict[tuple[str, bool], CallForm]:
    """Return the call forms of a function, by name and DISTINCT."""
    forms = [CallForm(function.name, text) for text in function.calls]
    forms += [CallForm(function.name, text, option) for option, text in function.options.items()]
    return {(form.name, form.is_distinct): form for form in forms}


FORMS = {key: form for function in FUNCTIONS.values() for key, form in forms_of(function).items()}
"""The call forms of all functions, by name and DISTINCT."""


def call_text(section: Mapping[str, Any], text_of: Callable[[str], str]) -> str:
    """Return the call for a section, given the texts of its columns."""
    function = FUNCTIONS[section["function"]]
    options = (text for name, text in function.options.items() if str(section.get(name)).lower() == "true")
    given = {name: section.get(name) for name in (*function.columns, *function.parameters)}
    texts = {
        name: str(value) if name in function.parameters else text_of(value) for name, value in given.items() if value
    }
    call = filled(next(options, function.calls[0]), {"column": "*", **texts})
    return call + (f" FILTER (WHERE {section['where']})" if section.get("where") else "")


def filled(text: str, fields: Mapping[str, str]) -> str:
    """Replace the fields in a call by texts."""
    return re.sub(r"\w+", lambda word: fields.get(word[0], word[0]), text)
