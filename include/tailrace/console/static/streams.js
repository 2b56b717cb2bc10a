// The page of all streams: what is ill and why first, then everything, sorted and searched by the server.

import { get, queryAddress } from "./api.js";
import { announce, h, isReading, render } from "./dom.js";
import { count, duration, plural, share } from "./format.js";
import { recall, remember } from "./memory.js";
import { Poll, showFreshness } from "./poll.js";
import { badge, isIll, promiseBadge, toneOfRow, whyIll } from "./shapes.js";
import { table } from "./table.js";
import { brief, onZone, time, zoneSwitch } from "./time.js";
import { empty, failed, loading, longText, problems } from "./ui.js";

const PAGE = 50;
const place = (id) => document.getElementById(id);
const view = { filter: recall("filter", "all"), mine: recall("search", null), search: "", sort: null, offset: 0 };
let worst = null; // the first page, the worst first
let shown = null; // the rows of the table
let lastFailure = null;
let heldBack = false;

function applyFilter() {
  const mine = view.filter === "mine" && view.mine ? view.mine : { search: "", sort: null };
  Object.assign(view, { search: mine.search ?? "", sort: mine.sort ?? null, offset: 0 });
}

function fromAddress() {
  const params = new URLSearchParams(window.location.search);
  if (["all", "attention", "mine"].includes(params.get("filter"))) view.filter = params.get("filter");
  applyFilter();
  if (params.has("search")) view.search = params.get("search");
  if (params.has("sort")) view.sort = params.get("sort");
  view.offset = Math.max(0, Number.parseInt(params.get("offset") ?? "0", 10) || 0);
}

function toAddress() {
  const params = new URLSearchParams();
  if (view.filter !== "all") params.set("filter", view.filter);
  if (view.search) params.set("search", view.search);
  if (view.sort) params.set("sort", view.sort);
  if (view.offset) params.set("offset", view.offset);
  const text = params.toString();
  window.history.replaceState(null, "", text ? `?${text}` : window.location.pathname);
}

async function read(signal) {
  const isPlain = !view.search && !view.sort && !view.offset;
  const [first, rows] = await Promise.all([
    get("streams", { offset: 0, limit: PAGE }, signal),
    isPlain ? null : get("streams", { search: view.search, sort: view.sort, offset: view.offset, limit: PAGE }, signal),
  ]);
  if (signal.aborted) return;
  worst = first;
  const held = hold(rows ?? first);
  shown = held.answer;
  heldBack = held.isHeld;
  show();
}

// Keep the order of the rows while the reader points at them; what came new stands below.
function hold(answer) {
  if (!shown || !isReading(place("rows")) || view.isNew) { view.isNew = false; return { answer, isHeld: false }; }
  const order = new Map(shown.queries.map((row, index) => [row.name, index]));
  const queries = [...(answer.queries ?? [])].sort((one, other) => (order.get(one.name) ?? 1e9) - (order.get(other.name) ?? 1e9));
  return { answer: { ...answer, queries }, isHeld: queries.some((row, index) => row.name !== answer.queries[index].name) };
}

function change(values) {
  Object.assign(view, values, { isNew: true });
  toAddress();
  showTools();
  poll.now();
}

const columns = [
  { title: "Stream", sort: "name", first: "up", class: "name", show: (row) => [
    row.state?.word === "refused" && !row.kind ? longText(row.name, 80) : h("a", { href: queryAddress(row.name) }, longText(row.name, 80)),
    h("span", { class: "hint" }, " ", row.kind ?? (row.file === null ? "file gone" : "")) ] },
  { title: "State", sort: "state", class: "words", show: (row) => [badge(row.state?.word, row.state?.tone), row.state?.why ? h("span", { class: "why" }, longText(row.state.why, 140)) : null] },
  { title: "Promise", sort: "promise", class: "words", hint: "Whether the measured error is within the promised one", show: (row) => [promiseBadge(row.promise), row.promise?.detail ? h("span", { class: "why" }, longText(row.promise.detail, 90)) : null] },
  { title: "Behind", sort: "behind_ms", number: true, hint: "Wall clock less the arrival time that is committed", show: (row) => duration(row.behind_ms) },
  { title: "Unread rows", sort: "rows_left", number: true, hint: "Rows known in the source that no batch has read", show: (row) => count(row.rows_left) },
  { title: "K", sort: "k_ms", number: true, hint: "Slack: how long a window waits beyond its end", show: (row) => duration(row.k_ms) },
  { title: "Coverage", sort: "coverage", number: true, hint: "Share of the tuples that windows held when they closed", show: (row) => share(row.coverage) },
  { title: "Late, 1 h", sort: "late_hour", number: true, show: (row) => count(row.late_hour) },
  { title: "Quarantined, 1 h", sort: "quarantined_hour", number: true, show: (row) => count(row.quarantined_hour) },
  { title: "Answers", sort: "answers", number: true, show: (row) => count(row.answers) },
  { title: "Last correction", sort: "last_correction", show: (row) => (row.last_correction ? time(row.last_correction.at, brief) : "–") },
  { title: "Starts, 1 d", sort: "starts", number: true, hint: "How often the driver started in the last day", show: (row) => count(row.starts) },
];

const SEVERITY = { bad: 0, warn: 1, idle: 2, good: 3 };
const illOf = (answer) => (answer?.queries ?? []).filter(isIll).sort((one, other) => SEVERITY[toneOfRow(one)] - SEVERITY[toneOfRow(other)]);

