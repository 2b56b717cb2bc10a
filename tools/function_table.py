"""Writes the table of functions in docs/expressions.md from the registry."""

from __future__ import annotations

from pathlib import Path

from tailrace.expressions.documentation import function_table

PAGE = Path(__file__).parents[1] / "docs" / "expressions.md"
START, END = "<!-- functions: tools/function_table.py writes them -->\n", "\n<!-- end of functions -->"

if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{START}{function_table()}{END}{after}")
