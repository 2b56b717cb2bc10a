// emd_join: the load of each task, the boundaries between tasks as they move, and what each filter lets through.

import { chart, columns } from "../chart.js";
import { count, number, share } from "../format.js";
import { bar, table } from "../table.js";
import { empty, figures, section } from "../ui.js";

const STYLES = ["line", "dash", "dot"];
const TONES = ["ink", "soft"];
const MOST = 12; // more lines can't be told apart

// Return one line for each task or boundary; each has a list of its own, as long as `at`.
function many(data, name, title) {
  const rows = Array.isArray(data?.[name]) ? data[name] : [];
  const names = rows.slice(0, MOST).map((_, place) => `${title} ${place + 1}`);
  const series = columns({ at: data?.at, ...Object.fromEntries(names.map((each, place) => [each, rows[place]])) }, "at", names);
  return { x: { values: series.at, name: "Arrival" }, sync: "emd", series: names.map((each, place) => ({ name: each, values: series[each], style: STYLES[place % 3], tone: TONES[Math.floor(place / 3) % 2] })) };
}

function unevenness(data) {
  const last = (data?.tasks ?? []).map((task) => task?.at(-1)).filter(Number.isFinite);
  const mean = last.reduce((sum, load) => sum + load, 0) / last.length;
  return mean ? Math.max(...last) / mean : null;
}

function show(data) {
  const filters = data.filters ?? [];
  const first = filters[0]?.pairs_in;
  const uneven = unevenness(data.loads);
  return [
    figures([["Pairs that might match", count(first)], ["Exact distances computed", count(data.exact)], ["Share computed", first ? share((data.exact ?? 0) / first) : "–"],
      ["Most loaded task", uneven === null ? "–" : `${number(Math.round(uneven * 100) / 100)} × the mean`]]),
    section("Filters", filters.length ? table([
      { title: "Filter", class: "nowrap", show: (each) => String(each.name ?? "–").slice(0, 120) },
      { title: "Pairs in", number: true, show: (each) => count(each.pairs_in) },
      { title: "Pairs out", number: true, show: (each) => count(each.pairs_out) },
      { title: "Let through", class: "text", show: (each) => (each.pairs_in ? bar(each.pairs_out / each.pairs_in, share(each.pairs_out / each.pairs_in)) : "–") },
      { title: "Left of all pairs", class: "text", show: (each) => (first ? bar(each.pairs_out / first, share(each.pairs_out / first)) : "–") },
    ], filters, { key: (each, index) => index, caption: "What each filter lets through" }) : empty("No pair has been compared yet.")),
    section("Tasks",
      chart({ ...many(data.loads, "tasks", "task"), title: "Load of each task", height: 220, y: { show: number, zero: true }, none: "No load is on record." }),
      chart({ ...many(data.boundaries, "cuts", "boundary"), title: "Boundaries between tasks", height: 220, y: { show: number }, none: "The boundaries have not moved: no balancing is on record." })),
  ];
}

export default { title: "Load", show };
