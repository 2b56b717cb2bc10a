"""The stream app, for spark-submit: it is `tailrace run`, live, and takes the same arguments."""

from __future__ import annotations

import sys

from tailrace.cli.commands import main
from tailrace.ground.passed_variables import restore

restore()
sys.argv.insert(1, "run")
main(retried=True)
