"""Names of columns of answers, and of the field with their condition, used by several rooms."""

from __future__ import annotations

VALUE = "value"
"""The column of the answers of an aggregate without a name."""

TUPLES = "tuples"
"""The column with the number of tuples of an answer."""

WINDOW_TIMES = ("window_start", "window_end")
"""The columns with the times of an answer's window."""

RETRACTED = "retracted"
"""The column that marks versions that are no answers: a correction retracted them, or a condition withheld them."""

HAVING = "having"
"""The field of a query file with the condition that answers must meet."""
