// The promise: what was promised, what was measured, coverage against its threshold, before and after correction.

import { chart, columns } from "../chart.js";
import { h } from "../dom.js";
import { count, duration, share } from "../format.js";
import { chosen, range, selectingEvents } from "../range.js";
import { badge, promiseTone } from "../shapes.js";
import { bar } from "../table.js";
import { time } from "../time.js";
import { empty, figures, longText, prose, section, unread } from "../ui.js";

const NAMES = ["share", "mean_error", "worst_error", "answers", "corrected", "missing", "mean_k_ms"];
const known = (value) => value !== null && value !== undefined;
const nameOf = (of) => (Array.isArray(of) ? of.join(", ") : String(of));

function sentence(promised) {
  const of = known(promised?.of) ? ` of ${nameOf(promised.of).slice(0, 200)}` : "";
  if (known(promised?.error) && known(promised.risk)) {
    return `Promised: at most ${share(promised.risk)} of the answers${of} are off by ${share(promised.error)} or more.`;
  }
  if (known(promised?.accuracy)) {
    const most = share(1 - promised.accuracy);
    return `Promised: an accuracy${of} of at least ${share(promised.accuracy)}: a mean error of at most ${most}.`;
  }
  if (known(promised?.error)) return `Promised: an error${of} of less than ${share(promised.error)}.`;
  return "Nothing is promised: the policy of this query has no promise.";
}

// Return the answers that were right as streamed, beside those whose late tuples are all corrected.
function right(data, why) {
  if (!known(data?.streamed) && !known(data?.corrected)) {
    return empty(why ?? "No answer has been compared with its latest version yet.");
  }
  const line = (title, value) =>
    h(
      "div",
      { class: "row", key: title },
      h("span", { class: "label" }, title),
      known(value)
        ? h("div", { class: "grow" }, bar(value, share(value), value === 1 ? "good" : ""))
        : h("span", { class: "hint" }, "not known"),
    );
  const when =
    known(data.start) && known(data.end) ? [", of event times ", time(data.start), " – ", time(data.end)] : ".";
  return [
    h("p", { class: "hint" }, `The share of ${count(data.answers)} answers that were right`, when),
    h("div", { class: "pair" }, line("As streamed", data.streamed), line("As corrected", data.corrected)),
  ];
}

// Return what the error of an answer must not exceed: of each answer, or in the mean.
function limitOf(each) {
  if (known(each.accuracy))
    return { at: 1 - each.accuracy, label: `promised in the mean: ${share(1 - each.accuracy)}` };
  return known(each.error) ? { at: each.error, label: `promised: less than ${share(each.error)}` } : null;
}

const bandOf = (limit) =>
  limit ? { bands: [{ from: 0, to: limit.at, tone: "good" }], lines: [{ ...limit, tone: "good" }] } : {};

// Return the end of the last of some buckets that begin by a time.
const endOf = (buckets) => (to) => {
  const last = (buckets?.start ?? []).findLastIndex((start) => start <= to);
  return Math.max(to, buckets?.end?.[last] ?? to);
};

function ofAnswer(each, context) {
  const series = columns(each.series, "start", NAMES);
  const selected = { onRange: selectingEvents(context, endOf(each.series)), selected: context.selected };
  const common = { x: { values: series.start, name: "Start" }, sync: "promise", ...selected };
  const title = known(each.answer) ? String(each.answer).slice(0, 120) : "Whole answers";
  const risk = known(each.risk) ? { at: each.risk, label: `promised: at most ${share(each.risk)}` } : null;
  const missing = { name: "missing", values: series.missing, style: "points", tone: "bad" };
  const charts = [
    {
      title: "Share of answers that were off",
      summary: known(each.error) ? `Off by ${share(each.error)} or more` : "Off by 5 % or more",
      y: { show: share, zero: true },
      ...bandOf(risk),
      series: [{ name: "measured", values: series.share }],
      none: "No answers are measured yet.",
    },
    {
      title: "Error",
      y: { show: share, zero: true },
      ...bandOf(limitOf(each)),
      series: [
        { name: "mean", values: series.mean_error },
        { name: "worst", values: series.worst_error, style: "dash", tone: "soft" },
      ],
      none: "Errors of these answers are not measured.",
    },
    {
      title: "Answers corrected",
      height: 140,
      y: { show: count, zero: true },
      series: [
        { name: "corrected", values: series.corrected, style: "bars", tone: "warn" },
        ...(series.missing.some((value) => value > 0) ? [missing] : []),
      ],
      none: "Corrected answers are not measured yet.",
    },
    {
      title: "Mean K",
      height: 140,
      y: { show: duration, zero: true },
      series: [{ name: "K", values: series.mean_k_ms, style: "step" }],
    },
  ];
  return h(
    "section",
    { class: "block", key: title },
    h("h3", null, title),
    h(
      "div",
      { class: "grid" },
      charts.map((spec) => chart({ height: 200, ...common, ...spec })),
    ),
  );
}

function coverageOf(data, why) {
  const isSeries = Array.isArray(data?.threshold);
  const series = columns(data, "at", ["coverage", "threshold"]);
  const now = data?.threshold_now ?? (isSeries ? null : data?.threshold);
  const threshold = { name: "threshold", values: series.threshold, style: "dash", tone: "bad" };
  return chart({
    title: "Coverage",
    summary: "λ, the share of the tuples that windows held when they closed",
    x: { values: series.at, name: "Arrival" },
    height: 200,
    y: { show: share, max: 1 },
    lines: known(now) && !isSeries ? [{ at: now, label: `threshold ${share(now)}`, tone: "bad" }] : [],
    bands: known(now) ? [{ from: now, to: 1, tone: "good" }] : [],
    series: [{ name: "coverage", values: series.coverage }, ...(series.threshold.some(known) ? [threshold] : [])],
    none: why ?? "No window has closed yet.",
  });
}

function show(data, context) {
  const promised = data.promised ?? {};
  const series = (data.answers ?? []).map((each) => each.series);
  const starts = series.flatMap((each) => [each?.start?.[0], each?.end?.at(-1)]).filter(Number.isFinite);
  const threshold = data.coverage?.threshold_now ?? null;
  return [
    h(
      "div",
      { class: "row big wrap" },
      badge(`promise ${data.word ?? data.state ?? "unknown"}`, promiseTone(data.state)),
      data.detail ? h("span", null, prose(data.detail, 300)) : null,
    ),
    h("p", { class: "lead" }, sentence(promised)),
    figures([
      known(promised.error) ? ["Error", share(promised.error)] : null,
      known(promised.risk) ? ["Risk", share(promised.risk)] : null,
      known(promised.accuracy) ? ["Accuracy", share(promised.accuracy)] : null,
      known(promised.of) ? ["Of", longText(nameOf(promised.of), 120)] : null,
      known(threshold) ? ["Coverage needed", share(threshold)] : null,
    ]),
    section("Right answers, before and after correction", right(data.right, unread(data, "right"))),
    range(context, { from: Math.min(...starts), to: Math.max(...starts) }, { what: "Event time" }),
    chosen(context),
    unread(data, "answers") ? section("Measured errors", empty(unread(data, "answers"))) : null,
    (data.answers ?? []).map((each) => ofAnswer(each, context)),
    section("Coverage against its threshold", coverageOf(data.coverage, unread(data, "coverage"))),
  ];
}

export default { title: "Promise", request: ["from", "to"], show };
