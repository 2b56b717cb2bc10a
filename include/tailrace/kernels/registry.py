"""The registry of the kernels; a new one is a line."""

from __future__ import annotations

from tailrace.kernels.arrival_ticks import number_ticks
from tailrace.kernels.signature import Kernel
from tailrace.kernels.tick_partials import fold_ticks

KERNELS: tuple[Kernel, ...] = (number_ticks, fold_ticks)
