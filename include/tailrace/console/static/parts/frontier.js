// How far event time is behind arrival: t_max and frontier, K and its settings, coverage, rows and late ones.

import { chart, columns } from "../chart.js";
import { h } from "../dom.js";
import { count, duration, number, share } from "../format.js";
import { chosen, range, selecting } from "../range.js";
import { bar, table } from "../table.js";
import { time } from "../time.js";
import { empty, figures, longText, prose, section, unread } from "../ui.js";

const NAMES = ["frontier", "t_max", "k_ms", "least_k_ms", "rows", "late"];
const UNITS = {
  share: { show: share, max: 1 },
  count: { show: count, zero: true },
  duration: { show: duration, zero: true },
};
const less = (at, values) => at.map((ms, index) => (values[index] === null ? null : ms - values[index]));
const last = (values) => values.findLast((value) => value !== null) ?? null;
const sum = (values) => values.reduce((total, value) => total + (value ?? 0), 0);

// Return the event times of what arrived in a range: none is later than t_max. Where they begin is estimated: at the t_max
// before the range less the longest delay of which is known; null where none is.
function eventsOf(series, delays) {
  return (from, to) => {
    const inside = series.at
      .map((_, index) => index)
      .filter((index) => series.at[index] >= from && series.at[index] <= to && series.t_max[index] !== null);
    if (!inside.length) return null;
    const longest = Math.max(0, ...(delays?.quantiles ?? []).map((each) => each.delay_ms).filter(Number.isFinite));
    const before = series.t_max.slice(0, inside[0]).findLast((ms) => ms !== null) ?? null;
    const start = longest && before !== null ? Math.floor(before - longest) : null;
    return { from: start, to: Math.ceil(series.t_max[inside.at(-1)]), isEstimate: true };
  };
}

// Return K; where a point stands for several batches, its least beside its greatest.
function ofK(series) {
  const differs = series.k_ms.some((k, index) => series.least_k_ms[index] !== null && series.least_k_ms[index] !== k);
  const greatest = { name: differs ? "greatest K" : "K", values: series.k_ms, style: "step" };
  return differs ? [greatest, { name: "least K", values: series.least_k_ms, style: "dash", tone: "soft" }] : [greatest];
}

function show(data, context) {
  const charts = Object.entries(data.charts ?? {});
  const series = columns(data.series, "at", [...NAMES, ...charts.map(([name]) => name)]);
  const wall = columns(data.wall, "at", ["emitted_at"]);
  const changes = (data.changes ?? []).map((change, index) => ({ ...change, label: String(index + 1) }));
  const select = selecting(context, eventsOf(series, data.delays));
  const x = { values: series.at, name: "Arrival" };
  const common = {
    x,
    sync: "arrival",
    onRange: select,
    selected: context.selected,
    marks: changes.filter((change) => Number.isFinite(change.at)),
  };
  const behind = less(series.at, series.frontier);
  return [
    range(context, data),
    chosen(context),
    series.at.length
      ? figures([
          ["Frontier behind arrival", duration(last(behind))],
          ["Newest event behind arrival", duration(last(less(series.at, series.t_max)))],
          ["K", duration(data.k_ms), "The slack after the newest batch of this range"],
          ["Rows in this range", count(sum(series.rows))],
          ["Late in this range", count(sum(series.late))],
          ["Changes of K", count(data.k_changes), "Batches of this range after which K was another than before"],
        ])
      : empty("No batch was committed in this range. Choose another one, or see whether the stream runs."),
    series.at.length
      ? h(
          "div",
          { class: "grid" },
          chart({
            ...common,
            title: "Event time behind arrival",
            height: 220,
            summary: "The top edge is arrival itself; lower is further behind",
            y: { show: duration, isDown: true, zero: true },
            series: [
              { name: "newest event (t_max)", values: less(series.at, series.t_max), style: "dash", tone: "soft" },
              { name: "frontier", values: behind, tone: "ink" },
            ],
          }),
          chart({
            ...common,
            title: "K, the slack",
            height: 220,
            y: { show: duration, zero: true },
            series: ofK(series),
          }),
          charts.map(([name, { title, unit, summary, none, style, tone }]) =>
            chart({
              ...common,
              title,
              summary,
              none,
              y: UNITS[unit],
              series: [{ name: name.replace(/_ms$/, ""), values: series[name], style, tone }],
            }),
          ),
          chart({
            title: "Wall clock behind arrival",
            x: { values: wall.at, name: "Arrival" },
            sync: "arrival",
            onRange: select,
            selected: context.selected,
            y: { show: duration },
            series: [
              {
                name: "answers out after arrival",
                values: wall.emitted_at.map((ms, index) => (ms === null ? null : ms - wall.at[index])),
              },
            ],
            none: unread(data, "wall") ?? "The wall clock of these batches is not on record.",
          }),
        )
      : null,
    section(
      "Settings of disorder",
      h("p", { class: "hint" }, "K follows from them. A policy that adapts to the stream moves it without a change of settings."),
      changes.length
        ? table(
            [
              { title: "Nr", show: (change) => h("span", { class: "number-mark" }, change.label) },
              {
                title: "Arrival",
                show: (change) => (Number.isFinite(change.at) ? time(change.at) : "from the beginning"),
              },
              { title: "About", show: (change) => change.about ?? "–" },
              {
                title: "Change",
                class: "text",
                show: (change) => h("strong", null, longText(change.what ?? "–", 200)),
              },
              { title: "Evidence", class: "text", show: (change) => prose(asText(change.evidence), 240) },
              { title: "Version", number: true, show: (change) => number(change.version) },
            ],
            changes,
            { key: (change) => `${change.about}-${change.version}-${change.tick}`, caption: "Settings of disorder" },
          )
        : empty(unread(data, "changes") ?? "No change of the settings of disorder is on record in this range."),
    ),
    section("Delays", delays(data.delays, data.k_ms ?? null, unread(data, "delays"))),
  ];
}

export const asText = (evidence) =>
  evidence === null || evidence === undefined
    ? "–"
    : typeof evidence === "string"
      ? evidence
      : JSON.stringify(evidence);

function delays(data, k, why) {
  const list = (data?.quantiles ?? []).filter((each) => Number.isFinite(each.delay_ms));
  if (!list.length) return empty(why ?? "The delays of this range are not measured.");
  const most = Math.max(...list.map((each) => each.delay_ms), k ?? 0) || 1;
  return [
    h(
      "p",
      { class: "hint" },
      `How far tuples were behind t_max when they came: ${count(data.tuples)} tuples, `,
      time(data.from),
      " – ",
      time(data.to),
      k === null ? "" : `. K is ${duration(k)} after the newest batch: with it, what comes later than that is late.`,
    ),
    table(
      [
        { title: "Share of tuples", class: "narrow", show: (each) => share(each.q) },
        {
          title: "came within",
          plain: true,
          class: "text",
          show: (each) =>
            bar(
              each.delay_ms / most,
              `${duration(each.delay_ms)}${k !== null && each.delay_ms > k ? ", beyond K" : ""}`,
              k !== null && each.delay_ms > k ? "warn" : "",
            ),
        },
      ],
      list,
      { key: (each) => each.q, caption: "Quantiles of delays", cards: false },
    ),
  ];
}

export default { title: "Frontier", request: ["from", "to"], show };
