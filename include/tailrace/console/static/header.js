// The head of a query's page: state, why, and key figures.

import { h } from "./dom.js";
import { count, duration, share } from "./format.js";
import { badge, promiseBadge } from "./shapes.js";
import { brief, inZone, time } from "./time.js";
import { aged, behind, copyButton, dagLink, damages, figures, longText, prose, unread } from "./ui.js";

const DAGS = {
  stream: "Stream",
  correct: "Correction",
  calibrate: "Calibration",
  publish: "Publication",
  rebuild: "Rebuild",
};

function lastCorrection(row) {
  const last = row.last_correction;
  if (!last) return row.promise && !row.note && !unread(row, "last_correction") ? "none yet" : "–";
  return [
    time(last.at, brief),
    last.late ? h("span", { class: "hint" }, `${count(last.late)} late tuples`) : null,
  ];
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
    damages(row),
    figures([
      ["Promise", aged(row.facts_age_ms, promiseBadge(row.promise)), inZone(row.promise?.detail)],
      ["Behind", behind(row), "Wall clock less the arrival time that is committed"],
      ["Unread rows", count(row.rows_left), "Rows known in the source that no batch has read"],
      ["Frontier", aged(row.report_age_ms, time(row.frontier, brief)), "The watermark: answers of windows that end before it are out"],
      ["K", aged(row.report_age_ms, duration(row.k_ms)), "Slack: how long a window waits beyond its end"],
      ["Coverage", aged(row.report_age_ms, share(row.coverage)), "Share of the tuples that windows held when they closed"],
      ["Answers", aged(row.report_age_ms, count(row.answers))],
      ["Late, last hour", aged(row.facts_age_ms, count(row.late_hour))],
      ["Quarantined, last hour", aged(row.facts_age_ms, count(row.quarantined_hour))],
      row.has_late_tuples === false
        ? null
        : [
            "Last correction",
            aged(row.facts_age_ms, lastCorrection(row)),
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
