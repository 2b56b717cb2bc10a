// Quarantined records by reason, with samples, and the line of the query file that would take them.

import { chart, columns } from "../chart.js";
import { h } from "../dom.js";
import { count, plural } from "../format.js";
import { bar } from "../table.js";
import { time } from "../time.js";
import { copyButton, empty, figures, longText, section } from "../ui.js";

function reason(each, most, context) {
  const isChosen = context.params.reason === each.reason;
  const set = () => context.set({ reason: isChosen ? null : each.reason, skip: null });
  return h(
    "article",
    { class: "reason", key: String(each.reason).slice(0, 300) },
    h(
      "div",
      { class: "row" },
      h("h4", { class: "grow" }, longText(each.reason ?? "–", 240)),
      String(each.reason ?? "").length <= 2000
        ? h(
            "button",
            { type: "button", "aria-pressed": String(isChosen), on: { click: set } },
            isChosen ? "Show all" : "Show these records",
          )
        : null,
    ),
    h(
      "div",
      { class: "row" },
      h("div", { class: "grow" }, bar(most ? each.records / most : 0, plural(each.records ?? 0, "record"), "warn")),
      h("span", { class: "hint" }, "last ", time(each.last)),
    ),
    each.line
      ? h(
          "div",
          { class: "remedy" },
          h(
            "p",
            { class: "hint" },
            each.line.number ? `Line ${each.line.number} of the query file:` : "In the query file:",
          ),
          each.line.text ? h("pre", { class: "record" }, String(each.line.text).slice(0, 2000)) : null,
          each.line.advice
            ? [
                h("p", null, String(each.line.advice).slice(0, 4000)),
                copyButton(() => each.line.advice, "Copy the advice"),
              ]
            : null,
        )
      : null,
  );
}

function sample(each, index) {
  return h(
    "article",
    { class: "sample", key: `${each.position}`.slice(0, 200) + index },
    h(
      "p",
      { class: "hint row" },
      h("span", null, time(each.arrival_time)),
      h("span", null, longText(each.stream ?? "–", 60)),
      h("span", { class: "mono" }, longText(each.position ?? "–", 120)),
      h("span", null, longText(each.reason ?? "–", 200)),
    ),
    h("div", { class: "record mono" }, longText(each.record ?? "–", 1200)),
  );
}

function show(data, context) {
  const series = columns(data.series, "at", ["records"]);
  const reasons = data.reasons ?? [];
  const records = data.records ?? [];
  const skipped = Number(context.params.skip ?? 0);
  const most = reasons.reduce((greatest, each) => Math.max(greatest, each.records ?? 0), 0);
  if (data.total === 0 && !records.length)
    return empty("No record is in quarantine: every record that was read was taken.");
  return [
    figures([
      ["In quarantine", count(data.total)],
      ["In the newest hour", count(data.last_hour), "By arrival, up to the newest record or to what is committed"],
      ["Reasons", count(reasons.length)],
    ]),
    chart({
      title: "Quarantined records",
      x: { values: series.at, name: "Arrival" },
      height: 140,
      y: { show: count, zero: true },
      series: [{ name: "records", values: series.records, style: "bars", tone: "warn" }],
      none: "When records were quarantined is not on record.",
    }),
    section(
      "Reasons",
      reasons.length ? reasons.map((each) => reason(each, most, context)) : empty("No reason is on record."),
    ),
    section(
      context.params.reason ? "Records of this reason, the newest first" : "Records, the newest first",
      records.length ? records.map(sample) : empty(skipped ? "There are no further records." : "No sample is on record."),
      skipped || data.next
        ? h(
            "p",
            { class: "pager" },
            skipped
              ? h("button", { type: "button", on: { click: () => context.set({ skip: null }) } }, "Newest")
              : null,
            data.next
              ? h("button", { type: "button", on: { click: () => context.set({ skip: data.next }) } }, "Older")
              : null,
            records.length
              ? h("span", { class: "hint" }, `${count(skipped + 1)} to ${count(skipped + records.length)}`)
              : null,
          )
        : null,
    ),
  ];
}

export default { title: "Quarantine", request: ["reason", "limit", "skip"], show };
