// The promise: what was promised, what was measured, coverage against its threshold, before and after correction.

import { chart, columns } from "../chart.js";
import { h } from "../dom.js";
import { count, duration, number, share } from "../format.js";
import { badge, promiseTone } from "../shapes.js";
import { bar } from "../table.js";
import { empty, figures, longText, section } from "../ui.js";

const NAMES = ["share", "mean_error", "worst_error", "answers", "corrected", "missing", "mean_k_ms"];
const known = (value) => value !== null && value !== undefined;

// Return the least share of answers that must be within the error: the accuracy, or one less the risk.
const leastShare = (promise) => (known(promise.accuracy) ? promise.accuracy : known(promise.risk) ? 1 - promise.risk : null);

function sentence(promised) {
  if (!promised) return "Nothing is promised: the query file has no promise.";
  const of = promised.of ? ` of ${promised.of}` : "";
  if (known(promised.error) && known(promised.risk)) return `Promised: an error${of} of at most ${share(promised.error)}, for at least ${share(1 - promised.risk)} of the answers.`;
  if (known(promised.error)) return `Promised: an error${of} of at most ${share(promised.error)}.`;
  if (known(promised.accuracy)) return `Promised: an accuracy${of} of at least ${share(promised.accuracy)}.`;
  return "Nothing is promised: the query file has no promise.";
}

// Return the answers that were right as streamed, beside those whose late tuples are all corrected.
function right(data) {
  if (!data || !known(data.streamed)) return empty("No answer has been compared with its corrected version yet.");
  const line = (title, value) => h("div", { class: "row", key: title }, h("span", { class: "label" }, title), h("div", { class: "grow" }, bar(value, share(value), value === 1 ? "good" : "")));
  return [h("p", { class: "hint" }, `The share of ${count(data.answers)} answers that were right.`),
    h("div", { class: "pair" }, line("As streamed", data.streamed), known(data.corrected) ? line("After correction", data.corrected) : h("p", { class: "hint" }, "After correction: not known yet."))];
}

function ofAnswer(each) {
  const series = columns(each.series, "start", NAMES);
  const x = { values: series.start, name: "Start" };
  const title = known(each.answer) ? String(each.answer).slice(0, 120) : "Whole answers";
  const least = leastShare(each);
  const isMeasured = series.mean_error.some(known) || series.worst_error.some(known);
  return h("section", { class: "block", key: title }, h("h3", null, title),
    h("div", { class: "grid" },
      chart({ title: "Share of answers within the promise", x, sync: "promise", height: 200, y: { show: share, max: 1 },
        bands: least === null ? [] : [{ from: least, to: 1, tone: "good" }], lines: least === null ? [] : [{ at: least, label: `promised: at least ${share(least)}`, tone: "good" }],
        series: [{ name: "measured", values: series.share, style: series.start.length < 3 ? "points" : "line" }], none: "No answers are measured yet." }),
      isMeasured ? chart({ title: "Error", x, sync: "promise", height: 200, y: { show: share, zero: true },
        bands: known(each.error) ? [{ from: 0, to: each.error, tone: "good" }] : [], lines: known(each.error) ? [{ at: each.error, label: `promised: at most ${share(each.error)}`, tone: "good" }] : [],
        series: [{ name: "mean", values: series.mean_error }, { name: "worst", values: series.worst_error, style: "dash", tone: "soft" }] }) : null,
      chart({ title: "Answers corrected", x, sync: "promise", height: 140, y: { show: count, zero: true },
        series: [{ name: "corrected", values: series.corrected, style: "bars", tone: "warn" }, ...(series.missing.some((value) => value > 0) ? [{ name: "missing", values: series.missing, style: "points", tone: "bad" }] : [])], none: "No answer was corrected." }),
      chart({ title: "Mean K", x, sync: "promise", height: 140, y: { show: duration, zero: true }, series: [{ name: "K", values: series.mean_k_ms, style: "step" }] })));
}

function show(data) {
  const coverage = columns(data.coverage, "at", ["coverage"]);
  const threshold = data.coverage?.threshold;
  return [
    h("div", { class: "row big" }, badge(data.state ? `promise ${data.state}` : "promise unknown", promiseTone(data.state)), data.detail ? h("span", null, longText(data.detail, 300)) : null),
    h("p", { class: "lead" }, sentence(data.promised)),
    data.promised ? figures([
      known(data.promised.error) ? ["Promised error", share(data.promised.error)] : null,
      known(data.promised.risk) ? ["Risk", share(data.promised.risk)] : null,
      known(data.promised.accuracy) ? ["Promised accuracy", share(data.promised.accuracy)] : null,
      known(data.promised.of) ? ["Of", longText(data.promised.of, 120)] : null,
      known(threshold) ? ["Coverage needed", share(threshold)] : null,
    ]) : null,
    section("Right answers, before and after correction", right(data.right)),
    (data.answers ?? []).map(ofAnswer),
    section("Coverage against its threshold", chart({ title: "Coverage", x: { values: coverage.at, name: "Arrival" }, height: 200, y: { show: share, max: 1 },
      lines: known(threshold) ? [{ at: threshold, label: `threshold ${share(threshold)}`, tone: "bad" }] : [], bands: known(threshold) ? [{ from: threshold, to: 1, tone: "good" }] : [],
      series: [{ name: "coverage", values: coverage.coverage }], none: "No window has closed yet." })),
  ];
}

export default { title: "Promise", request: [], show };
