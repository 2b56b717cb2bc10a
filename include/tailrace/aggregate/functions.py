"""The registry of the aggregate functions that a query file may name. `bindings.BINDINGS` computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from tailrace.aggregate.coverage import counted, extreme, ranked
from tailrace.aggregate.promise_mean import mean, total
from tailrace.ground.fields import MOST_IN_LIST

QUANTILE = "share of the values below the answer, for quantile and quantile_disc: 0.9"
SHARE = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False, description=QUANTILE)]

MOST_VALUES = "longest list of collect_list or collect_set; a longer one is null, and counts as overflowed: 100"
LIMIT = Annotated[int, Field(ge=1, le=MOST_IN_LIST, description=MOST_VALUES)]


@dataclass(frozen=True)
class Function:
    """An aggregate function.

    Attributes
    ----------
    name : str
        Its name in query files.
    takes : str
        The values that it takes: `numbers`, `booleans`, or `any`.
    columns : tuple of str
        The fields of a query file with the columns that it takes. A null in the first one leaves a tuple out.
    needs_name : bool
        Whether it must have a name in the answers, as it takes two columns, or does not answer with a number.
    parameters : dict
        The types, for pydantic, of the fields that a query file gives beside the function.
    amended_as : str or None
        The function that merges answers over parts of a window; None: windows with late tuples are evaluated from
        history.
    needs_column : bool
        Whether a query must name a column.
    keeps_values : bool
        Whether it needs all values of a window at once, unless it is approximate.
    threshold : callable or None
        Returns the coverage threshold λ_thr from error, risk, population and the parameters, see `promise.threshold`;
        None where it is not known.
    threshold_of_part : callable or None
        λ_thr where tuples whose value is null, or whose condition is not true, count as 0. None where it is not known,
        because the number of missing values does not follow from the missing tuples.
    """

    name: str
    takes: Literal["numbers", "booleans", "any"] = "numbers"
    columns: tuple[str, ...] = ("column",)
    needs_name: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    amended_as: str | None = None
    needs_column: bool = True
    keeps_values: bool = False
    threshold: Callable[..., float] | None = None
    threshold_of_part: Callable[..., float] | None = None


_ALL = (
    Function("sum", amended_as="sum", threshold=total, threshold_of_part=total),
    Function("count", takes="any", amended_as="sum", needs_column=False, threshold=counted, threshold_of_part=total),
    Function("avg", threshold=mean),
    Function("min", takes="any", amended_as="min", threshold=extreme, threshold_of_part=extreme),
    Function("max", takes="any", amended_as="max", threshold=extreme, threshold_of_part=extreme),
    Function("median", keeps_values=True, threshold=partial(ranked, q=0.5)),
    Function("quantile", parameters={"q": SHARE}, keeps_values=True, threshold=ranked),
    Function("quantile_disc", takes="any", parameters={"q": SHARE}, keeps_values=True),
    Function("stddev"),
    Function("stddev_pop"),
    Function("var"),
    Function("var_pop"),
    Function("count_distinct", takes="any", keeps_values=True),
    Function("first", takes="any"),
    Function("last", takes="any"),
    Function("any_value", takes="any"),
    Function("min_by", takes="any", columns=("by", "column"), needs_name=True),
    Function("max_by", takes="any", columns=("by", "column"), needs_name=True),
    Function("bool_and", takes="booleans", needs_name=True, amended_as="min"),
    Function("bool_or", takes="booleans", needs_name=True, amended_as="max"),
    Function("collect_list", takes="any", parameters={"limit": LIMIT}, keeps_values=True, needs_name=True),
    Function("collect_set", takes="any", parameters={"limit": LIMIT}, keeps_values=True, needs_name=True),
    Function("sum_distinct", keeps_values=True),
    Function("avg_distinct", keeps_values=True),
    Function("corr", columns=("column", "other"), needs_name=True),
    Function("covar_samp", columns=("column", "other"), needs_name=True),
    Function("covar_pop", columns=("column", "other"), needs_name=True),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _ALL}
