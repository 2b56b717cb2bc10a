// A state is always a word, a shape and a colour: no one of them alone.

import { h, s } from "./dom.js";
import { plural } from "./format.js";
import { brief, time } from "./time.js";

const SHAPES = {
  good: () => s("circle", { cx: 8, cy: 8, r: 5 }),
  warn: () => s("path", { d: "M8 2 15 14H1Z" }),
  bad: () => s("path", { d: "M5 1h6l4 4v6l-4 4H5l-4-4V5Z" }),
  idle: () => s("circle", { class: "ring", cx: 8, cy: 8, r: 4.5 }),
};

const toneOf = (tone) => (tone in SHAPES ? tone : "idle");

export function shape(tone) {
  return s(
    "svg",
    { class: `shape ${toneOf(tone)}`, viewBox: "0 0 16 16", "aria-hidden": "true" },
    SHAPES[toneOf(tone)](),
  );
}

// Return a state as shape and word.
export function badge(word, tone) {
  return h("span", { class: `badge ${toneOf(tone)}` }, shape(tone), h("span", null, word ?? "unknown"));
}

// Return since when a state holds, where that is known.
export const since = (state) =>
  typeof state?.since === "number" ? h("span", { class: "hint" }, " since ", time(floor(state.since), brief)) : null;

const floor = (ms) => Math.floor(ms / 1000) * 1000;

const PROMISES = { kept: "good", broken: "bad", unknown: "idle" };

export const promiseTone = (state) => PROMISES[state] ?? "idle";

export function promiseBadge(promise) {
  return badge(promise?.word ?? promise?.state, promiseTone(promise?.state)); // null: the tables are not read yet, or can't be
}

// Return the newest runs of a row's DAGs that failed, and of which its state does not speak.
export const failedRuns = (row) =>
  (row?.runs ?? []).filter((run) => ["bad", "warn"].includes(run.tone) && run.says !== row.state?.why);

// Return the tone of a row of Streams: a broken promise or a damaged table is bad, also while the stream runs; tables that
// can't be read, a failed run, and a paused DAG, are a warning.
export function toneOfRow(row) {
  if (row?.promise?.state === "broken" || row?.damaged?.length) return "bad";
  const tone = toneOf(row?.state?.tone);
  const isLacking = row?.is_unreadable || row?.paused?.length || failedRuns(row).length;
  return isLacking && tone !== "bad" ? "warn" : tone;
}

export const isIll = (row) => ["bad", "warn"].includes(toneOfRow(row));

// Return, in a sentence, why a stream is ill.
export function whyIll(row) {
  const reasons = [];
  if (row?.state?.why) reasons.push(row.state.why);
  if (row?.promise?.state === "broken")
    reasons.push(`Promise broken: ${row.promise.detail || "the measured error is above the promised one"}`);
  if (row?.damaged?.length) reasons.push(`${plural(row.damaged.length, "table is", "tables are")} damaged`);
  for (const run of failedRuns(row)) reasons.push(run.says);
  if (row?.note && row.note !== row.state?.why) reasons.push(row.note);
  for (const each of row?.paused ?? []) reasons.push(each.says);
  return reasons.join(" · ");
}
