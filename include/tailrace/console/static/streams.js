// The page of all streams: what is ill and why first, then everything, sorted and searched by the server.

import { get } from "./api.js";
import { announce, h, isReading, render } from "./dom.js";
import { count, plural } from "./format.js";
import { recall, remember } from "./memory.js";
import { Poll, showFreshness } from "./poll.js";
import { toneOfRow } from "./shapes.js";
import { columns } from "./stream_columns.js";
import { showTools } from "./stream_tools.js";
import { verdict } from "./stream_verdict.js";
import { table } from "./table.js";
import { onZone, zoneSwitch } from "./time.js";
import { empty, failed, isOld, loading, problems } from "./ui.js";

const PAGE = 50;
const place = (id) => document.getElementById(id);
const PARTS = ["search", "state", "kind", "promise", "sort"]; // of a search: what an address and a saved search hold
const view = { filter: recall("filter", "all"), mine: recall("search", null), offset: 0 };
let worst = null; // the first page, the worst first
let shown = null; // the rows of the table
let lastFailure = null;
let heldBack = false;

function applyFilter() {
  const mine = (view.filter === "mine" && view.mine) || {};
  for (const part of PARTS) view[part] = mine[part] ?? "";
  view.offset = 0;
}

function fromAddress() {
  const params = new URLSearchParams(window.location.search);
  // An address that says anything says it all: what this browser remembers adds nothing to a link.
  if (["filter", ...PARTS].some((part) => params.has(part)))
    view.filter = ["attention", "mine"].includes(params.get("filter")) ? params.get("filter") : "all";
  applyFilter();
  if (PARTS.some((part) => params.has(part))) for (const part of PARTS) view[part] = params.get(part) ?? "";
  view.offset = Math.max(0, Number.parseInt(params.get("offset") ?? "0", 10) || 0);
}

function toAddress() {
  const params = new URLSearchParams();
  if (view.filter !== "all") params.set("filter", view.filter);
  for (const part of PARTS) {
    const isSaved = view.filter === "mine" && view.mine?.[part];
    if (view[part] || isSaved) params.set(part, view[part]); // an empty one undoes what is saved
  }
  if (view.offset) params.set("offset", view.offset);
  const text = params.toString();
  window.history.replaceState(null, "", text ? `?${text}` : window.location.pathname);
}

async function read(signal) {
  const isAttention = view.filter === "attention";
  const wanted = Object.fromEntries(PARTS.map((part) => [part, view[part] || null]));
  const isPlain = PARTS.every((part) => !view[part]) && !view.offset && !isAttention;
  const [first, rows] = await Promise.all([
    get("streams", { offset: 0, limit: PAGE }, signal),
    isPlain
      ? null
      : get(
          "streams",
          { ...wanted, only_ill: isAttention ? true : null, offset: view.offset, limit: PAGE },
          signal,
        ),
  ]);
  if (signal.aborted) return;
  if (view.offset && rows?.total > 0 && !rows.queries?.length) {
    view.offset = 0; // there are not so many any more
    toAddress();
    return read(signal);
  }
  worst = first;
  const held = hold(rows ?? first);
  shown = held.answer;
  heldBack = held.isHeld;
  show();
  return { isPartial: shown.queries?.some((row) => row.is_unread || isOld(row)) || (view.promise && shown.unread > 0) };
}

// Keep the order of the rows while the reader points at them; what came new stands below.
function hold(answer) {
  if (!shown || !isReading(place("rows")) || view.isNew) {
    view.isNew = false;
    return { answer, isHeld: false };
  }
  const order = new Map(shown.queries.map((row, index) => [row.name, index]));
  const queries = [...(answer.queries ?? [])].sort(
    (one, other) => (order.get(one.name) ?? 1e9) - (order.get(other.name) ?? 1e9),
  );
  return {
    answer: { ...answer, queries },
    isHeld: queries.some((row, index) => row.name !== answer.queries[index].name),
  };
}

function change(values) {
  Object.assign(view, values, { isNew: true });
  toAddress();
  showTools(place("tools"), view, tools, shown);
  poll.now();
}

function choose(filter) {
  view.filter = filter;
  remember("filter", filter);
  applyFilter();
  change({});
}

function save() {
  view.mine = Object.fromEntries(PARTS.map((part) => [part, view[part]]));
  view.filter = "mine";
  remember("search", view.mine);
  remember("filter", "mine");
  change({});
  announce("Search saved");
}

function showVerdict() {
  const { words, nodes, some } = verdict(worst, view.filter !== "attention", () => choose("attention"));
  document.title = some ? `(${some}) Streams · tailrace` : "Streams · tailrace";
  announce(words);
  render(place("verdict"), nodes);
}

function showRows() {
  const isAttention = view.filter === "attention";
  const rows = shown.queries ?? [];
  const total = shown.total ?? rows.length;
  const filters = ["state", "kind", "promise"].filter((part) => view[part]).map((part) => `${part} ${view[part]}`);
  const isOpen = view.promise && shown.unread; // streams whose promise may be the one that is asked for
  const unread = isOpen ? `; of ${plural(shown.unread, "stream")} it is not known yet` : "";
  const none = view.search
    ? `No stream matches “${view.search}”${filters.length ? ` with ${filters.join(", ")}` : ""}${unread}.`
    : filters.length
      ? `No stream has ${filters.join(", ")}${unread}.`
      : isAttention
      ? "No stream needs attention."
      : "No streams are declared yet. A query file in the directory of queries makes one: " +
        "it appears here as soon as Airflow has read it.";
  const last = view.offset + rows.length;
  render(
    place("rows"),
    rows.length
      ? table(columns, rows, {
          key: (row) => row.name,
          caption: "All streams",
          sort: view.sort,
          onSort: (sort) => change({ sort, offset: 0 }),
          mark: (row) => ({ bad: "wrong", warn: "marked" })[toneOfRow(row)],
        })
      : empty(none),
    h(
      "p",
      { class: "pager" },
      total > PAGE
        ? [
            h(
              "button",
              {
                type: "button",
                disabled: !view.offset,
                on: { click: () => change({ offset: Math.max(0, view.offset - PAGE) }) },
              },
              "Previous",
            ),
            h("span", null, `${count(view.offset + 1)}–${count(last)} of ${count(total)}`),
            h(
              "button",
              { type: "button", disabled: last >= total, on: { click: () => change({ offset: view.offset + PAGE }) } },
              "Next",
            ),
          ]
        : null,
      heldBack ? h("span", { class: "hint" }, "The order is held while you read.") : null,
    ),
  );
}

function show() {
  if (!shown) return;
  showVerdict();
  render(place("problems"), problems(worst.problems, "Problems"));
  showTools(place("tools"), view, tools, shown);
  showRows();
}

const tools = { choose, change, save };
const poll = new Poll(read, (state) => {
  showFreshness(place("fresh"), state);
  const isNew = lastFailure !== state.failure;
  lastFailure = state.failure;
  if (state.failure && isNew && (!shown || [401, 403].includes(state.failure.status)))
    render(
      place("rows"),
      failed(state.failure, () => poll.now()),
    );
});

fromAddress();
render(place("zone"), zoneSwitch());
showTools(place("tools"), view, tools, shown);
render(place("rows"), loading());
onZone(() => {
  render(place("zone"), zoneSwitch());
  showFreshness(place("fresh"), poll);
  show();
});
poll.now();
