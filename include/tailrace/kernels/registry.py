"""The registry of the kernels; a new one is a line."""

from __future__ import annotations

from tailrace.kernels.signature import Kernel
from tailrace.kernels.tick_partials import fold_ticks

KERNELS: tuple[Kernel, ...] = (fold_ticks,)
