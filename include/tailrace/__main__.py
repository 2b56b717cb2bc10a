"""`python -m tailrace` is `tailrace`."""

from __future__ import annotations

from tailrace.cli.commands import main

main()
