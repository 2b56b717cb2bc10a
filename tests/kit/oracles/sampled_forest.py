"""A forest whose dual solutions are those of exact distances, as paper 000 makes it from samples."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tailrace.emd_join.exact import solve
from tailrace.emd_join.forest import Forest


def forest_of_samples(samples: np.ndarray, costs: np.ndarray) -> Forest:
    """The dual solutions of the exact distances of each sample histogram and the next."""
    return Forest(tuple(solve(p, q, costs).dual for p, q in pairwise(samples)))
