"""The correction, for spark-submit: FILE --warehouse DIR, and a range as for `tailrace correct`, which it is."""

from __future__ import annotations

import sys

from tailrace.cli.commands import main

sys.argv.insert(1, "correct")
main(retried=True)
