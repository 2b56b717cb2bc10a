// The ledger of corrections and calibrations on a time line of arrival; what no correction covers is marked.

import { airflowAddress, goTop } from "../api.js";
import { h } from "../dom.js";
import { count, duration, plural, value } from "../format.js";
import { range } from "../range.js";
import { badge } from "../shapes.js";
import { table } from "../table.js";
import { time } from "../time.js";
import { spell, timeline } from "../timeline.js";
import { airflowLink, empty, figures, longText, section } from "../ui.js";
import { asText } from "./frontier.js";

const isTime = (ms) => typeof ms === "number" && Number.isFinite(ms);
const isPlaced = (each) => isTime(each.arrived_from ?? each.from) && isTime(each.arrived_to ?? each.to);

function linked(run) {
  const href = airflowAddress(run.run_url);
  if (!href) return {};
  const click = (event) => { if (window.top !== window) { event.preventDefault(); goTop(href); } };
  return { href, target: "_top", on: { click } };
}

function lanes(runs, gaps) {
  const lane = (title, kind) => ({ title, items: runs.filter((run) => run.kind === kind && isPlaced(run)).map((run) => ({
    from: run.arrived_from, to: run.arrived_to, class: run.where_failed ? "gap" : kind === "calibration" ? "calibration" : "run", ...linked(run),
    title: `${title} of ${spell(run.arrived_from, run.arrived_to)}: ${run.where_failed ? "failed" : `${count(run.late)} late, ${plural(run.answers ?? 0, "answer")}`}` })) });
  return [lane("Corrections", "correction"), lane("Calibrations", "calibration"),
    { title: "Gaps", items: gaps.filter(isPlaced).map((gap) => ({ from: gap.from, to: gap.to, class: "gap", title: `Gap: no correction covers ${spell(gap.from, gap.to)}, ${count(gap.late)} late` })) }];
}

function result(run) {
  if (run.where_failed) return [badge("failed", "bad"), h("span", { class: "why" }, longText(run.where_failed, 200))];
  if (run.overflowed) return badge("overflowed", "warn");
  return badge("done", "good");
}

function show(data, context) {
  const runs = data.runs ?? [];
  const gaps = data.gaps ?? [];
  const times = [...runs.flatMap((run) => [run.arrived_from, run.arrived_to]), ...gaps.flatMap((gap) => [gap.from, gap.to])].filter(isTime);
  const ends = times.length ? [times.reduce((least, ms) => Math.min(least, ms)), Math.max(times.reduce((most, ms) => Math.max(most, ms)), data.committed ?? 0)] : null;
  const isFar = ends && data.committed && ends[1] - ends[0] > 50 * Math.max(1, Math.max(...times) - ends[0]);
  if (isFar) ends[1] = Math.max(...times);
  const total = (name) => runs.reduce((sum, run) => sum + (run[name] ?? 0), 0);
  return [
    range(context, { from: ends?.[0], to: ends?.[1], ...data }, { newest: data.committed ?? ends?.[1] }),
    figures([["Committed up to", time(data.committed)], ["Corrections", count(runs.filter((run) => run.kind === "correction").length)], ["Late tuples taken", count(total("late"))],
      ["Answers changed", count(total("answers"))], ["Retracted", count(total("retracted"))], ["Gaps", gaps.length ? badge(count(gaps.length), "bad") : badge("none", "good")]]),
    ends && ends[1] > ends[0] ? timeline({ title: "Time line", range: ends, lanes: lanes(runs, gaps), summary: `${plural(runs.length, "run")} and ${plural(gaps.length, "gap")} over arrival time; the tables below say the same` }) : null,
    gaps.length ? section("Gaps: arrival that no correction covers", table([
      { title: "From", show: (gap) => time(gap.from) }, { title: "To", show: (gap) => time(gap.to) },
      { title: "Length", number: true, show: (gap) => duration(gap.to - gap.from) }, { title: "Late tuples", number: true, show: (gap) => count(gap.late) },
    ], gaps, { key: (gap) => gap.from, caption: "Gaps", mark: () => "wrong" })) : null,
    section("Runs", runs.length ? table([
      { title: "Kind", show: (run) => run.kind ?? "–" },
      { title: "Arrival from", show: (run) => time(run.arrived_from) },
      { title: "to", show: (run) => time(run.arrived_to) },
      { title: "Result", show: result },
      { title: "Late", number: true, show: (run) => count(run.late) },
      { title: "Answers", number: true, show: (run) => count(run.answers) },
      { title: "Retracted", number: true, show: (run) => value(run.retracted) },
      { title: "K", number: true, show: (run) => duration(run.k_ms) },
      { title: "Interval", show: (run) => longText(asText(run.interval), 60) },
      { title: "Started", show: (run) => time(run.started_at) },
      { title: "Evidence", class: "text", show: (run) => longText(asText(run.evidence), 160) },
      { title: "Run", show: (run) => (airflowAddress(run.run_url) ? airflowLink(airflowAddress(run.run_url), "Airflow") : "–") },
    ], runs, { key: (run, index) => `${run.kind}-${run.as_of}-${run.started_at ?? index}`, caption: "Corrections and calibrations", mark: (run) => (run.where_failed ? "wrong" : "") }) : empty("No correction and no calibration ran in this range.")),
  ];
}

export default { title: "Ledger", request: ["from", "to"], show };
