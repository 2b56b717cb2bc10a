"""The calibration, for spark-submit: FILE --warehouse DIR and the options of `tailrace calibrate`, which it is."""

from __future__ import annotations

import sys

from tailrace.cli.commands import main

sys.argv.insert(1, "calibrate")
main(retried=True)
