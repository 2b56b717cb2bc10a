// The ledger of corrections and calibrations on a time line of arrival; what no correction covers is marked.

import { airflowAddress, goTop } from "../api.js";
import { h } from "../dom.js";
import { count, duration, plural, share, value } from "../format.js";
import { chosen, range, selecting } from "../range.js";
import { badge } from "../shapes.js";
import { table } from "../table.js";
import { time } from "../time.js";
import { spell, timeline } from "../timeline.js";
import { airflowLink, empty, figures, prose, section, unread } from "../ui.js";
import { asText } from "./frontier.js";

const CHANGED = "Answers of corrections that were new, or other ones than before; each run counts its own";
const GIVEN =
  "Answers of corrections, also those given again as they were: by their later as of they hold against any correction with an earlier one";

const isTime = (ms) => typeof ms === "number" && Number.isFinite(ms);

function linked(run) {
  const href = airflowAddress(run.run_url);
  if (!href) return {};
  const click = (event) => {
    if (window.top === window) return;
    event.preventDefault();
    goTop(href);
  };
  return { href, target: "_top", on: { click } };
}

// Return where a run stands on the line of arrival: its interval, else the point up to which it read history.
function placeOf(run, start) {
  if (isTime(run.arrived_to)) return { from: isTime(run.arrived_from) ? run.arrived_from : start, to: run.arrived_to };
  return isTime(run.as_of) ? { from: run.as_of, to: run.as_of } : null;
}

// Return how many of the answers that a correction gives are new, or other ones than before.
const ofAnswers = (run) => `${count(run.changed)} of ${plural(run.answers, "answer")} changed`;

const hasFailed = (run) => Boolean(run.where_failed);

function itemOf(run, start) {
  const place = placeOf(run, start);
  if (!place) return null;
  const kind = run.kind === "calibration" ? "calibration" : "run";
  const what = hasFailed(run) ? "a condition failed" : `${count(run.late)} late, ${ofAnswers(run)}`;
  const title = `${run.kind} of ${spell(place.from, place.to)}: ${run.kind === "calibration" ? `K ${duration(run.k_ms)}` : what}`;
  return { ...place, class: hasFailed(run) ? "gap" : kind, title, ...linked(run) };
}

function lanes(runs, gaps, [start]) {
  const lane = (title, kind) => ({
    title,
    items: runs
      .filter((run) => run.kind === kind)
      .map((run) => itemOf(run, start))
      .filter(Boolean),
  });
  const marked = gaps.map((gap) => {
    const from = isTime(gap.from) ? gap.from : start;
    const title = `${gap.is_open ? "Since the last correction" : "Gap"}: no correction covers ${spell(from, gap.to)}`;
    return { from, to: gap.to, class: gap.is_open ? "open" : "gap", title };
  });
  return [lane("Corrections", "correction"), lane("Calibrations", "calibration"), { title: "Gaps", items: marked }];
}

// Return the range of the time line: from the first to the last time that anything has.
function endsOf(runs, gaps, committed) {
  const ofRuns = runs.flatMap((run) => [run.arrived_from, run.arrived_to, run.as_of]);
  const times = [...ofRuns, ...gaps.flatMap((gap) => [gap.from, gap.to]), committed].filter(isTime);
  if (!times.length) return null;
  const ends = [times.reduce((least, ms) => Math.min(least, ms)), times.reduce((most, ms) => Math.max(most, ms))];
  return ends[1] > ends[0] ? ends : [ends[0] - 1000, ends[1] + 1000];
}

function result(run) {
  if (hasFailed(run)) {
    const pairs = typeof run.where_failed === "number" ? `${plural(run.where_failed, "pair")} failed` : "failed";
    const reason = run.where_failure ?? (typeof run.where_failed === "string" ? run.where_failed : null);
    return [badge(pairs, "bad"), reason ? h("span", { class: "why" }, prose(reason, 200)) : null];
  }
  if (run.overflowed) return badge(`${count(run.overflowed)} overflowed`, "warn");
  return badge(run.kind === "calibration" ? "proposed" : "done", "good");
}

