"""The PD controller of paper 002 (section 1.2, equation 1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class PDController:
    """Keeps α by the error err(i) of one window after another: Δα = Kp · err(i) + Kd · (err(i) − err(i−1)).

    The paper leaves open where α begins, its bounds, and err(0). Here it begins at 1, with which no tuple is late, and
    stays in [0, 1]; err(0) = 0.

    Attributes
    ----------
    alpha, last : float
        α, and the err of the last window.
    """

    kp: float
    kd: float
    alpha: float = 1.0
    last: float = 0.0

    def observe(self, error: float) -> None:
        """The next window."""
        change = self.kp * error + self.kd * (error - self.last)
        self.alpha, self.last = min(max(self.alpha + change, 0.0), 1.0), error
