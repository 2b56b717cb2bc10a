// What a stream's drivers did over wall-clock time: rows, backlog, lag, batches, processes, restarts and problems.

import { chart, columns } from "../chart.js";
import { h } from "../dom.js";
import { bytes, count, duration, rough } from "../format.js";
import { range } from "../range.js";
import { badge } from "../shapes.js";
import { table } from "../table.js";
import { time } from "../time.js";
import { empty, figures, prose, section } from "../ui.js";

const NAMES = ["rows_s", "rows_left", "behind_ms", "speed", "batch_ms", "cores", "memory"];
const withUnit = (unit) => (value) => (Number.isFinite(value) ? `${rough(value)} ${unit}` : "–");
const rate = withUnit("/ s");
const times = withUnit("×");
const EVENTS = {
  began: () => badge("driver began", "good"),
  ended: (event) => badge(event.text === "drained" ? "drained" : "ended", "idle"),
  interrupted: () => badge("interrupted", "idle"),
  failed: () => badge("driver failed", "bad"),
  died: () => badge("driver died", "bad"),
  problem: () => badge("problem", "warn"),
};
const WORDS = {
  began: () => "–",
  ended: (event) => (event.text === "drained" ? "as it was asked to" : "at the end of its source"),
  interrupted: () => "Ctrl-C or a signal ended it, as when a driver is stopped by hand",
  failed: (event) => (event.text === "failed" ? "an error ended it: see the driver's log" : event.text),
  died: () => "it ended without a report, and another one has begun: see the driver's log",
  problem: (event) => event.text,
};

function charts(series) {
  const common = { x: { values: series.at, name: "Wall clock" }, sync: "wall" };
  const of = (title, name, y, more = {}) =>
    chart({ ...common, title, y, series: [{ name: more.name ?? title.toLowerCase(), values: series[name] }], ...more.spec });
  return h(
    "div",
    { class: "grid" },
    of("Rows a second", "rows_s", { show: rate, zero: true }, { name: "rows" }),
    of("Backlog", "rows_left", { show: count, zero: true }, { name: "rows unread" }),
    of("Behind the wall clock", "behind_ms", { show: duration, zero: true }, { name: "behind" }),
    of("Pace", "speed", { show: times, zero: true }, {
      name: "stream time a second",
      spec: { summary: "1 keeps pace with arrival, more catches up, less falls behind" },
    }),
    of("Longest batch", "batch_ms", { show: duration, zero: true }, { name: "batch" }),
    of("CPU", "cores", { show: rough, zero: true }, { name: "cores", spec: { none: "The driver can't measure it." } }),
    of("Memory", "memory", { show: bytes, zero: true }, { spec: { none: "The driver can't measure it." } }),
  );
}

function events(data) {
  const list = data.events ?? [];
  if (!list.length) return empty("No driver began or ended in this range, and none had a problem.");
  const more = data.events_total > list.length ? `The newest ${count(list.length)} of ${count(data.events_total)}.` : null;
  return [
    more ? h("p", { class: "hint" }, more) : null,
    table(
      [
        { title: "At", show: (event) => time(event.at) },
        { title: "What", show: (event) => EVENTS[event.what]?.(event) ?? event.what },
        { title: "Why", class: "text", show: (event) => prose(WORDS[event.what]?.(event) ?? "–", 240) },
        {
          title: "For",
          show: (event) =>
            event.what !== "problem" ? "–" : event.until === null ? "not over" : duration(event.until - event.at),
        },
      ],
      list,
      { key: (event) => `${event.what}-${event.at}-${event.text}`, caption: "Restarts and problems" },
    ),
  ];
}

function show(data, context) {
  const series = columns(data.series, "at", NAMES);
  const newest = (name) => data.newest?.[name]?.at?.(-1) ?? null;
  return [
    range(context, data, { what: "Wall clock" }),
    series.at.length
      ? figures([
          ["Rows a second", rate(newest("rows_s")), "In the last minute of the range that is on record"],
          ["Backlog", count(newest("rows_left")), "Rows known in the source that no batch has read"],
          ["Behind", duration(newest("behind_ms")), "Wall clock less the arrival time that is committed"],
          ["Pace", times(newest("speed")), "Stream time a second: less than 1 falls behind"],
          ["Deaths of the driver", count(data.deaths), "Drivers that failed, or ended without a report"],
        ])
      : null,
    series.at.length ? charts(series) : empty("Nothing is on record in this range: a live driver reports every minute."),
    section("Restarts and problems", events(data)),
  ];
}

export default { title: "Activity", request: ["from", "to"], show };
