"""Commented templates of query files, one for each kind; each is a valid file."""

from __future__ import annotations

_SOURCE = """\
    source: {{format: csv, path: data/{0}}}  # YOURS: csv, json, parquet, delta or kafka; a file or a directory
    event_time: event_time      # YOURS: the column with the time at which the event happened
    arrival_time: arrival_time  # YOURS: the column with the arrival time; without one, the time of reading
    id: id                      # YOURS: the column that names the record
    timezone: UTC               # YOURS: what times without a zone mean, as Europe/Berlin
"""

_DISORDER = (
    "disorder: {policy: k_slack, k: 1 min}  # windows wait so long for late records; corrections take later ones\n"
)


def _streams(*names: str) -> str:
    return "streams:\n" + "".join(f"  {name}:\n{_SOURCE.format(name)}" for name in names)


TEMPLATES = {
    "aggregate": f"""\
# Aggregates of each key over windows of event time.
name: my_aggregate
kind: aggregate
{_streams("records")}\
    key: sensor                 # YOURS: the column to group by; a list groups by several; without one: one group
    # where: speed > 0          # records for which it is false are left out
window: 5 min                   # or {{size: 1 h, slide: 5 min}}; with a timezone 1 d, 1 week, 1 month, …
{_DISORDER}\
# Or a promise, for which tailrace finds the wait itself: {{policy: quantile, error: 0.05, risk: 0.05}}
aggregate:                      # answers have columns of these names
  records: {{function: count}}
  mean: {{function: avg, column: value}}  # YOURS: sum count avg min max median quantile stddev var count_distinct …
""",
    "topk": f"""\
# The k best records of each key over windows of event time.
name: my_topk
kind: topk
{_streams("records")}\
    key: sensor                 # YOURS: the column to group by; without one: one ranking
window: 5 min                   # or {{size: 1 h, slide: 5 min}}
{_DISORDER}\
topk:
  k: 5
  score: value                  # YOURS: the column of numbers to rank by
  order: descending             # or ascending
""",
    "emd_join": f"""\
# Pairs of records of two streams with similar histograms, by the Earth Mover's Distance, near in event time.
name: my_emd_join
kind: emd_join
{_streams("left", "right").replace("format: csv", "format: json")}\
window: {{size: 5 s}}             # the event times of a pair are at most so far apart
disorder: {{policy: cache_duration, accuracy: 0.95}}  # how long records are kept for late partners, by calibrations
emd_join:
  histogram: histogram          # YOURS: the column of lists of masses, in both streams; CSV has no lists
  threshold: 0.5                # the largest distance of a pair, in bins
""",
    "spatial_join": f"""\
# Pairs of records of two streams that are near in space and in event time.
name: my_spatial_join
kind: spatial_join
{_streams("left", "right")}\
{_DISORDER}\
spatial_join:
  join: interval                # or window; or table, of a stream and a table of geometries
  interval: {{lower: -5 min, upper: 5 min}}  # right's event time − left's, both ends included
  geometry:                     # YOURS: columns of x and y, or one of WKT or WKB
    left: {{x: lon, y: lat}}
    right: {{x: lon, y: lat}}
  crs: degrees                  # or planar
  relation: dwithin             # or within, intersects, contains …
  distance: 1 km
""",
}
"""The templates, by kind."""
