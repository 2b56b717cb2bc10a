// Answers, the newest first: as streamed beside as corrected, the share that was right, and numbers as charts.

import { chart, columns } from "../chart.js";
import { h, isReading } from "../dom.js";
import { count, duration, number, plural, share } from "../format.js";
import { chosen, range, selectingEvents } from "../range.js";
import { badge } from "../shapes.js";
import { table } from "../table.js";
import { time } from "../time.js";
import { empty, longText, unread } from "../ui.js";

// Return a value of an answer by its column's type.
export function valueOf(value, type) {
  if (value === null || value === undefined) return "–";
  if (type === "time") return time(Number(value));
  if (typeof value === "number") return number(value);
  if (typeof value === "string" && /^\S{1,12}$/.test(value)) return h("span", { class: "nowrap" }, value); // an id, whole
  return longText(typeof value === "string" ? value : JSON.stringify(value), 100);
}

function changed(row, place, type) {
  const { streamed, latest } = row;
  const [was, now] = [streamed?.[place], latest?.[place]];
  if (row.is_changed && streamed && latest && JSON.stringify(was) !== JSON.stringify(now)) {
    return [
      h("span", { class: "was" }, valueOf(was, type)),
      h("span", { "aria-label": "corrected to" }, " → "),
      h("strong", null, valueOf(now, type)),
    ];
  }
  if (streamed && !latest) return h("span", { class: "was" }, valueOf(was, type));
  return valueOf(latest ? now : was, type);
}

// Return the state of an answer: the worst that is true of it. One that lacks late tuples may be wrong as it is.
function stateOf(row, isUnread) {
  if (row.latest === null || row.latest === undefined) return badge("retracted", "bad");
  if (row.coverage < 1 && row.coverage !== null) return badge("lacks late tuples", "warn");
  if (isUnread) return badge("late tuples not known", "idle");
  if (row.streamed === null || row.streamed === undefined) return badge("added by correction", "good");
  return row.is_changed ? badge("corrected", "good") : badge("as streamed", "good");
}

// Give each row a name of its own: the rows of a ranking have one id.
function named(rows) {
  const seen = new Map();
  return rows.map((row) => {
    const before = seen.get(row.id) ?? 0;
    seen.set(row.id, before + 1);
    return { ...row, place: `${row.id} ${before}` };
  });
}

// Keep the rows still while the reader points at them; return them, and how many newer ones wait.
function still(data, context) {
  const { local } = context;
  const place = JSON.stringify(context.params);
  const rows = named(data.rows ?? []);
  const isHeld = local.place === place && local.rows?.length && isReading(document.querySelector("[data-answers]"));
  if (!isHeld) {
    Object.assign(local, { rows, place });
    return { rows, newer: 0 };
  }
  const now = new Map(rows.map((row) => [row.place, row]));
  const old = new Set(local.rows.map((row) => row.place));
  const newer = rows.findIndex((row) => old.has(row.place));
  local.rows = local.rows.map((row) => now.get(row.place) ?? row);
  return { rows: local.rows, newer: newer < 0 ? rows.length : newer };
}

function keys(data, context) {
  const list = data.keys ?? [];
  if (!list.length && !context.params.key) return null;
  const onSubmit = (event) => {
    event.preventDefault();
    context.set({ key: event.currentTarget.elements.key.value || null, before: null });
  };
  return h(
    "form",
    { class: "range", key: `key-${context.params.key ?? ""}`, "aria-label": "Key", on: { submit: onSubmit } },
    h(
      "label",
      null,
      "Key",
      h("input", {
        type: "search",
        name: "key",
        list: "keys",
        autocomplete: "off",
        value: context.params.key ?? "",
        placeholder: "all keys",
      }),
    ),
    h(
      "datalist",
      { id: "keys" },
      list.filter((key) => String(key).length <= 400).map((key) => h("option", { value: key })),
    ),
    h("button", { type: "submit" }, "Show key"),
    context.params.key
      ? h(
          "button",
          { type: "button", class: "quiet", on: { click: () => context.set({ key: null, before: null }) } },
          "All keys",
        )
      : null,
  );
}

