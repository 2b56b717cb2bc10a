"""How many examples Hypothesis draws in the costly properties: a half, unless TAILRACE_EXAMPLES says another share.

`make test` draws other examples at each run, so many runs see what one long run would. `make test EXAMPLES=4` draws
eight times as many.
"""

from __future__ import annotations

import os

SHARE = float(os.environ.get("TAILRACE_EXAMPLES", "0.5"))


def share_of(examples: int) -> int:
    """Return the number of examples to draw of a property that has so many at a share of one; at least one."""
    return max(1, round(examples * SHARE))
