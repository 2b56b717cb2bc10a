// Pieces that all pages share: sections, figures, problems, long texts, links to Airflow.

import { AIRFLOW, goToLogin, goTop, loginAddress } from "./api.js";
import { announce, h } from "./dom.js";
import { NONE, count, duration } from "./format.js";
import { day, inZone, time } from "./time.js";
import { explained } from "./words.js";

const SHORT = 160;
const LONG = 20000;
const SENT = 2000; // characters of a record or a value that the server sends; how many there are in all follows them
const IN_ALL = /… \(([\d,]+) characters in all\)$/;

// Return a text short enough for a link or a button.
export const cut = (text, limit = 80) =>
  String(text ?? "–").length > limit ? `${String(text).slice(0, limit)}…` : String(text ?? "–");

// Return a text of any length; a long one is cut, and can be opened and copied.
export function longText(text, limit = SHORT) {
  const whole = String(text ?? "–");
  if (whole.length <= limit) return whole;
  const inAll = whole.length > SENT ? IN_ALL.exec(whole)?.[1] : null;
  const size = `${inAll ?? count([...whole].length)} characters`;
  return h(
    "details",
    { class: "long" },
    h("summary", null, h("span", { class: "cut" }, `${whole.slice(0, limit)}…`), h("span", { class: "hint" }, size)),
    h("div", { class: "whole" }, whole.slice(0, LONG), whole.length > LONG ? "…" : null),
    copyButton(() => whole, inAll ? "Copy the start" : "Copy all"),
  );
}

// Return a sentence of the server; records, keys and files are no sentences, and are shown as they are.
export const prose = (text, limit = SHORT) => longText(inZone(text ?? "–"), limit);

export function copyButton(read, title) {
  const click = async (event) => {
    const button = event.currentTarget;
    const done = await copy(read());
    button.textContent = done ? "Copied" : "Not copied: the browser forbids it";
    announce(button.textContent);
    setTimeout(() => {
      button.textContent = title;
    }, 2000);
  };
  return h("button", { type: "button", class: "quiet", on: { click } }, title);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = h("textarea", { class: "offscreen", readonly: true });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy"); // pages without TLS have no clipboard
    field.remove();
    return done;
  }
}

// Return key figures: pairs of a name and a value.
const isNone = (value) => (Array.isArray(value) ? value.filter((each) => each !== null).every(isNone) : value === NONE);

export function figures(pairs) {
  const shown = pairs.filter(Boolean);
  if (!shown.length) return null;
  return h(
    "dl",
    { class: "figures" },
    shown.map(([name, value, hint]) =>
      h("div", { class: isNone(value) ? "void" : null }, h("dt", null, explained(name, hint)), h("dd", null, value)),
    ),
  );
}

export function section(title, ...children) {
  return h("section", { class: "block", key: title }, h("h3", null, title), children);
}

export const empty = (text) => h("p", { class: "empty" }, text);
export const note = (text) => (text ? h("p", { class: "note" }, inZone(text)) : null);

export function loading() {
  return h("div", { class: "loading", "aria-hidden": "true" }, h("span"), h("span"), h("span"));
}

// Return problems: where, what happened, what to do.
export function problems(list, title) {
  const rows = (list ?? []).map((problem) =>
    h(
      "li",
      null,
      h("strong", null, prose(problem?.fault ?? "unknown fault", 400)),
      problem?.where ? h("span", { class: "where" }, longText(problem.where, 200)) : null,
      problem?.remedy ? h("span", { class: "remedy" }, prose(problem.remedy, 600)) : null,
    ),
  );
  return rows.length ? h("div", { class: "problems" }, title ? h("h2", null, title) : null, h("ul", null, rows)) : null;
}

// Return the damaged tables without which a panel shows the rest.
export function damages(data) {
  const list = data?.damaged ?? [];
  if (!list.length) return null;
  return h(
    "div",
    { class: "failed", role: "group", "aria-label": "Damaged" },
    h("p", null, h("strong", null, "A table is damaged: what needs it is missing here, and the rest is shown.")),
    problems(list),
  );
}

const OLD_MS = 10000; // the page asks every five seconds

// Whether the facts of a query's tables are older than the page says that it is.
export const isOld = (row) => row?.facts_age_ms > OLD_MS;

// Return a figure with its age, where that is greater than the page's: of tables' facts, or of a driver's last report.
export const aged = (age, ...figure) =>
  age > OLD_MS ? [...figure, h("span", { class: "hint age" }, ` ${duration(Math.round(age / 1000) * 1000)} old`)] : figure;

// Return how far behind a stream is; of a source that ends long ago, and is read, its end; while no driver reads it, more
// may have come.
export const behind = (row) =>
  typeof row.data_ends === "number"
    ? [row.rows_left === 0 ? "data ends " : "read to ", time(row.data_ends, day)]
    : duration(row.behind_ms);

// Return why a field of a panel's answer is not known; null where no damaged table is to blame.
export const unread = (data, field) =>
  (data?.damaged ?? []).some((each) => (each.fields ?? []).includes(field))
    ? "Not known: a table that it needs is damaged, as said above."
    : null;

// Return a failed request as problems, with a way out of it.
export function failed(failure, retry) {
  const list = failure.problems ?? [
    { where: "page", fault: String(failure.message ?? failure), remedy: "Reload the page" },
  ];
  if (failure.status === 401) goToLogin();
  return h(
    "div",
    { class: "failed", role: "group", "aria-label": "Problem" },
    problems(list),
    h(
      "p",
      { class: "row" },
      failure.status === 401 ? airflowLink(loginAddress(), "Log in to Airflow") : null,
      retry && failure.status !== 401 ? h("button", { type: "button", on: { click: retry } }, "Try again") : null,
      failure.isTemporary ? h("span", { class: "hint" }, "The page also tries by itself.") : null,
    ),
  );
}

// Return a link to one of Airflow's pages. In its frame the whole window goes there.
export function airflowLink(address, text) {
  const click = (event) => {
    if (window.top === window || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    goTop(address);
  };
  return h("a", { href: address, target: "_top", on: { click } }, text);
}

export const dagLink = (dag, text) => airflowLink(new URL(`dags/${encodeURIComponent(dag)}`, AIRFLOW).href, text);
