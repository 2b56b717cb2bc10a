"""`python -m tailrace` is `tailrace`."""

from __future__ import annotations

from tailrace.cli.start import main

main()
