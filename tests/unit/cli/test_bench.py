"""The command bench: options that a measurement has no use for are refused."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("options", "where"),
    [(["--case", "dense"], "--case"), (["--flink", "home"], "--flink"), (["--rows", "9999"], "--rows 9999")],
)
@pytest.mark.parametrize("system", ["emd", "spatial", "kafka"])
def test_options_without_use_for_it_are_refused(tailrace, system, options, where):
    output = tailrace("bench", system, *options, code=2)
    assert where in output.stderr
    assert "right would be" in output.stderr
    assert not output.stdout


@pytest.mark.parametrize("system", ["aggregate", "topk", "emd"])
def test_sedona_takes_part_in_spatial_joins_alone(tailrace, system):
    output = tailrace("bench", system, "--sedona", "home", code=2)
    assert "--sedona" in output.stderr
    assert "right would be" in output.stderr


def test_topics_have_no_report(tailrace):
    output = tailrace("bench", "kafka", "--report", "page", code=2)
    assert "--report" in output.stderr
    assert "right would be" in output.stderr
