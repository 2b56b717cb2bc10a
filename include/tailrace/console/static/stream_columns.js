// The columns of Streams, and the names by which the server sorts.

import { queryAddress } from "./api.js";
import { h } from "./dom.js";
import { count, duration, share } from "./format.js";
import { badge, promiseBadge } from "./shapes.js";
import { brief, time } from "./time.js";
import { aged, behind, cut, longText, prose } from "./ui.js";

// Return the name of a stream, which leads to its page where it has one.
export const streamLink = (row) =>
  row.has_page === false ? cut(row.name) : h("a", { href: queryAddress(row.name) }, cut(row.name));

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
      row.state?.why ? h("span", { class: "why" }, prose(row.state.why, 140)) : null,
      row.damaged?.length ? [" ", badge("damaged", "bad")] : null,
      row.damaged?.map((each) => h("span", { class: "why" }, longText(`${each.where}: ${each.fault}`, 240))),
      row.note && row.note !== row.state?.why ? h("span", { class: "why" }, prose(row.note, 140)) : null,
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
      row.promise?.detail ? h("span", { class: "why" }, prose(row.promise.detail, 90)) : null,
    ],
  },
  {
    title: "Behind",
    sort: "behind_ms",
    number: true,
    hint: "Wall clock less the arrival time that is committed",
    show: behind,
  },
  {
    title: "Unread rows",
    sort: "rows_left",
    number: true,
    hint: "Rows known in the source that no batch has read",
    show: (row) => count(row.rows_left),
  },
  {
    title: "K",
    sort: "k_ms",
    number: true,
    hint: "Slack: how long a window waits beyond its end",
    show: (row) => aged(row.report_age_ms, duration(row.k_ms)),
  },
  {
    title: "Coverage",
    sort: "coverage",
    number: true,
    hint: "Share of the tuples that windows held when they closed",
    show: (row) => aged(row.report_age_ms, share(row.coverage)),
  },
  { title: "Late, 1\u00a0h", sort: "late_hour", number: true, show: (row) => aged(row.facts_age_ms, count(row.late_hour)) },
  {
    title: "Quarantined, 1\u00a0h",
    sort: "quarantined_hour",
    number: true,
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
