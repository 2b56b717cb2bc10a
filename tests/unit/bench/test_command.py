"""The command bench: options that a measurement has no use for are refused."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("options", "where"),
    [(["--case", "dense"], "--case"), (["--flink", "home"], "--flink"), (["--rows", "9999"], "--rows 9999")],
)
@pytest.mark.parametrize("system", ["emd", "spatial", "kafka"])
def test_options_without_use_for_it_are_refused(dev, system, options, where):
    output = dev("bench", system, *options, code=2)
    assert where in output.stderr
    assert "right would be" in output.stderr
    assert not output.stdout


@pytest.mark.parametrize("system", ["aggregate", "topk", "emd"])
def test_sedona_takes_part_in_spatial_joins_alone(dev, system):
    output = dev("bench", system, "--sedona", "home", code=2)
    assert "--sedona" in output.stderr
    assert "right would be" in output.stderr


def test_topics_have_no_report(dev):
    output = dev("bench", "kafka", "--report", "page", code=2)
    assert "--report" in output.stderr
    assert "right would be" in output.stderr


@pytest.mark.parametrize(
    "words",
    [("kafka", "--report"), ("aggregate", "--flink"), ("spatial", "--sedona")],
    ids=lambda words: words[1],
)
def test_a_url_is_no_path_of_this_machine(dev, monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    assert "s3://bucket/x: it is a URL" in " ".join(dev("bench", *words, "s3://bucket/x", code=2).stderr.split())
    assert list(tmp_path.iterdir()) == []
