// The head of a query's page: state, why, and key figures.

import { airflowAddress } from "./api.js";
import { h } from "./dom.js";
import { count, duration, share } from "./format.js";
import { badge, promiseBadge } from "./shapes.js";
import { brief, inZone, time } from "./time.js";
import { airflowLink, behind, copyButton, dagLink, figures, longText, prose } from "./ui.js";

const DAGS = {
  stream: "Stream",
  correct: "Correction",
  calibrate: "Calibration",
  publish: "Publication",
  rebuild: "Rebuild",
};

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

export function header(name, row, context) {
  const dags = Object.entries(DAGS).filter(([key]) => row.dags?.[key]);
  return h(
    "div",
    { class: "head" },
    h(
      "div",
      { class: "title" },
      h("h1", null, longText(name, 120)),
      h("span", { class: "big" }, badge(row.state?.word, row.state?.tone)),
      h("span", { class: "hint" }, row.kind ?? (row.file === null ? "file gone" : "")),
      h("span", { class: "grow" }),
      copyButton(() => window.location.href, "Copy link"),
    ),
    row.state?.why ? h("p", { class: "lead" }, prose(row.state.why, 400)) : null,
    row.promise?.state === "broken"
      ? h("p", { class: "lead" }, "Promise broken: ", prose(row.promise.detail, 300))
      : null,
    row.note && row.note !== row.state?.why ? h("p", { class: "note" }, prose(row.note, 400)) : null,
    lastRuns(row),
    figures([
      ["Promise", promiseBadge(row.promise), inZone(row.promise?.detail)],
      ["Behind", behind(row), "Wall clock less the arrival time that is committed"],
      ["Unread rows", count(row.rows_left), "Rows known in the source that no batch has read"],
      ["Frontier", time(row.frontier, brief), "The watermark: answers of windows that end before it are out"],
      ["K", duration(row.k_ms), "Slack: how long a window waits beyond its end"],
      ["Coverage", share(row.coverage), "Share of the tuples that windows held when they closed"],
      ["Answers", count(row.answers)],
      ["Late, last hour", count(row.late_hour)],
      ["Quarantined, last hour", count(row.quarantined_hour)],
      row.has_late_tuples === false
        ? null
        : [
            "Last correction",
            row.last_correction
              ? [
                  time(row.last_correction.at, brief),
                  row.last_correction.late
                    ? h("span", { class: "hint" }, `${count(row.last_correction.late)} late tuples`)
                    : null,
                ]
              : row.promise && !row.note
                ? "none yet"
                : "–",
          ],
      ["Restarts lately", count(row.starts), "How often the driver was started again in the last day, as far as its launcher has them"],
    ]),
    dags.length
      ? h(
          "p",
          { class: "row hint" },
          "In Airflow:",
          dags.map(([key, title]) => dagLink(row.dags[key], title)),
          row.dags.stream
            ? h(
                "a",
                { href: new URL(`../driver_log/${encodeURIComponent(row.dags.stream)}`, import.meta.url).href },
                "Driver's log",
              )
            : null,
          context.summary?.file
            ? h("span", null, "File: ", h("span", { class: "mono" }, longText(row.file, 120)))
            : null,
        )
      : null,
  );
}
