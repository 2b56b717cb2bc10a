// The columns of Streams, and the names by which the server sorts.

import { queryAddress } from "./api.js";
import { h } from "./dom.js";
import { count, duration, rough, share } from "./format.js";
import { badge, failedRuns, promiseBadge, since } from "./shapes.js";
import { course } from "./sparkline.js";
import { brief, time } from "./time.js";
import { aged, behind, cut, dagLink, longText, prose } from "./ui.js";

// Return the name of a stream, which leads to its page where it has one.
export const streamLink = (row) =>
  row.has_page === false ? cut(row.name) : h("a", { href: queryAddress(row.name) }, cut(row.name));

// Return the paused DAGs of a stream that hold something up, each with the way to unpause it.
export const pausedDags = (row) => (row.paused ?? []).map((each) => dagLink(each.dag, `Unpause ${each.dag} in Airflow`));

// Return a figure of a row with its course in the last hour, where there is one.
function withCourse(figure, row, ...names) {
  const line = course(row, ...names);
  return line ? [figure, line] : figure;
}

export const columns = [
  {
    title: "Stream",
    sort: "name",
    first: "up",
    class: "name",
    show: (row) => [
      streamLink(row),
      h("span", { class: "hint" }, " ", row.kind ?? (row.file === null ? "file gone" : "")),
    ],
  },
  {
    title: "State",
    sort: "state",
    first: "up",
    class: "words",
    show: (row) => [
      badge(row.state?.word, row.state?.tone),
      since(row.state),
      row.state?.why ? h("span", { class: "why" }, prose(row.state.why, 140)) : null,
      row.damaged?.length ? [" ", badge("damaged", "bad")] : null,
      row.damaged?.map((each) => h("span", { class: "why" }, longText(`${each.where}: ${each.fault}`, 240))),
      failedRuns(row).map((run) => h("span", { class: "why" }, prose(run.says, 140))),
      row.note && row.note !== row.state?.why ? h("span", { class: "why" }, prose(row.note, 140)) : null,
      (row.paused ?? []).map((each) => h("span", { class: "why" }, prose(each.says, 200))),
      row.paused?.length ? h("span", { class: "why" }, pausedDags(row)) : null,
    ],
  },
  {
    title: "Promise",
    sort: "promise",
    first: "up",
    class: "words",
    hint: "Whether the measured error is within the promised one",
    show: (row) => [
      row.is_unread ? h("span", { class: "hint" }, "not looked at yet") : aged(row.facts_age_ms, promiseBadge(row.promise)),
      row.promise?.detail && row.promise.state !== "kept"
        ? h("span", { class: "why" }, prose(row.promise.detail, 90))
        : null,
    ],
  },
  {
    title: "Behind",
    sort: "behind_ms",
    number: true,
    show: (row) => withCourse(behind(row), row, "Behind", "behind_ms", duration),
  },
  {
    title: "Rows, 1\u00a0h",
    hint: "Tuples a second in the last hour, of a live stream",
    show: (row) => course(row, "Rows a second", "rows_s", rough) ?? "–",
  },
  {
    title: "Unread rows",
    sort: "rows_left",
    number: true,
    hint: "Rows known in the source that no batch has read; unknown while no driver can read it",
    show: (row) => withCourse(count(row.rows_left), row, "Unread rows", "rows_left", count),
  },
  {
    title: "K",
    sort: "k_ms",
    number: true,
    show: (row) => aged(row.report_age_ms, duration(row.k_ms)),
  },
  {
    title: "Coverage",
    sort: "coverage",
    number: true,
    show: (row) => aged(row.report_age_ms, share(row.coverage)),
  },
  {
    title: "Late, 1\u00a0h",
    sort: "late_hour",
    number: true,
    hint: "Late tuples of the batches read in the last hour, by the wall clock",
    show: (row) => aged(row.facts_age_ms, count(row.late_hour)),
  },
  {
    title: "Quarantined, 1\u00a0h",
    sort: "quarantined_hour",
    number: true,
    hint: "Records read in the last hour that were rejected",
    show: (row) => aged(row.facts_age_ms, count(row.quarantined_hour)),
  },
  { title: "Answers", sort: "answers", number: true, show: (row) => aged(row.report_age_ms, count(row.answers)) },
  {
    title: "Last correction",
    sort: "last_correction",
    show: (row) => aged(row.facts_age_ms, row.last_correction ? time(row.last_correction.at, brief) : "–"),
  },
  {
    title: "Restarts lately",
    sort: "starts",
    number: true,
    hint: "How often the driver was started again in the last day, as far as its launcher has them",
    show: (row) => count(row.starts),
  },
];
