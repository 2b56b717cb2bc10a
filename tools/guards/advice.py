"""Guards of the room `advice`."""

from __future__ import annotations

from guards.mutation import Mutation

PROPOSAL = "tests/unit/advice/test_proposal.py"

MUTATIONS = (
    Mutation(
        "init: times without a zone are never UTC in silence",
        "advice/query_text.py",
        "return self.timezone is None and any(",
        "return False and any(",
        (f"{PROPOSAL}::test_the_worst_comes_first",),
    ),
    Mutation(
        "init: dates that can be read in two ways are refused",
        "advice/proposal.py",
        "if column is not None and column.time is not None and column.time.is_ambiguous:",
        "if False:",
        (f"{PROPOSAL}::test_days_and_months_that_can_not_be_told_apart_are_refused_and_read_as_the_user_says",),
    ),
    Mutation(
        "init: a few times before the bounds do not move them",
        "advice/proposal.py",
        "if np.mean(is_usual) >= _USUAL:",
        "if False:",
        (f"{PROPOSAL}::test_one_time_of_twenty_years_ago_moves_neither_bounds_nor_windows",),
    ),
    Mutation(
        "init: a column before the event time is no arrival time",
        "advice/roles.py",
        "is_after(column.name, event.name)) >= _LEAST_TIMES",
        "is_after(column.name, event.name)) >= 0",
        (f"{PROPOSAL}::test_arrival_before_the_event_is_no_arrival",),
    ),
    Mutation(
        "init: a column whose name the grammar has taken is quoted",
        "advice/quoting.py",
        """return f"`{name.replace('`', '``')}`\"""",
        "return name",
        ("tests/unit/advice/test_quoting.py::test_a_quoted_name_is_a_column",),
    ),
    Mutation(
        "init: a category is the key only where nothing else is",
        "advice/roles.py",
        "return is_category - has_name(column.name, IDENTITY), column.numbers >= _LEAST_NUMBERS",
        "return False, column.numbers >= _LEAST_NUMBERS",
        (f"{PROPOSAL}::test_a_place_a_person_or_a_thing_is_the_key_before_a_category",),
    ),
    Mutation(
        "init: a sum of money is exact",
        "advice/query_text.py",
        'dtype = "double" if self._cents is None else f"decimal(18, {self._cents})"',
        'dtype = "double"',
        (f"{PROPOSAL}::test_money_gets_a_sum_of_decimals",),
    ),
    Mutation(
        "init: a measurement with two digits is no money",
        "advice/money.py",
        "least == most == _CENTS and not has_name(name, MEASURE)",
        "least == most == _CENTS",
        ("tests/unit/advice/test_money.py",),
    ),
    Mutation(
        "doctor: an unknown error shows its type alone, as its text may hold a secret",
        "advice/checks.py",
        "it failed: {type(error).__name__}",
        "it failed: {error}",
        ("tests/unit/advice/test_checks.py::test_an_unknown_error_shows_its_type_alone",),
    ),
)
