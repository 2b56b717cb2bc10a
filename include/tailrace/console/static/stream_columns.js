// The columns of Streams, and the names by which the server sorts; it does not sort by what only tables say.

import { queryAddress } from "./api.js";
import { h } from "./dom.js";
import { count, duration, share } from "./format.js";
import { badge, promiseBadge } from "./shapes.js";
import { brief, time } from "./time.js";
import { cut, longText } from "./ui.js";

export const columns = [
  {
    title: "Stream",
    sort: "name",
    first: "up",
    class: "name",
    show: (row) => [
      h("a", { href: queryAddress(row.name) }, cut(row.name)),
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
      row.state?.why ? h("span", { class: "why" }, longText(row.state.why, 140)) : null,
      row.note && row.note !== row.state?.why ? h("span", { class: "why" }, longText(row.note, 140)) : null,
    ],
  },
  {
    title: "Promise",
    class: "words",
    hint: "Whether the measured error is within the promised one",
    show: (row) => [
      promiseBadge(row.promise),
      row.promise?.detail ? h("span", { class: "why" }, longText(row.promise.detail, 90)) : null,
    ],
  },
  {
    title: "Behind",
    sort: "behind_ms",
    number: true,
    hint: "Wall clock less the arrival time that is committed",
    show: (row) => duration(row.behind_ms),
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
    show: (row) => duration(row.k_ms),
  },
  {
    title: "Coverage",
    sort: "coverage",
    number: true,
    hint: "Share of the tuples that windows held when they closed",
    show: (row) => share(row.coverage),
  },
  { title: "Late, 1\u00a0h", number: true, show: (row) => count(row.late_hour) },
  { title: "Quarantined, 1\u00a0h", number: true, show: (row) => count(row.quarantined_hour) },
  { title: "Answers", sort: "answers", number: true, show: (row) => count(row.answers) },
  {
    title: "Last correction",
    show: (row) => (row.last_correction ? time(row.last_correction.at, brief) : "–"),
  },
  {
    title: "Restarts lately",
    sort: "starts",
    number: true,
    hint: "How often the driver was started again in the last day, as far as its launcher has them",
    show: (row) => count(row.starts),
  },
];
