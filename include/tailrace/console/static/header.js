// The head of a query's page: state, why, and key figures.

import { airflowAddress } from "./api.js";
import { h } from "./dom.js";
import { count, duration, rough, share } from "./format.js";
import { badge, promiseBadge, since } from "./shapes.js";
import { course } from "./sparkline.js";
import { brief, inZone, time } from "./time.js";
import { aged, airflowLink, behind, copyButton, dagLink, damages, figures, longText, problems, prose, unread } from "./ui.js";

const DAGS = {
  stream: "Stream",
  correct: "Correction",
  calibrate: "Calibration",
  publish: "Publication",
  rebuild: "Rebuild",
};

// Return the warning of a paused DAG that holds something up, with the way to unpause it.
const paused = (each, context) =>
  h(
    "div",
    { class: "note row", role: "group", "aria-label": `${each.dag} is paused`, key: each.dag },
    badge("paused", "warn"),
    h("span", { class: "grow" }, prose(each.says, 400)),
    h("button", { type: "button", on: { click: () => context.act(`unpause_${each.kind}`) } }, `Unpause ${each.dag} …`),
  );

function lastCorrection(row) {
  const last = row.last_correction;
  if (!last) return row.promise && !row.note && !unread(row, "last_correction") ? "none yet" : "–";
  return [
    time(last.at, brief),
    last.late ? h("span", { class: "hint" }, `${count(last.late)} late tuples`) : null,
  ];
}

const RUNS = { success: "succeeded", failed: "failed", running: "runs since", queued: "waits since" };

// Return the newest run of each DAG: how it ended and when, why it failed, and where its log is.
function lastRuns(row) {
  const runs = row.runs ?? [];
  if (!runs.length) return null;
  return h("ul", { class: "runs", "aria-label": "Last runs" }, runs.map((run) => lastRun(run, row.state?.why)));
}

function lastRun(run, said) {
  const state = badge(`${DAGS[run.kind] ?? run.kind} ${RUNS[run.state] ?? run.state}`, run.tone);
  const address = airflowAddress(run.page);
  const why = run.says && run.says !== said ? h("span", { class: "why" }, prose(run.says, 300)) : null;
  return h(
    "li",
    { class: why ? "wide" : null },
    state,
    why ?? time(run.at, brief),
    address ? airflowLink(address, run.task ? "Its log" : "Its run") : null,
  );
}

const LATE_MS = 150000; // a driver that lives is observed every minute

// Return the rows a second of the newest observation; undefined if that is too old to be of now.
const lastRate = (row) =>
  (row.now ?? Date.now()) - row.recent.at.at(-1) < LATE_MS ? row.recent.rows_s.findLast(Number.isFinite) : undefined;

const perSecond = (value) => (Number.isFinite(value) ? `${rough(value)} / s` : "–");

// On a narrow screen actions and links stand behind a button, so that the first chart is in sight.
const isWide = () => document.getElementById("main")?.classList.contains("wide") ?? false;

function widen(event) {
  document.getElementById("main").classList.toggle("wide");
  event.currentTarget.setAttribute("aria-expanded", String(isWide()));
}

export function header(name, row, context) {
  const dags = Object.entries(DAGS).filter(([key]) => row.dags?.[key]);
  return h(
    "div",
    { class: row.is_unread || row.note ? "head" : "head known" },
    h(
      "div",
      { class: "title" },
      h("h1", null, longText(name, 120)),
      h("span", { class: "big" }, badge(row.state?.word, row.state?.tone)),
      since(row.state),
      h("span", { class: "hint" }, row.kind ?? (row.file === null ? "file gone" : "")),
      h("span", { class: "grow" }),
      h(
        "button",
        { type: "button", class: "quiet on-narrow", "aria-expanded": String(isWide()), on: { click: widen } },
        "Actions and links",
      ),
      copyButton(() => window.location.href, "Copy link"),
    ),
    problems(row.problems, "Problems"),
    row.state?.why ? h("p", { class: "lead" }, prose(row.state.why, 400)) : null,
    row.promise?.state === "broken"
      ? h("p", { class: "lead" }, "Promise broken: ", prose(row.promise.detail, 300))
      : null,
    row.note && row.note !== row.state?.why ? h("p", { class: "note" }, prose(row.note, 400)) : null,
    (row.paused ?? []).map((each) => paused(each, context)),
    damages(row),
    lastRuns(row),
    figures([
      ["Promise", aged(row.facts_age_ms, promiseBadge(row.promise)), inZone(row.promise?.detail)],
      ["Behind", [behind(row), course(row, "Behind", "behind_ms", duration)]],
      row.recent
        ? [
            "Rows a second",
            [perSecond(lastRate(row)), course(row, "Rows a second", "rows_s", perSecond)],
            "Tuples that the stream took in, in the last minute that is on record",
          ]
        : null,
      ["Unread rows", [count(row.rows_left), course(row, "Unread rows", "rows_left", count)], "Rows known in the source that no batch has read; unknown while no driver can read it"],
      ["Frontier", aged(row.report_age_ms, time(row.frontier, brief))],
      ["K", aged(row.report_age_ms, duration(row.k_ms))],
      ["Coverage", aged(row.report_age_ms, share(row.coverage))],
      ["Answers", aged(row.report_age_ms, count(row.answers))],
      [
        "Late, last hour",
        aged(row.facts_age_ms, count(row.late_hour)),
        "Late tuples of the batches read in the last hour, by the wall clock",
      ],
      [
        "Quarantined, last hour",
        aged(row.facts_age_ms, count(row.quarantined_hour)),
        "Records read in the last hour that were rejected",
      ],
      row.has_late_tuples === false
        ? null
        : [
            "Last correction",
            aged(row.facts_age_ms, lastCorrection(row)),
          ],
      ["Restarts lately", count(row.starts), "How often the driver was started again in the last day, as far as its launcher has them"],
    ]),
    h(
      "p",
      { class: "row hint links" },
      dags.length ? "In Airflow:" : "Airflow reads none of its DAGs now.",
      dags.map(([key, title]) => dagLink(row.dags[key], title)),
      h(
        "a",
        { href: new URL(`../driver_log/${encodeURIComponent(`stream_${name}`)}`, import.meta.url).href },
        "Driver's log",
      ),
      row.file ? h("span", null, "File: ", h("span", { class: "mono" }, longText(row.file, 120))) : null,
    ),
  );
}