function showVerdict() {
  const ill = illOf(worst);
  const total = worst.total ?? worst.queries?.length ?? 0;
  const some = ill.length === PAGE && total > PAGE ? `${PAGE} or more` : count(ill.length);
  document.title = ill.length ? `(${some}) Streams · tailrace` : "Streams · tailrace";
  const words = !total ? "No streams are declared yet."
    : ill.length ? `${some} of ${plural(total, "stream")} ${ill.length === 1 ? "needs" : "need"} attention.` : `All well: ${plural(total, "stream")}, none needs attention.`;
  announce(words);
  const cards = view.filter === "attention" ? [] : ill.slice(0, 6).map((row) =>
    h("article", { key: row.name, class: toneOfRow(row) },
      h("div", { class: "row" }, badge(row.state?.word, row.state?.tone), row.promise?.state === "broken" ? badge("promise broken", "bad") : null),
      h("h3", null, h("a", { href: queryAddress(row.name) }, longText(row.name, 80))),
      h("p", null, longText(whyIll(row) || "The server names no reason.", 280)),
      h("p", { class: "facts" },
        row.behind_ms === null || row.behind_ms === undefined ? null : h("span", null, `${duration(row.behind_ms)} behind`),
        row.rows_left ? h("span", null, `${plural(row.rows_left, "row")} unread`) : null,
        row.late_hour ? h("span", null, `${count(row.late_hour)} late in 1 h`) : null,
        row.quarantined_hour ? h("span", null, `${count(row.quarantined_hour)} quarantined in 1 h`) : null,
        row.starts > 1 ? h("span", null, `${plural(row.starts, "start")} in 1 d`) : null)));
  render(place("verdict"), h("p", { class: "verdict" }, words),
    cards.length ? h("div", { class: "ill" }, cards) : null,
    ill.length > 6 && cards.length ? h("p", { class: "pager" }, h("button", { type: "button", on: { click: () => choose("attention") } }, `Show all ${some}`)) : null);
}

function choose(filter) {
  view.filter = filter;
  remember("filter", filter);
  applyFilter();
  change({});
}

function showTools() {
  const option = (value, text, isOff) => h("button", { type: "button", "aria-pressed": String(view.filter === value), disabled: isOff, on: { click: () => choose(value) } }, text);
  let wait = null;
  const onInput = (event) => {
    const search = event.target.value;
    clearTimeout(wait);
    wait = setTimeout(() => change({ search, offset: 0 }), 250);
  };
  const isSaved = view.mine && view.mine.search === view.search && view.mine.sort === view.sort;
  const save = () => {
    view.mine = { search: view.search, sort: view.sort };
    view.filter = "mine";
    remember("search", view.mine);
    remember("filter", "mine");
    change({});
    announce("Search saved");
  };
  render(place("tools"), h("div", { class: "row" },
    h("div", { class: "switch", role: "group", "aria-label": "Filter" }, option("all", "All"), option("attention", "Needs attention"), option("mine", "My search", !view.mine)),
    h("input", { type: "search", key: "search", class: "grow", placeholder: "Search by name, kind, state", "aria-label": "Search streams", value: view.search, on: { input: onInput } }),
    h("label", { class: "row" }, h("span", { class: "hint" }, "Sort"), h("select", { "aria-label": "Sort by", on: { change: (event) => change({ sort: event.target.value || null, offset: 0 }) } },
      h("option", { value: "", selected: !view.sort }, "The worst first"),
      columns.filter((column) => column.sort).flatMap((column) => [["", "▲"], ["-", "▼"]].map(([sign, arrow]) =>
        h("option", { value: `${sign}${column.sort}`, selected: view.sort === `${sign}${column.sort}` }, `${column.title} ${arrow}`))))),
    h("button", { type: "button", disabled: isSaved || (!view.search && !view.sort), on: { click: save } }, isSaved ? "Search saved" : "Save as my search")));
  const field = place("tools").querySelector("input");
  if (document.activeElement !== field) field.value = view.search;
}

function showRows() {
  const isAttention = view.filter === "attention" && !view.search && !view.sort;
  const rows = isAttention ? illOf(worst) : shown.queries ?? [];
  const total = isAttention ? rows.length : shown.total ?? rows.length;
  const none = view.search ? `No stream matches “${view.search}”.` : isAttention ? "No stream needs attention." : "No streams are declared yet. A query file in the directory of queries makes one; it appears here as soon as Airflow has read it.";
  const last = view.offset + rows.length;
  render(place("rows"),
    rows.length ? table(columns, rows, { key: (row) => row.name, caption: "All streams", sort: view.sort, onSort: (sort) => change({ sort, offset: 0 }), mark: (row) => ({ bad: "wrong", warn: "marked" })[toneOfRow(row)] }) : empty(none),
    h("p", { class: "pager" },
      total > PAGE && !isAttention ? [
        h("button", { type: "button", disabled: !view.offset, on: { click: () => change({ offset: Math.max(0, view.offset - PAGE) }) } }, "Previous"),
        h("span", null, `${count(view.offset + 1)}–${count(last)} of ${count(total)}`),
        h("button", { type: "button", disabled: last >= total, on: { click: () => change({ offset: view.offset + PAGE }) } }, "Next")] : null,
      heldBack ? h("span", { class: "hint" }, "The order is held while you read.") : null));
}

function show() {
  if (!shown) return;
  showVerdict();
  render(place("problems"), problems(worst.problems, "Problems"));
  showTools();
  showRows();
}

const poll = new Poll(read, (state) => {
  showFreshness(place("fresh"), state);
  const isNew = lastFailure !== state.failure;
  lastFailure = state.failure;
  if (state.failure && isNew && (!shown || [401, 403].includes(state.failure.status))) render(place("rows"), failed(state.failure, () => poll.now()));
});

fromAddress();
render(place("zone"), zoneSwitch());
showTools();
render(place("rows"), loading());
onZone(() => { render(place("zone"), zoneSwitch()); showFreshness(place("fresh"), poll); show(); });
poll.now();
