"""The registry of the kernels; to add a kernel, add a line."""

from __future__ import annotations

from tailrace.kernels.arrival_ticks import number_ticks
from tailrace.kernels.folding import fold_float_groups, fold_int_groups, number_runs
from tailrace.kernels.grouping import first_of_runs, fold_floats, fold_ints, sort_codes
from tailrace.kernels.repeats import find_repeat
from tailrace.kernels.signature import Kernel
from tailrace.kernels.tick_partials import number_cells

KERNELS: tuple[Kernel, ...] = (
    number_ticks,
    number_cells,
    find_repeat,
    sort_codes,
    first_of_runs,
    fold_floats,
    fold_ints,
    fold_float_groups,
    fold_int_groups,
    number_runs,
)
