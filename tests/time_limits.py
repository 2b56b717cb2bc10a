"""How long tests wait for what must come within a time: no longer on a quiet machine, where `make timed` runs them.

Elsewhere they wait for long, as a busy machine makes no test red.
"""

from __future__ import annotations

import os

TIMED = "TAILRACE_TIMED"
"""The environment variable that says that the machine has nothing else to do."""
HANG_S = 1200.0
"""What has not come by then never comes."""


def limit_s(promised_s: float) -> float:
    """Return how long to wait for what is promised within a time, in s."""
    return promised_s if os.environ.get(TIMED) else HANG_S
