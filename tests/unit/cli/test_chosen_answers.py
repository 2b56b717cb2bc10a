"""`results` with --where, --order-by and --limit, in each form."""

from __future__ import annotations

import json

QUERY = """name: load
kind: aggregate
streams:
  readings:
    source: {format: csv, path: readings.csv}
    event_time: measured
    id: id
    key: site
    columns: {load: cast(v as double)}
window: 1 min
aggregate: {n: {function: count}, top: {function: max, column: load}}
"""
READINGS = """id,site,measured,v
1,a,2026-11-23 08:00:05,5
2,b,2026-11-23 08:00:10,7
3,a,2026-11-23 08:01:50,1
4,c,2026-11-23 08:02:05,9
"""
WITHOUT_SITE = "5,,2026-11-23 08:02:06,3\n"


def test_answers_are_chosen_in_every_form(tailrace, tmp_path):
    (tmp_path / "readings.csv").write_text(READINGS)
    file = tmp_path / "load.yaml"
    file.write_text(QUERY)
    where = "--warehouse", tmp_path / "wh"
    tailrace("run", file, *where, "--engine", "local", "--bounded", "--correct")

    def read(query: object, *options: object) -> list[tuple[object, ...]]:
        lines = tailrace("results", query, *where, "--format", "jsonl", *options).stdout.splitlines()
        return [(row["key"], row["n"], row["top"]) for row in map(json.loads, lines)]

    best = [("c", 1, 9.0), ("b", 1, 7.0), ("a", 1, 5.0), ("a", 1, 1.0)]
    for query in (file, "load"):
        assert sorted(read(query)) == sorted(best)
        assert read(query, "--order-by", "top desc") == best
        assert read(query, "--order-by", "key DESC, top", "--limit", "3") == [best[0], best[1], best[3]]
        assert read(query, "--where", "window_start >= '2026-11-23T08:01:00Z'", "--order-by", "top") == [
            best[3],
            best[0],
        ]

    csv = tailrace("results", file, *where, "--format", "csv", "--limit", 1)
    assert len(csv.stdout.splitlines()) == 2
    table = tailrace("results", file, *where, "--limit", 1)
    assert (table.stdout.count("2026-11-23"), table.stderr) == (2, "")  # its window has two bounds
    none = tailrace("results", file, *where, "--where", "top > 100", "--format", "csv")
    assert len(none.stdout.splitlines()) == 1
    assert none.stderr == "none of 4 answers meets --where\n"
    wrong = tailrace("results", file, *where, "--where", "tpo > 100", code=2)
    assert "--where: answers have no column tpo\n    right would be: top" in wrong.stderr


def test_the_answers_of_no_key_are_found(tailrace, tmp_path):
    (tmp_path / "readings.csv").write_text(READINGS + WITHOUT_SITE)
    file = tmp_path / "load.yaml"
    file.write_text(QUERY)
    where = "--warehouse", tmp_path / "wh"
    tailrace("run", file, *where, "--engine", "local", "--bounded")
    for query in (file, "load"):
        (line,) = tailrace("results", query, *where, "--where", "key is null", "--format", "jsonl").stdout.splitlines()
        assert (json.loads(line)["key"], json.loads(line)["top"]) == (None, 3.0)
