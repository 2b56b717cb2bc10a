// Tables that read well down a column, and turn into cards on a narrow screen.

import { h } from "./dom.js";
import { NONE, count } from "./format.js";
import { longText } from "./ui.js";
import { explained, meaning } from "./words.js";

const isVoid = (data) => data === NONE || (data instanceof Element && data.classList.contains("none"));
const cell = (data) => (data instanceof Node || Array.isArray(data) ? data : longText(data));

const MOST_CARDS = 10; // as in parts.css: a card takes half a screen of a phone
const opened = new Set(); // the captions of the tables of which all cards are shown

// Show all cards of a table on a narrow screen.
function showAll(event, caption) {
  const region = event.currentTarget.previousElementSibling;
  opened.add(caption);
  region.classList.add("all");
  region.focus({ preventScroll: true });
  event.currentTarget.remove();
}

// Return a table. A column is {title, show(row), number, sort, hint}; `options`: key(row), caption, mark(row), sort, onSort.
export function table(columns, rows, options = {}) {
  const head = columns.map((column) =>
    h(
      "th",
      {
        scope: "col",
        class: column.number ? "number" : null,
        "aria-sort": sortOf(column, options.sort),
      },
      header(column, options),
    ),
  );
  const body = rows.map((row, index) =>
    h(
      "tr",
      { key: options.key ? options.key(row, index) : undefined, class: options.mark?.(row) || null },
      columns.map((column, place) => {
        const data = column.show(row, index);
        return h(
          place === 0 && !column.plain ? "th" : "td",
          {
            scope: place === 0 && !column.plain ? "row" : null,
            class:
              [column.number ? "number" : "", column.class ?? "", isVoid(data) ? "void" : ""]
                .filter(Boolean)
                .join(" ") || null,
            "data-label": column.title,
          },
          h("div", null, cell(data)),
        );
      }),
    ),
  );
  const hasCards = options.cards !== false;
  const isCut = hasCards && rows.length > MOST_CARDS && !opened.has(options.caption);
  const region = h(
    "div",
    {
      class: `scroll${hasCards ? " cards" : ""}${isCut ? "" : " all"}${options.isTall ? " tall" : ""}`,
      tabindex: "0",
      role: "region",
      "aria-label": options.caption,
    },
    h(
      "table",
      null,
      options.caption ? h("caption", { class: "offscreen" }, options.caption) : null,
      h("thead", null, h("tr", null, head)),
      h("tbody", null, body),
    ),
  );
  if (!isCut) return region;
  return [
    region,
    h(
      "button",
      { type: "button", class: "on-narrow", on: { click: (event) => showAll(event, options.caption) } },
      `Show all ${count(rows.length)}`,
    ),
  ];
}

function sortOf(column, sort) {
  if (!column.sort || !sort) return null;
  if (sort === column.sort) return "ascending";
  return sort === `-${column.sort}` ? "descending" : null;
}

function header(column, options) {
  if (!column.sort || !options.onSort) return explained(column.title, column.hint);
  const direction = sortOf(column, options.sort);
  const next =
    direction === "descending" || (direction === null && column.first === "up") ? column.sort : `-${column.sort}`;
  const arrow = { ascending: "▲", descending: "▼" }[direction] ?? "";
  return h(
    "button",
    { type: "button", class: "sort", "aria-description": meaning(column.title, column.hint), on: { click: () => options.onSort(next) } },
    column.title,
    h("span", { class: "arrow", "aria-hidden": "true" }, arrow),
  );
}

// Return a bar of a share between 0 and 1, beside its text.
export function bar(share, text, tone = "") {
  const width = Math.max(0, Math.min(1, share || 0));
  return h(
    "span",
    { class: `bar ${tone}` },
    h("span", { class: "fill", css: { width: `${width * 100}%` } }),
    h("span", { class: "text" }, text),
  );
}
