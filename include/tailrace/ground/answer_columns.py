"""Names of columns of answers, and of the field with their condition, that several rooms know."""

from __future__ import annotations

VALUE = "value"
"""The column of the answers of an aggregate without a name."""

TUPLES = "tuples"
"""The column with the number of tuples of an answer."""

WINDOW_TIMES = ("window_start", "window_end")
"""The columns with the times of an answer's window."""

RETRACTED = "retracted"
"""The column of versions that are no answers: a correction took them back, or a stream's condition withheld them."""

HAVING = "having"
"""The field of a query file with the condition of the answers that are given."""