const columns = [
  { title: "Kind", show: (run) => run.kind ?? "–" },
  {
    title: "Arrival from",
    show: (run) => (isTime(run.arrived_to) && !isTime(run.arrived_from) ? "the beginning" : time(run.arrived_from)),
  },
  { title: "to", show: (run) => time(run.arrived_to) },
  { title: "Result", show: result },
  {
    title: "Run",
    show: (run) => (airflowAddress(run.run_url) ? airflowLink(airflowAddress(run.run_url), "Airflow") : "–"),
  },
  { title: "Late", number: true, show: (run) => count(run.late) },
  { title: "Changed", number: true, hint: CHANGED, show: (run) => count(run.changed) },
  { title: "Answers", number: true, hint: GIVEN, show: (run) => count(run.answers) },
  { title: "Retracted", number: true, show: (run) => value(run.retracted) },
  { title: "K", number: true, show: (run) => duration(run.k_ms) },
  { title: "Accuracy", number: true, show: (run) => share(run.accuracy) },
  { title: "Started", show: (run) => time(run.started_at) },
  { title: "Interval", class: "text", show: (run) => prose(asText(run.interval), 80) },
  { title: "As of", hint: "Arrival up to which history was read", show: (run) => time(run.as_of) },
  { title: "Evidence", class: "text", show: (run) => prose(asText(run.evidence), 160) },
];

// Leave out the columns that no run has: queries without calibrations have several.
const filled = (runs) =>
  columns.filter(
    (column, place) =>
      place < 4 ||
      runs.some((run) => {
        const shown = column.show(run);
        return shown !== "–" && !(shown instanceof Element && shown.classList.contains("none"));
      }),
  );

const correctGap = (gap, context) =>
  gap.late === 0
    ? null
    : h("button", { type: "button", on: { click: () => context.correct(gap) } }, "Correct this gap …");

function gapTable(gaps, total, context) {
  const shown = table(
    [
      { title: "From", show: (gap) => (isTime(gap.from) ? time(gap.from) : "the beginning") },
      { title: "To", show: (gap) => time(gap.to) },
      { title: "Length", number: true, show: (gap) => (isTime(gap.from) ? duration(gap.to - gap.from) : "–") },
      { title: "Late tuples", number: true, show: (gap) => count(gap.late) },
      ...(context.canCorrect ? [{ title: "Correction", show: (gap) => correctGap(gap, context) }] : []),
    ],
    gaps,
    { key: (gap) => gap.to, caption: "Gaps", isTall: true, mark: (gap) => (gap.late && !gap.is_open ? "wrong" : "") },
  );
  const more =
    total > gaps.length ? h("p", { class: "hint" }, `The newest ${count(gaps.length)} of ${count(total)}.`) : null;
  return section("Gaps: arrival that no correction covers", more, shown);
}

function show(data, context) {
  const runs = data.runs ?? [];
  const gaps = (data.gaps ?? []).filter((gap) => isTime(gap?.to));
  const ends = endsOf(runs, gaps, data.committed);
  const late = data.gaps_late;
  const total = data.gaps_total ?? gaps.length;
  const totals = data.totals ?? {};
  const taken = (number) => (unread(data, "totals") ? "–" : count(number));
  const known = data.committed !== null && data.committed !== undefined;
  const words = `${plural(runs.length, "run")} and ${plural(gaps.length, "gap")} over arrival time; the tables say the same`;
  const isOpen = total === 1 && gaps[0]?.is_open; // the next correction takes it
  const gapWord = late
    ? isOpen
      ? badge(`since the last correction, with ${count(late)} late`, "warn")
      : badge(`${count(total)}, with ${count(late)} late`, "bad")
    : total
      ? badge(`${count(total)}, ${late === 0 ? "none late" : "late unknown"}`, "idle")
      : null;
  return [
    range(context, { from: ends?.[0], to: ends?.[1] }, { newest: data.committed ?? ends?.[1] }),
    figures([
      ["Committed up to", time(data.committed)],
      ["Corrections", taken(totals.corrections)],
      ["Late tuples of all runs", taken(totals.late), "What several corrections cover counts in each"],
      ["Answers changed", taken(totals.changed), CHANGED],
      ["Answers given", taken(totals.answers), GIVEN],
      ["Retracted", taken(totals.retracted)],
      ["Gaps", gapWord ?? (known && !unread(data, "gaps") ? badge("none", "good") : "–")],
    ]),
    chosen(context),
    ends
      ? timeline({
          title: "Time line",
          range: ends,
          lanes: lanes(runs, gaps, ends),
          summary: words,
          onRange: selecting(context),
          selected: context.selected,
        })
      : null,
    gaps.length ? gapTable(gaps, data.gaps_total, context) : null,
    section(
      "Runs",
      data.runs_total > runs.length
        ? h("p", { class: "hint" }, `The newest ${count(runs.length)} of ${count(data.runs_total)}.`)
        : null,
      runs.length
        ? table(filled(runs), runs, {
            key: (run, index) => `${run.kind}-${run.as_of}-${run.started_at ?? index}`,
            caption: "Corrections and calibrations",
            isTall: true,
            mark: (run) => (hasFailed(run) ? "wrong" : ""),
          })
        : empty(unread(data, "runs") ?? "No correction and no calibration ran in this range."),
    ),
  ];
}

export default { title: "Ledger", request: ["from", "to"], show };
