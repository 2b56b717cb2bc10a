"""The PD controller of paper 002 (section 1.2, equation 1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class PDController:
    """PD controller of α from the error err(i) of each window in turn: Δα = Kp · err(i) + Kd · (err(i) − err(i−1)).

    The paper leaves open the initial α, its bounds, and err(0). Here α starts at 1, with which K is the whole k, and
    stays in [0, 1]; err(0) = 0.

    Attributes
    ----------
    alpha, last : float
        α, and err of the last window.
    """

    kp: float
    kd: float
    alpha: float = 1.0
    last: float = 0.0

    def observe(self, error: float) -> None:
        """Update α by the error of the next window."""
        change = self.kp * error + self.kd * (error - self.last)
        self.alpha, self.last = min(max(self.alpha + change, 0.0), 1.0), error
