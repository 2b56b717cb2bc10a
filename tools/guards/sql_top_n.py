"""Guards of the room `sql`: top-n, and the list around it."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import SQL_OUTER, SQL_REFUSED

MUTATIONS = (
    Mutation(
        "SQL text: what the outer list of a top-n leaves out is not selected",
        "sql/top_n.py",
        "if name is None or name not in top_n.shown:",
        "if name is None:",
        ("tests/unit/sql/test_translate.py",),
    ),
    Mutation(
        "SQL text: a name of a top-n gets no second name",
        "sql/outer_list.py",
        "if own is not None and own.alias is not None:",
        "if False:",
        ("tests/unit/sql/test_refusals.py", SQL_OUTER),
    ),
    Mutation(
        "SQL text: an expression over a name of the inner list of a top-n has what that list has for it",
        "sql/outer_list.py",
        "if own is not None and own.alias is not None and own.value.name != name:",
        "if False:",
        (SQL_OUTER,),
    ),
    Mutation(
        "SQL text: what the inner list of a top-n has for a name stands in parentheses",
        "sql/outer_list.py",
        'else f"({own.value.text})"',
        "else own.value.text",
        (SQL_OUTER,),
    ),
    Mutation(
        "SQL text: no expression is over the rank of a top-n, or over the bounds of windows",
        "sql/outer_list.py",
        "if name == self.rank or name.lower() in WINDOW_COLUMNS or (own is not None and _is_bound(own)):",
        "if False:",
        (SQL_OUTER,),
    ),
    Mutation(
        "SQL text: the rank of a top-n gets no other name",
        "sql/outer_list.py",
        "if item.alias_name in (None, name, _RANK):",
        "if True:",
        (SQL_OUTER,),
    ),
    Mutation(
        "SQL text: the outer list of a top-n reads what the inner one has",
        "sql/outer_list.py",
        "elif own is None and not self.has_all:",
        "elif False:",
        (SQL_OUTER,),
    ),
    Mutation(
        "SQL text: a column of a top-n by the name of its table is no nested field",
        "sql/outer_list.py",
        "if path[0] in self.tables and len(path) > 1:",
        "if False:",
        (SQL_OUTER,),
    ),
    Mutation(
        "SQL text: two columns of a top-n have two names",
        "sql/outer_list.py",
        "elif other.value.same != item.value.same:",
        "elif False:",
        (SQL_OUTER,),
    ),
    Mutation(
        "SQL text: * of a top-n leaves no column out",
        "sql/outer_list.py",
        'if value.word(0) == "*" and len(value) > 1:',
        "if False:",
        (SQL_OUTER,),
    ),
    Mutation(
        "SQL text: what WITH names after a top-n is read",
        "sql/top_n.py",
        "            require_read(named[number + 1 :], [])\n",
        "",
        (SQL_REFUSED,),
    ),
)
