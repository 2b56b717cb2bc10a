// One line for each task or boundary of a join, and how unevenly its load is spread.

import { chart, columns } from "../chart.js";
import { count, rough, share } from "../format.js";

const STYLES = ["line", "dash", "dot"];
const TONES = ["ink", "soft"];
const MOST = 12; // more lines can't be told apart

const sum = (values) => (values ?? []).reduce((total, value) => total + (value ?? 0), 0);

// Return the places of the lines that are drawn: those of the greatest sums, in their order.
function greatest(lists) {
  const sums = lists.map(sum);
  const places = lists.map((_, place) => place).sort((one, other) => sums[other] - sums[one]);
  return places.slice(0, MOST).sort((one, other) => one - other);
}

// Return x and the lines, and in words what is left out; each of `lists` is as long as `at`. A time that is null is the
// beginning of the range.
export function many(at, lists, [title, titles], start, path = undefined) {
  const all = Array.isArray(lists) ? lists : [];
  const isLoad = titles === "tasks";
  const places = isLoad ? greatest(all) : all.map((_, place) => place).slice(0, MOST);
  const rows = places.map((place) => all[place]);
  const names = places.map((place) => `${title} ${place + 1}`);
  const some = isLoad ? `The ${MOST} most loaded` : `The first ${MOST}`;
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
  const summary = all.length > MOST ? `${some} of ${count(all.length)} ${titles}` : undefined;
  return { x: { values: series.at, name: "Arrival" }, series: lines, summary };
}

// Return the load of each task, and its imbalance, as charts.
export function loadCharts(loads, select) {
  const imbalance = columns(loads, "at", ["imbalance"]);
  return [
    chart({
      ...many(loads?.at, loads?.tasks, ["task", "tasks"]),
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
