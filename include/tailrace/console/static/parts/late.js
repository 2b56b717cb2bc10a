// Late and waiting rows: by partition, with the one that holds the frontier back, and by file.

import { chart, columns } from "../chart.js";
import { h } from "../dom.js";
import { count, duration } from "../format.js";
import { chosen, range, selecting } from "../range.js";
import { badge, shape } from "../shapes.js";
import { bar, table } from "../table.js";
import { time } from "../time.js";
import { empty, figures, longText, prose, section, unread } from "../ui.js";

const most = (list, read) => list.reduce((greatest, each) => Math.max(greatest, read(each) ?? 0), 0);

function stateOf(partition) {
  if (partition.is_holding) return badge("holds back", "warn");
  return partition.is_idle ? badge("idle", "idle") : badge("read", "good");
}

function show(data, context) {
  const series = columns(data.series, "at", ["late", "waiting"]);
  const x = { values: series.at, name: "Arrival" };
  const select = { onRange: selecting(context), selected: context.selected, sync: "late", x };
  const partitions = data.partitions ?? [];
  const files = data.files ?? [];
  const ahead = most(partitions, (each) => each.passed);
  const worst = most(partitions, (each) => each.late);
  const newestOf = (stream) =>
    most(
      partitions.filter((each) => each.stream === stream),
      (each) => each.passed,
    );
  // A directory that is complete is behind nothing: of each stream the newest partition says how far it is.
  const isNewest = (each) => Number.isFinite(each.passed) && each.passed === newestOf(each.stream);
  return [
    range(context, { from: series.at[0], to: series.at.at(-1), ...data }),
    chosen(context),
    data.holding
      ? h(
          "p",
          { class: "lead held" },
          shape(partitions.some((each) => each.is_holding) ? "warn" : "idle"),
          " ",
          prose(data.holding, 400),
        )
      : null,
    figures([
      ["Waiting rows", count(data.waiting_rows), "Read, and in a tick that is not complete yet"],
      ["Late rows", count(data.late_rows), "Of the batches that were committed in this range"],
      [
        "In gaps of the ledger",
        count(data.uncorrected_rows),
        "Late rows of any time whose arrival no correction covers; a correction of a drawn range covers none",
      ],
    ]),
    h(
      "div",
      { class: "grid" },
      chart({
        ...select,
        title: "Late rows",
        y: { show: count, zero: true },
        series: [{ name: "late", values: series.late, style: "bars", tone: "warn" }],
        none: "Late rows are not on record for this range.",
      }),
      chart({
        ...select,
        title: "Waiting rows",
        y: { show: count, zero: true },
        series: [{ name: "waiting", values: series.waiting, style: "step" }],
        none: unread(data, "waiting_rows") ?? "Waiting rows are not on record for this range.",
      }),
    ),
    section(
      "Partitions",
      partitions.length
        ? table(
            [
              {
                title: "Partition",
                class: "name",
                show: (each) => longText(each.partition || "all of the stream", 120),
              },
              { title: "Stream", show: (each) => longText(each.stream ?? "–", 60) },
              { title: "State", show: stateOf },
              { title: "Read up to", hint: "Arrival up to which it was read", show: (each) => time(each.passed) },
              {
                title: "Behind the first",
                number: true,
                hint: "How far the newest partition of a stream is behind the furthest one of all streams",
                show: (each) => (isNewest(each) ? duration(ahead - each.passed) : "–"),
              },
              {
                title: "Rows",
                number: true,
                hint: "All that was read of it; of a topic's partition, what was read in this range",
                show: (each) => count(each.rows),
              },
              {
                title: "Late",
                class: "text",
                hint: "Late rows of this range",
                show: (each) => bar(worst ? (each.late ?? 0) / worst : 0, count(each.late), "warn"),
              },
            ],
            partitions,
            {
              key: (each, index) => `${each.stream}/${each.partition}`.slice(0, 200) + index,
              caption: "Partitions",
              mark: (each) => (each.is_holding ? "marked" : ""),
            },
          )
        : empty(unread(data, "partitions") ?? "The source has no partitions on record."),
    ),
    section(
      "Newest files",
      files.length
        ? table(
            [
              { title: "File", class: "text mono", show: (each) => longText(each.path ?? "–", 160) },
              { title: "Stream", show: (each) => longText(each.stream ?? "–", 60) },
              { title: "Rows", number: true, show: (each) => count(each.rows) },
              {
                title: "Late",
                number: true,
                show: (each) => (each.late ? h("strong", null, count(each.late)) : count(each.late)),
              },
              {
                title: "Arrived after",
                hint: "The arrival that its stream had reached before it: its rows came then or later",
                show: (each) => time(each.after),
              },
              { title: "Last arrival", show: (each) => time(each.last) },
            ],
            files,
            {
              key: (each, index) => `${each.path}`.slice(-200) + index,
              caption: "Newest files",
              isTall: true,
              mark: (each) => (each.late ? "marked" : ""),
            },
          )
        : empty(unread(data, "files") ?? "No file is on record."),
    ),
  ];
}

export default { title: "Late", request: ["from", "to"], show };
