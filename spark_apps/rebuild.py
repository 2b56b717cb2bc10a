"""The rebuild, for spark-submit: FILE --warehouse DIR and the options of `tailrace rebuild`, which it is."""

from __future__ import annotations

import sys

from tailrace.cli.commands import main

sys.argv.insert(1, "rebuild")
main(retried=True)
