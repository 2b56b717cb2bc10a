// Times in the browser's zone or in UTC: one switch for all pages, remembered.

import { h } from "./dom.js";
import { recall, remember } from "./memory.js";

const listeners = new Set();
let zone = recall("zone", "local") === "utc" ? "utc" : "local";

export const isUtc = () => zone === "utc";
export const onZone = (listener) => listeners.add(listener);

export function zoneName() {
  return isUtc() ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone || "browser's zone";
}

function setZone(chosen) {
  zone = chosen;
  remember("zone", chosen);
  for (const listener of listeners) listener();
}

const two = (value) => String(value).padStart(2, "0");
const isTime = (ms) => typeof ms === "number" && Number.isFinite(ms) && Math.abs(ms) <= 8.64e15;

// Return a time as text: date and time of day, with milliseconds only where there are some.
export function moment(ms, utc = isUtc()) {
  if (!isTime(ms)) return "–";
  const at = new Date(ms);
  const read = (part) => at[`get${utc ? "UTC" : ""}${part}`]();
  const date = `${read("FullYear")}-${two(read("Month") + 1)}-${two(read("Date"))}`;
  const millis = read("Milliseconds");
  const fraction = millis ? `.${String(millis).padStart(3, "0")}` : "";
  return `${date} ${two(read("Hours"))}:${two(read("Minutes"))}:${two(read("Seconds"))}${fraction}`;
}

// Return a time as short as it can be read: today without its date, another day without its seconds.
export function brief(ms) {
  const text = moment(ms);
  if (text.length < 19) return text;
  return text.slice(0, 10) === moment(Date.now()).slice(0, 10) ? text.slice(11, 19) : text.slice(0, 16);
}

export const day = (ms) => moment(ms).slice(0, 10);

// A time in ISO 8601 within a sentence; not within a name, and not the value of an option that is to be typed.
const ISO = /(?<![\w/.-]|--[\w-]+[ =]["']?)\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)(?![\w/-]|\.\w)/g;

// Return a sentence of the server with its times in the chosen zone, as all others on the page.
export function inZone(text) {
  return String(text ?? "").replace(ISO, (iso) => (isTime(Date.parse(iso)) ? moment(Date.parse(iso)) : iso));
}

// Return a time as a node; pointing at it shows the time in the other zone.
export function time(ms, write = moment) {
  if (!isTime(ms)) return h("span", { class: "none" }, "–");
  const other = isUtc() ? `${moment(ms, false)} in your zone` : `${moment(ms, true)} UTC`;
  return h("time", { datetime: new Date(ms).toISOString(), title: `${moment(ms)} ${zoneName()}, ${other}` }, write(ms));
}

// Return the switch between the zones.
export function zoneSwitch() {
  const choice = (value, text) =>
    h("button", { type: "button", "aria-pressed": String(zone === value), on: { click: () => setZone(value) } }, text);
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const local = !own || /^(Etc\/)?(UTC|GMT|Zulu|Universal)$/.test(own) ? "local" : own;
  return h(
    "div",
    { class: "switch", role: "group", "aria-label": "Time zone" },
    choice("local", local),
    choice("utc", "UTC"),
  );
}

// Return the value of a datetime-local field, and read it back.
export function toField(ms) {
  return isTime(ms) ? moment(ms).replace(" ", "T") : "";
}

export function fromField(text) {
  if (!text) return null;
  const ms = Date.parse(isUtc() ? `${text}Z` : text);
  return Number.isNaN(ms) ? null : ms;
}