function charts(data, context) {
  const at = data.chart?.at ?? [];
  const x = { values: at, name: "Event time" };
  const select = { onRange: selectingEvents(context), selected: context.selected };
  const list = (data.chart?.series ?? []).slice(0, 6).map((series) => {
    const values = columns({ at, streamed: series.streamed, latest: series.latest }, "at", ["streamed", "latest"]);
    return chart({
      title: series.name,
      x: { ...x, values: values.at },
      ...select,
      sync: "events",
      height: 200,
      summary: "As streamed beside the latest version",
      series: [
        { name: "as streamed", values: values.streamed, style: "dash", tone: "warn" },
        { name: "latest", values: values.latest, tone: "ink" },
      ],
    });
  });
  const right = columns(data.right, "at", ["share"]);
  list.push(
    chart({
      title: "Share of answers that were right",
      x: { values: right.at, name: "Arrival" },
      height: 200,
      summary: "By arrival time: it climbs as corrections come",
      y: { show: share, max: 1 },
      lines: [{ at: 1, label: "100 %", tone: "good" }],
      series: [{ name: "right by then", values: right.share }],
      none: unread(data, "right") ?? "No answers to measure in this range.",
    }),
  );
  return list;
}

const chartEnd = (data) => data.chart?.at?.at(-1);

function show(data, context) {
  const { rows, newer } = still(data, context);
  const shape = data.columns ?? [];
  const fixed = shape.map((column, place) => ({
    title: column.name,
    number: column.type === "number",
    show: (row) => changed(row, place, column.type),
  }));
  const { params, summary } = context;
  const hasVersions = summary?.parts?.includes("answer") !== false;
  const newest = summary?.frontier ?? chartEnd(data);
  return [
    h(
      "div",
      { class: "row" },
      range(context, { from: data.chart?.at?.[0], to: chartEnd(data) }, { what: "Event time", newest }),
      keys(data, context),
    ),
    chosen(context),
    h("div", { class: "grid" }, charts(data, context)),
    h(
      "div",
      { "data-answers": true },
      rows.length
        ? table(
            [
              ...fixed,
              { title: "State", show: (row) => stateOf(row, Boolean(unread(data, "rows"))) },
              {
                title: "Coverage",
                number: true,
                hint: "Share of the tuples so far that the latest version has",
                show: (row) => share(row.coverage),
              },
              { title: "Tuples", number: true, show: (row) => count(row.tuples) },
              { title: "K", number: true, show: (row) => duration(row.k_ms) },
              {
                title: "As of",
                hint: "Arrival time before which its content had come",
                show: (row) => time(row.as_of),
              },
              ...(hasVersions
                ? [{ title: "Why", class: "nowrap", show: (row) => context.link("answer", { id: row.id }, "Versions") }]
                : []),
            ],
            rows,
            {
              key: (row) => row.place,
              caption: "Answers, the newest first",
              mark: (row) => (row.is_changed || !row.latest ? "marked" : ""),
            },
          )
        : empty(
            params.key
              ? "No answers of this key in this range."
              : "No answers in this range yet: a window answers when the frontier passes its end.",
          ),
      h(
        "p",
        { class: "pager" },
        params.before
          ? h("button", { type: "button", on: { click: () => context.set({ before: null }) } }, "Newest")
          : null,
        data.next
          ? h("button", { type: "button", on: { click: () => context.set({ before: data.next }) } }, "Older")
          : null,
        newer > 0
          ? h(
              "button",
              {
                type: "button",
                on: {
                  click: () => {
                    context.local.rows = null;
                    context.show();
                  },
                },
              },
              `Show ${plural(newer, "newer answer")}`,
            )
          : null,
      ),
    ),
  ];
}

export default { title: "Answers", request: ["from", "to", "key", "limit", "before"], show };
