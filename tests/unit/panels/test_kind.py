"""The panel of what is particular to a kind: every kind has one."""

from __future__ import annotations

from tailrace.kinds import KINDS
from tailrace.panels.kind import READERS


def test_every_kind_has_a_reader():
    assert READERS.keys() == KINDS.keys()
