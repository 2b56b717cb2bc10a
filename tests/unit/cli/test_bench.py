"""The command bench: options that a measurement has no use for are refused."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("options", "where"),
    [(["--case", "dense"], "--case"), (["--flink", "home"], "--flink"), (["--rows", "9999"], "--rows 9999")],
)
@pytest.mark.parametrize("system", ["emd", "spatial"])
def test_options_without_use_for_a_join_are_refused(tailrace, system, options, where):
    output = tailrace("bench", system, *options, code=2)
    assert where in output.stderr
    assert "right would be" in output.stderr
    assert not output.stdout


@pytest.mark.parametrize("system", ["aggregate", "topk", "emd"])
def test_sedona_takes_part_in_spatial_joins_alone(tailrace, system):
    output = tailrace("bench", system, "--sedona", "home", code=2)
    assert "--sedona" in output.stderr
    assert "right would be" in output.stderr
