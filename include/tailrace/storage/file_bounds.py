"""The bounds by which a condition skips files of a Delta table, from the statistics in its log."""

from __future__ import annotations

import re
from typing import Any

import pyarrow.dataset as ds

_NULL_BOUND = re.compile(r"(\w+) [<>]= null\[")  # in the text of an expression


def without_null_bounds(dataset: ds.FileSystemDataset, where: Any) -> ds.FileSystemDataset:
    """Drop the bounds of files whose statistics lack a column of a condition: Delta's library bounds it by null.

    The condition would silently skip all rows of such a file.
    """
    if where is None:
        return dataset
    fragments, condition = list(dataset.get_fragments()), str(where)
    lacking = [_NULL_BOUND.findall(str(fragment.partition_expression)) for fragment in fragments]
    names = {name for each in lacking for name in each if name in condition}
    if not names:
        return dataset
    known = [
        dataset.format.make_fragment(fragment.path, dataset.filesystem) if names & set(each) else fragment
        for fragment, each in zip(fragments, lacking, strict=True)
    ]
    return ds.FileSystemDataset(known, dataset.schema, dataset.format, dataset.filesystem)
