"""The choice of the search of an EMD join, with its reason: in closed form where bins lie on a line, else a chain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tailrace.emd_join import chain, head_search, line_search
from tailrace.emd_join.chain import ChainSearch
from tailrace.emd_join.forest import Forest
from tailrace.emd_join.ground_distance import Costs, is_line
from tailrace.emd_join.head_search import HeadSearch
from tailrace.emd_join.line_search import LineSearch
from tailrace.emd_join.methods import METHODS, SpreadingMethod
from tailrace.emd_join.search import HistogramSearch
from tailrace.emd_join.section import EmdJoinSection
from tailrace.ground.duration import ms
from tailrace.kind.explanation import Explanation

_SOLUTIONS = 4  # of the forest: more reject few candidates that these leave
_HEAD_SPANS = 1024  # the ranges of Head-SJ are made of spans as narrow as this part of the longest distance


class SearchPlan(NamedTuple):
    """How the pairs of a query are found, and the reason for it."""

    search: HistogramSearch
    method: SpreadingMethod
    explanation: Explanation


def plan_of(section: EmdJoinSection) -> SearchPlan:
    """Choose how the pairs of a declared join are found."""
    costs = section.costs
    method = method_of(section, costs)
    search, how, why = _search(section, costs)
    return SearchPlan(search, method, Explanation(method.description, how, why))


def filters_of(section: EmdJoinSection) -> tuple[str, ...]:
    """Return the names of the filters of a declared join, in the order in which candidates meet them."""
    if _is_closed_form(section, section.costs):
        return line_search.ORDER
    return head_search.ORDER if section.method == "head" else chain.ORDER


def _is_closed_form(section: EmdJoinSection, costs: Costs) -> bool:
    return is_line(costs) and section.search != "filter_chain"


def _search(section: EmdJoinSection, costs: Costs) -> tuple[HistogramSearch, str, str]:
    """The search, in words too, and the reason for it."""
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
    """Return the method by which the left stream is spread over tasks."""
    width = float(costs.max()) / _HEAD_SPANS if section.method == "head" else section.span_width
    return METHODS[section.method](width, ms(section.feedback_period))
