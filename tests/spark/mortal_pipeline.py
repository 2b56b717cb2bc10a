"""A pipeline that kills a Python worker of Spark's, which imports this file."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from tailrace.engine.pipeline import Pipeline


@dataclass(frozen=True)
class MortalPipeline(Pipeline):
    """A pipeline whose tasks kill their worker while there is the file `armed`, which they remove first."""

    armed: Path = Path()

    def task(self, index, change=None):
        if self.armed.exists():
            self.armed.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().task(index, change)
