// How many streams are ill, and why: the first thing that Streams says.

import { h } from "./dom.js";
import { count, plural } from "./format.js";
import { badge, isIll, since, toneOfRow, whyIll } from "./shapes.js";
import { pausedDags, streamLink } from "./stream_columns.js";
import { behind, problems, prose } from "./ui.js";

const CARDS = 6;
const SEVERITY = { bad: 0, warn: 1, idle: 2, good: 3 };

// Return the ill streams of an answer, the worst first.
const illOf = (answer) =>
  (answer?.queries ?? []).filter(isIll).sort((one, other) => SEVERITY[toneOfRow(one)] - SEVERITY[toneOfRow(other)]);

// Return the verdict in words, and the ill streams as cards; `worst` is the first page, the worst first.
export function verdict(worst, hasCards, showAll) {
  const ill = illOf(worst);
  const total = worst.total ?? worst.queries?.length ?? 0;
  const many = Math.max(worst.ill ?? 0, ill.length);
  const some = count(many);
  const unread = worst.unread ? `the promises of ${plural(worst.unread, "stream")} are not looked at yet` : "";
  const unknown = worst.unknown ? `: the state of ${plural(worst.unknown, "stream")} is unknown` : "";
  const down = worst.is_host_down ? `The driver host does not answer${unknown}. ` : "";
  const words = !total
    ? "No streams are declared yet."
    : many
      ? `${down}${some} of ${plural(total, "stream")} ${many === 1 ? "needs" : "need"} attention${unread ? `; ${unread}` : ""}.`
      : unread || down
        ? `${down}No ${down ? "known " : ""}state of ${plural(total, "stream")} needs attention${unread ? `; ${unread}` : ""}.`
        : `All well: ${plural(total, "stream")}, none needs attention.`;
  const cards = hasCards ? ill.slice(0, CARDS).map(card) : [];
  const nodes = [
    h("p", { class: "verdict" }, words),
    cards.length ? h("h2", { class: "offscreen" }, "Needs attention") : null,
    cards.length ? h("div", { class: "ill" }, cards) : null,
    many > cards.length && cards.length
      ? h("p", { class: "pager" }, h("button", { type: "button", on: { click: showAll } }, `Show all ${some}`))
      : null,
  ];
  return { words, nodes, some: many ? some : null };
}

function card(row) {
  return h(
    "article",
    { key: row.name, class: toneOfRow(row) },
    h(
      "div",
      { class: "row" },
      badge(row.state?.word, row.state?.tone),
      since(row.state),
      row.promise?.state === "broken" ? badge("promise broken", "bad") : null,
      row.damaged?.length ? badge("damaged", "bad") : null,
      row.paused?.length ? badge("paused", "warn") : null,
    ),
    h("h3", null, streamLink(row)),
    h("p", null, prose(whyIll(row) || "The server names no reason.", 280)),
    problems(row.damaged),
    pausedDags(row),
    h(
      "p",
      { class: "facts" },
      row.behind_ms === null || row.behind_ms === undefined
        ? null
        : h("span", null, behind(row), typeof row.data_ends === "number" ? "" : " behind"),
      row.rows_left ? h("span", null, `${plural(row.rows_left, "row")} unread`) : null,
      row.late_hour ? h("span", null, `${count(row.late_hour)} late in 1 h`) : null,
      row.quarantined_hour ? h("span", null, `${count(row.quarantined_hour)} quarantined in 1 h`) : null,
      row.starts ? h("span", null, `${plural(row.starts, "restart")} lately`) : null,
    ),
  );
}
