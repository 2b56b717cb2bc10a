// emd_join: the load of each task, the boundaries between tasks as they move, and what each filter lets through.

import { chart } from "../chart.js";
import { h } from "../dom.js";
import { count, rough, share } from "../format.js";
import { chosen, range, selecting } from "../range.js";
import { bar, table } from "../table.js";
import { empty, figures, section, unread } from "../ui.js";
import { calibration } from "./calibration.js";
import { loadCharts, many } from "./task_series.js";

const columns = (first) => [
  { title: "Filter", class: "nowrap", show: (each) => String(each.name ?? "–").slice(0, 120) },
  { title: "Pairs in", number: true, show: (each) => count(each.pairs_in) },
  { title: "Pairs out", number: true, show: (each) => count(each.pairs_out) },
  { title: "Left undecided", class: "text", show: (each) => shareBar(each.pairs_out, each.pairs_in) },
  { title: "Left of all pairs", class: "text", show: (each) => shareBar(each.pairs_out, first) },
];

// Return the boundaries, the last of which hold until the end of the range.
function held(boundaries, to) {
  const { at = [], cuts = [] } = boundaries ?? {};
  if (!at.length || !(to > at.at(-1))) return { at, cuts };
  return { at: [...at, to], cuts: cuts.map((cut) => [...cut, cut.at(-1)]) };
}

const shareBar = (part, whole) => (whole ? bar(part / whole, share(part / whole)) : "–");

function show(data, context) {
  const filters = data.filters ?? [];
  const boundaries = held(data.boundaries, data.to);
  const select = { sync: "emd", onRange: selecting(context), selected: context.selected };
  const all = data.candidates ?? filters[0]?.pairs_in;
  return [
    range(context, data),
    chosen(context),
    figures([
      ["Candidate pairs", count(all), "Pairs within reach of event time"],
      ["Exact distances", count(data.exact), "Pairs that no filter decided"],
      ["Share computed", all ? share((data.exact ?? 0) / all) : "–"],
      data.queries === undefined ? null : ["Distances of queries", count(data.queries), "They help to decide others"],
      data.pairs === undefined ? null : ["Pairs answered", count(data.pairs)],
    ]),
    section(
      "Filters",
      filters.length
        ? table(columns(all), filters, { key: (each, index) => index, caption: "What each filter leaves undecided" })
        : empty("No pair has been compared in this range."),
    ),
    section(
      "Tasks",
      h(
        "div",
        { class: "grid" },
        loadCharts(data.loads, select),
        chart({
          ...many(boundaries.at, boundaries.cuts, ["boundary", "boundaries"], data.from, "step"),
          title: "Boundaries between tasks",
          ...select,
          height: 220,
          y: { show: rough },
          none: unread(data, "boundaries") ?? "The boundaries have not moved: no partition plan is on record.",
        }),
      ),
    ),
    calibration(data.calibration, false, unread(data, "calibration")),
  ];
}

export default { title: "Load", show };
