"""The section `topk` of a query file: how many tuples, and by which score they are ranked."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tailrace.ground.fields import Column, Section


class TopKSection(Section):
    """The ranking by which a top-k query selects the tuples of each key and window."""

    k: Annotated[int, Field(ge=1, le=10_000)] = Field(description="how many tuples, from 1 to 10000: 5")
    score: Column = Field(description="column of the numbers that tuples are ranked by: price")
    order: Literal["descending", "ascending"] = Field(
        default="descending", description="whether the largest scores come first, or the smallest: descending"
    )
    method: Literal["adaptive", "sma", "mintopk", "gstopk"] = Field(
        default="adaptive", description="how they are found; all but adaptive are baselines: adaptive"
    )
