"""The registry of the aggregate functions that a query file may name."""

from __future__ import annotations

from tailrace.functions.chosen import CHOICES
from tailrace.functions.distinct import DISTINCT
from tailrace.functions.function import Function
from tailrace.functions.moments import MOMENTS
from tailrace.functions.quantiles import RANKS
from tailrace.functions.sums import SUMS

FUNCTIONS: dict[str, Function] = {each.name: each for each in (*SUMS, *CHOICES, *RANKS, *MOMENTS, *DISTINCT)}
