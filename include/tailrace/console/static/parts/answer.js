// One answer: its versions in the order of as_of, and the late tuples that changed it.

import { h } from "../dom.js";
import { count, duration, plural, share } from "../format.js";
import { badge } from "../shapes.js";
import { table } from "../table.js";
import { moment, time } from "../time.js";
import { spell, timeline } from "../timeline.js";
import { empty, figures, longText, prose, section, unread } from "../ui.js";
import { valueOf } from "./answers.js";

const nameOf = (column) => (typeof column === "string" ? column : (column?.name ?? "–"));
const typeOf = (column) => (typeof column === "string" ? "text" : column?.type);

// Number the versions in the order in which they came; a version of a ranking has several rows.
function numbered(rows) {
  const numbers = new Map();
  return (rows ?? []).map((row, index) => {
    const version = JSON.stringify([row.as_of, row.source, row.interval]);
    if (!numbers.has(version)) numbers.set(version, numbers.size + 1);
    return { ...row, number: numbers.get(version), key: index };
  });
}

// Return a row of each version.
const firstRows = (rows) => rows.filter((row, index) => index === 0 || row.number !== rows[index - 1].number);

function story(versions, late) {
  if (!versions.length) return "This answer has no version on record.";
  const [first, last] = [versions[0], versions.at(-1)];
  if (versions.length === 1)
    return last.is_retracted
      ? "Its one version retracts it."
      : `It stands as ${first.source === "correction" ? "a correction added it" : "it was streamed"}: no correction has changed it.`;
  const what = last.is_retracted ? "It is retracted" : "It was changed";
  const why = late ? ` after ${plural(late, "late tuple")}` : "";
  return `${what}${why}: ${plural(versions.length, "version")}, the last one as of ${moment(last.as_of)}${last.source === "correction" ? ", by a correction" : ""}.`;
}

// Test whether a column differs between versions of one row each.
function differs(rows, place) {
  const isRanking = firstRows(rows).length < rows.length;
  const shown = rows.filter((row) => !row.is_retracted).map((row) => JSON.stringify(row.values?.[place]));
  return !isRanking && new Set(shown).size > 1;
}

function line(versions, late) {
  const times = [...versions.map((version) => version.as_of), ...late.map((tuple) => tuple.arrival_time)].filter(
    Number.isFinite,
  );
  if (times.length < 2) return null;
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const room = Math.max(1, Math.round((to - from) * 0.03));
  const end = to + room * 3;
  return timeline({
    title: "Versions",
    range: [from - room, end],
    summary: `${plural(versions.length, "version")} and ${plural(late.length, "late tuple")} over arrival time; the tables below say the same`,
    lanes: [
      {
        title: "Versions",
        items: versions.map((version, index) => ({
          from: version.as_of,
          to: versions[index + 1]?.as_of ?? end,
          class: version.is_retracted ? "gap" : index % 2 ? "calibration" : "run",
          title: `Version ${index + 1}, ${version.source}: ${spell(version.as_of, versions[index + 1]?.as_of ?? end)}`,
        })),
      },
      {
        title: "Late tuples",
        items: late.map((tuple) => ({
          from: tuple.arrival_time,
          to: tuple.arrival_time,
          class: tuple.corrected_by === null ? "open" : "run",
          title: `Late tuple, came ${moment(tuple.arrival_time)}`,
        })),
      },
    ],
  });
}

function show(data, context) {
  const rows = numbered(data.versions);
  const versions = firstRows(rows);
  const late = data.late ?? [];
  const total = data.late_total ?? late.length;
  const own = new Set((data.identity ?? []).map((each) => each.name)); // the same in all versions
  const shape = (data.columns ?? [])
    .map((column, place) => ({ ...column, place }))
    .filter((column) => !own.has(column.name));
  const names = data.late_columns ?? [];
  return [
    h("p", null, context.link("answers", {}, "← All answers")),
    h("h2", null, "One answer"),
    h("p", { class: "lead" }, prose(data.summary || story(versions, total), 1000)),
    figures((data.identity ?? []).map((each) => [each.name, valueOf(each.value, each.type)])),
    line(versions, late),
    section(
      "Versions",
      versions.length
        ? table(
            [
              { title: "Version", number: true, show: (version) => String(version.number) },
              {
                title: "As of",
                hint: "Arrival time before which its content had come",
                show: (version) => time(version.as_of),
              },
              {
                title: "From",
                show: (version) =>
                  version.is_retracted
                    ? badge("retracted", "bad")
                    : version.source === "correction"
                      ? badge("correction", "warn")
                      : badge("stream", "idle"),
              },
              ...shape.map(({ place, ...column }) => ({
                title: column.name,
                number: column.type === "number",
                show: (version) => {
                  const shown = valueOf(version.values?.[place], column.type);
                  return differs(rows, place) ? h("strong", null, shown) : shown;
                },
              })),
              { title: "Tuples", number: true, show: (version) => count(version.tuples) },
              { title: "Coverage", number: true, show: (version) => share(version.coverage) },
              { title: "K", number: true, show: (version) => duration(version.k_ms) },
              {
                title: "Interval",
                class: "nowrap",
                hint: "What the correction was over",
                show: (version) => interval(version.interval),
              },
              { title: "Written", show: (version) => time(version.emitted_at) },
            ],
            rows,
            { key: (version) => version.key, caption: "Versions of this answer" },
          )
        : empty("No version is on record."),
    ),
    section(
      total ? `Late tuples that belong to it: ${count(total)}` : "Late tuples",
      late.length
        ? [
            total > late.length
              ? h("p", { class: "hint" }, `The first ${count(late.length)} of ${count(total)}.`)
              : null,
            table(
              [
                { title: "Id", class: "text", show: (tuple) => longText(tuple.id, 80) },
                { title: "Event time", show: (tuple) => time(tuple.event_time) },
                { title: "Came", show: (tuple) => time(tuple.arrival_time) },
                { title: "Delay", number: true, show: (tuple) => duration(tuple.delay_ms) },
                ...names.map((column) => ({
                  title: nameOf(column),
                  show: (tuple) => valueOf(tuple.values?.[nameOf(column)], typeOf(column)),
                })),
                { title: "Corrected by", show: (tuple) => correctedBy(tuple, versions) },
                { title: "File", class: "text mono", show: (tuple) => longText(tuple.file ?? "–", 120) },
                { title: "Position", number: true, show: (tuple) => tuple.position ?? "–" },
              ],
              late,
              {
                key: (tuple, index) => `${tuple.id}`.slice(0, 200) + index,
                caption: "Late tuples",
                mark: (tuple) => (tuple.corrected_by === null ? "marked" : ""),
              },
            ),
          ]
        : empty(unread(data, "late") ?? "No late tuple belongs to this answer."),
    ),
  ];
}

function interval(value) {
  if (Array.isArray(value)) return [time(value[0]), " – ", time(value[1])];
  return value === null || value === undefined
    ? "–"
    : prose(typeof value === "string" ? value : JSON.stringify(value), 80);
}

function correctedBy(tuple, versions) {
  if (tuple.corrected_by === null || tuple.corrected_by === undefined) return badge("not yet", "warn");
  const version = versions.find((each) => each.as_of === tuple.corrected_by);
  return [
    version ? `version ${version.number}` : "",
    h("span", { class: "hint" }, " as of ", time(tuple.corrected_by)),
  ];
}

export default { title: "Answer", request: ["id"], show };
