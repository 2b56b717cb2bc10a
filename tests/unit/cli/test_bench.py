"""The command bench: options that a measurement has no use for are refused."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("options", "where"),
    [(["--case", "dense"], "--case"), (["--flink", "home"], "--flink"), (["--rows", "9999"], "--rows 9999")],
)
def test_options_without_use_for_a_join_are_refused(tailrace, options, where):
    output = tailrace("bench", "emd", *options, code=2)
    assert where in output.stderr
    assert "right would be" in output.stderr
    assert not output.stdout
