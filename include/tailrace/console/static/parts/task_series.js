// One line for each task or boundary of a join, and how unevenly its load is spread.

import { chart, columns } from "../chart.js";
import { rough, share } from "../format.js";

const STYLES = ["line", "dash", "dot"];
const TONES = ["ink", "soft"];
const MOST = 12; // more lines can't be told apart

// Return x and the lines; each of `lists` is as long as `at`. A time that is null is the beginning of the range.
export function many(at, lists, title, start, path = undefined) {
  const rows = Array.isArray(lists) ? lists.slice(0, MOST) : [];
  const names = rows.map((_, place) => `${title} ${place + 1}`);
  const times = (at ?? []).map((ms) => ms ?? start);
  const series = columns(
    { at: times, ...Object.fromEntries(names.map((each, place) => [each, rows[place]])) },
    "at",
    names,
  );
  const lines = names.map((name, place) => ({
    name,
    values: series[name],
    path,
    style: STYLES[place % 3],
    tone: TONES[Math.floor(place / 3) % 2],
  }));
  return { x: { values: series.at, name: "Arrival" }, series: lines };
}

// Return the load of each task, and its imbalance, as charts.
export function loadCharts(loads, select) {
  const imbalance = columns(loads, "at", ["imbalance"]);
  return [
    chart({
      ...many(loads?.at, loads?.tasks, "task"),
      ...select,
      title: "Load of each task",
      height: 220,
      y: { show: rough, zero: true },
      none: "No load is on record for this range.",
    }),
    chart({
      ...select,
      title: "Imbalance: the most loaded task above the mean",
      height: 220,
      x: { values: imbalance.at, name: "Arrival" },
      y: { show: share, zero: true },
      lines: [{ at: 0, label: "even", tone: "good" }],
      series: [{ name: "worst batch", values: imbalance.imbalance }],
      none: "The imbalance of this range is not on record.",
    }),
  ];
}
