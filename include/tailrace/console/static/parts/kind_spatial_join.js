// spatial_join: a map of the pairs found by cell, with a legend, and the versions of the table it joins.

import { h, s } from "../dom.js";
import { count, number, plural } from "../format.js";
import { chosen, range, selecting } from "../range.js";
import { table } from "../table.js";
import { time } from "../time.js";
import { empty, figures, longText, prose, section, unread } from "../ui.js";
import { calibration } from "./calibration.js";
import { asText } from "./frontier.js";
import { loadCharts } from "./task_series.js";

const STEPS = 6; // grey levels; the table beside the map has the numbers
const isPlaced = (cell) => Number.isFinite(cell?.x) && Number.isFinite(cell?.y) && Number.isFinite(cell?.load);

// Return the upper ends of the levels, each with about as many cells: loads are very uneven.
export function levels(loads) {
  const sorted = [...loads].sort((one, other) => one - other);
  const ends = Array.from(
    { length: STEPS },
    (_, place) => sorted[Math.ceil(((place + 1) / STEPS) * sorted.length) - 1],
  );
  return ends.filter((end, place) => place === 0 || end > ends[place - 1]);
}

const levelOf = (load, ends) =>
  Math.max(
    0,
    ends.findIndex((end) => load <= end),
  );
const strength = (level, ends) => (ends.length === 1 ? 0.8 : 0.12 + (0.88 * level) / (ends.length - 1));

function map(cells, name) {
  const ends = levels(cells.map((cell) => cell.load));
  const [left, right] = [Math.min(...cells.map((cell) => cell.x)), Math.max(...cells.map((cell) => cell.x))];
  const [bottom, top] = [Math.min(...cells.map((cell) => cell.y)), Math.max(...cells.map((cell) => cell.y))];
  const most = cells.reduce((greatest, cell) => (cell.load > greatest.load ? cell : greatest));
  const box = [left - 0.5, -top - 1.5, right - left + 2, top - bottom + 2];
  const words = `Map of ${plural(cells.length, "cell")} by ${name}. The greatest is cell ${most.x}, ${most.y} with ${count(most.load)}. North is up.`;
  return [
    s(
      "svg",
      { class: "map", viewBox: box.join(" "), role: "img", "aria-label": words },
      cells.map((cell) =>
        s(
          "rect",
          {
            x: cell.x,
            y: -cell.y - 1,
            width: 0.94,
            height: 0.94,
            "fill-opacity": strength(levelOf(cell.load, ends), ends),
            class: "cell",
          },
          s("title", null, `cell ${cell.x}, ${cell.y}: ${count(cell.load)}`),
        ),
      ),
    ),
    h(
      "ul",
      { class: "legend", "aria-label": "Legend" },
      ends.map((end, level) =>
        h(
          "li",
          null,
          s(
            "svg",
            { class: "swatch", width: 14, height: 12, viewBox: "0 0 14 12", "aria-hidden": "true" },
            s("rect", { class: "cell", width: 14, height: 12, "fill-opacity": strength(level, ends) }),
          ),
          h("span", null, level ? `over ${count(ends[level - 1])} to ${count(end)}` : `up to ${count(end)}`),
        ),
      ),
    ),
  ];
}

function figure(title, name, list, context) {
  const cells = (list ?? []).filter(isPlaced);
  if (!cells.length)
    return h("figure", { class: "chart", key: title }, h("h4", null, title), empty("No cell has any yet."));
  const key = `table-${name}`;
  const isOpen = context.local[key];
  const rows = [...cells].sort((one, other) => other.load - one.load).slice(0, 200);
  return h(
    "figure",
    { class: "chart", key: title },
    h("h4", null, title),
    map(cells, name),
    h(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-expanded": String(Boolean(isOpen)),
        on: {
          click: () => {
            context.local[key] = !isOpen;
            context.show();
          },
        },
      },
      isOpen ? "Hide the table" : "Show as a table",
    ),
    isOpen
      ? h(
          "div",
          { class: "as-table" },
          table(
            [
              { title: "Cell", show: (cell) => `${cell.x}, ${cell.y}` },
              { title: name, number: true, show: (cell) => count(cell.load) },
            ],
            rows,
            { key: (cell) => `${cell.x},${cell.y}`, caption: `${title}: the 200 greatest`, cards: false },
          ),
        )
      : null,
  );
}

const newestFirst = (table) => [...(table?.versions ?? [])].sort((one, other) => other.version - one.version);

// Return the key figures of the table that a stream is joined with.
function figuresOf(data) {
  const [newest] = newestFirst(data);
  if (!newest) return [];
  const from = newest.at === null ? "the beginning" : time(newest.at);
  return [
    ["Versions of the table", count(data.versions.length)],
    ["Rows of the newest", count(newest.rows)],
    ["It holds from", from, "Arrival from which tuples meet the newest version"],
  ];
}

function versions(data) {
  if (!data) return null;
  const list = newestFirst(data);
  return section(
    "The table it joins",
    h("p", { class: "mono" }, longText(data.path ?? "–", 200)),
    list.length
      ? table(
          [
            { title: "Version", class: "narrow", show: (each) => count(each.version) },
            { title: "Holds from", show: (each) => (each.at === null ? "the beginning" : time(each.at)) },
            { title: "Segment", number: true, show: (each) => asText(each.from_segment) },
            { title: "Rows", number: true, show: (each) => count(each.rows) },
            { title: "Evidence", class: "text", show: (each) => prose(asText(each.evidence), 200) },
          ],
          list,
          { key: (each, index) => `${each.version}-${index}`, caption: "Versions of the table" },
        )
      : empty("No version is on record."),
  );
}

function show(data, context) {
  const cells = (data.cells ?? []).filter(isPlaced);
  const extent = Array.isArray(data.extent) ? data.extent.map((each) => number(each)).join(", ") : null;
  const select = { sync: "spatial", onRange: selecting(context), selected: context.selected };
  const hasMap = data.cells !== null && data.cells !== undefined;
  const isBare = !cells.length && data.note; // the note, which stands above, says why there is no map
  const total = data.cells_total ?? cells.length;
  return [
    hasMap ? range(context, data) : null,
    chosen(context),
    figures([
      data.join ? ["Join", `by ${String(data.join).slice(0, 40)}`] : null,
      hasMap ? ["Cells with pairs", count(total)] : null,
      data.grid ? ["Grid", `${asText(data.grid)} × ${asText(data.grid)}`] : null,
      hasMap ? ["Pairs in the cells shown", count(cells.reduce((sum, cell) => sum + cell.load, 0))] : null,
      ...figuresOf(data.table),
      extent ? ["Extent", extent, "least x, least y, greatest x, greatest y"] : null,
    ]),
    hasMap && total > cells.length
      ? h(
          "p",
          { class: "hint" },
          `The map has the ${count(cells.length)} cells with the most pairs, of ${count(total)}.`,
        )
      : null,
    hasMap && !isBare
      ? h(
          "div",
          { class: "grid" },
          figure("Pairs found by cell", "pairs", data.cells, context),
        )
      : null,
    data.loads ? section("Tasks", h("div", { class: "grid" }, loadCharts(data.loads, select))) : null,
    versions(data.table),
    calibration(data.calibration, false, unread(data, "calibration")),
  ];
}

export default { title: "Map", show };
