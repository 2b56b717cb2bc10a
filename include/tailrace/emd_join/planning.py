"""The choice of an EMD join's search, with its reason.

For bins on a line, the search uses the closed form; otherwise a chain of filters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tailrace.emd_join import chain, head_search, line_search
from tailrace.emd_join.chain import ChainSearch
from tailrace.emd_join.forest import Forest
from tailrace.emd_join.ground_distance import Costs, is_line
from tailrace.emd_join.head_search import HeadSearch
from tailrace.emd_join.line_search import LineSearch
from tailrace.emd_join.methods import EmdDdsj, Head, ShuffleMethod, SpreadingMethod
from tailrace.emd_join.normal_bound import projection
from tailrace.emd_join.search import HistogramSearch
from tailrace.emd_join.section import EmdJoinSection
from tailrace.ground.duration import ms
from tailrace.kind.explanation import KindExplanation

_SOLUTIONS = 4  # solutions of the forest; more would reject few further candidates
_HEAD_SPANS = 1024  # the cells of Head-SJ consist of squares whose sides are this part of the longest distance


class SearchPlan(NamedTuple):
    """The search for the pairs of a query, and the reason for it."""

    search: HistogramSearch
    method: SpreadingMethod
    explanation: KindExplanation


def plan_of(section: EmdJoinSection) -> SearchPlan:
    """Choose the search for the pairs of a declared join."""
    costs = section.costs
    method = method_of(section, costs)
    search, how, why = _search(section, costs)
    return SearchPlan(search, method, KindExplanation(method.description, how, why))


def filters_of(section: EmdJoinSection) -> tuple[str, ...]:
    """Return the names of a declared join's filters, in the order of their application."""
    if _is_closed_form(section, section.costs):
        return line_search.ORDER
    return head_search.ORDER if section.method == "head" else chain.ORDER


def _is_closed_form(section: EmdJoinSection, costs: Costs) -> bool:
    return is_line(costs) and section.search != "filter_chain"


def _search(section: EmdJoinSection, costs: Costs) -> tuple[HistogramSearch, str, str]:
    """Return the search, its description, and the reason for it."""
    on_line = is_line(costs)
    if _is_closed_form(section, costs):
        how = "closed form: ranges of centroids, then sums of neighbouring bins, then the L1 distance"
        why = "the bins lie on a line, where this is the distance, and takes no solver"
        return LineSearch(np.diagonal(costs, offset=1), section.threshold), how, why
    why = "search: filter_chain is declared" if on_line else "the bins lie on no line: exact distances need a solver"
    forest = Forest.of_bins(costs, _SOLUTIONS)
    if section.method == "head":
        places = section.ground_distance.places(len(costs), section.scale)
        upper = "" if section.distances else "reference upper bound, "
        how = f"filter chain: normal, dual and centroid lower bounds, {upper}network simplex"
        return HeadSearch(costs, section.threshold, forest, places, section.distances), how, why
    upper = "" if section.distances else "UB_P, "
    how = f"filter chain: ranges of keys, triangle, feasible dual solutions, {upper}LB_IM, network simplex"
    return ChainSearch(costs, section.threshold, forest, section.distances), how, why


def method_of(section: EmdJoinSection, costs: Costs) -> SpreadingMethod:
    """Return the method that spreads the left stream over tasks."""
    period_ms = ms(section.feedback_period)
    if section.method == "head":
        return Head(float(costs.max()) / _HEAD_SPANS, period_ms, tuple(projection(costs).tolist()))
    return (ShuffleMethod if section.method == "shuffle" else EmdDdsj)(section.span_width, period_ms)
