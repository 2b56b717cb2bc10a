"""The number of bins of an EMD join on a line, from the first record if the declaration leaves it open."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow.compute as pc
from pydantic import ValidationError

from tailrace.emd_join.section import MOST_BINS
from tailrace.ground.errors import Problem, Refused, Unfit, refuse
from tailrace.query.joins import EmdJoinQuery
from tailrace.query.query import Query
from tailrace.stream.sample_report import SourceSample
from tailrace.stream.source_sample import compile_sample, sample_sources


def with_bins_of_source(query: Query, samples: Mapping[str, SourceSample] | None = None) -> Query:
    """Return the query with the number of bins of its first records; unchanged if it needs none, or none came yet.

    Raises
    ------
    Unfit
        When no record has a histogram, or the streams differ in the number of bins.
    """
    if not (isinstance(query, EmdJoinQuery) and query.emd_join.takes_bins):
        return query
    samples = sample_sources(query) if samples is None else samples
    bins_of = {name: bins for name, bins in _bins(query, samples).items() if bins is not None}
    if not bins_of:
        return query
    if len({*bins_of.values()}) > 1:
        each = " and ".join(f"{bins} in {samples[name].where}" for name, bins in bins_of.items())
        fault = f"the first histograms have not the same number of bins: {each}"
        raise Unfit([Problem(f"column {query.emd_join.histogram}", fault, "as many bins in both streams; or bins: N")])
    bins = next(iter(bins_of.values()))
    try:
        return query.with_bins(bins)
    except ValidationError as error:
        fault = f"the first histogram has {bins} bins, and emd_join does not fit that: {error.errors()[0]['msg']}"
        raise Refused([Problem(f"query {query.name}: emd_join", fault, "a section that fits; or bins: N")]) from None


def require_bins(query: Query) -> Query:
    """Return the query like `with_bins_of_source`.

    Raises
    ------
    Refused
        When its sources have no record that shows the number of bins.
    """
    fixed = with_bins_of_source(query)
    if isinstance(fixed, EmdJoinQuery) and fixed.emd_join.takes_bins:
        fault = "no record is there that shows the number of bins, and it is not declared"
        raise refuse(f"query {query.name}: emd_join.bins", fault, "bins: N; or a record, before the first start")
    return fixed


def _bins(query: EmdJoinQuery, samples: Mapping[str, SourceSample]) -> dict[str, int | None]:
    """Return the number of bins of each stream's first histogram; None without a record yet."""
    if not all(sample.types for sample in samples.values()):
        return {}
    bins_of: dict[str, int | None] = {}
    column = query.emd_join.histogram
    for reader in compile_sample(query, samples)[0].readers():
        bins_of[reader.name] = None
        for segment in samples[reader.name].segments[:1]:
            table = reader.format.read(segment, reader.types).table
            lengths = np.asarray(pc.fill_null(pc.list_value_length(table[column]), 0).combine_chunks())
            usable = lengths[(lengths > 1) & (lengths <= MOST_BINS)]
            if not len(usable):
                fault = f"none of the first {len(lengths):,} records has a histogram of 2 to {MOST_BINS} bins"
                raise Unfit([Problem(f"{samples[reader.name].where}: column {column}", fault, "lists of masses")])
            bins_of[reader.name] = int(usable[0])
    return bins_of
