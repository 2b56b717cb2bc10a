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

const WRITTEN = /^\s*(\d{4})-(\d\d?)-(\d\d?)(?:[T ]+(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?)?\s*$/;
const EXAMPLE = "2026-11-30 14:05:00";

// Return a field for a time, written as all others on the page: browsers' own fields follow their language.
export function timeField(name, ms) {
  const text = isTime(ms) ? moment(ms) : "";
  return h("input", {
    type: "text",
    name,
    class: "moment",
    autocomplete: "off",
    placeholder: EXAMPLE,
    value: text,
    "data-ms": isTime(ms) ? String(ms) : null, // an hour that comes twice has one text for two times
    "data-text": text,
    on: { input: (event) => readField(event.target) },
  });
}

// Read the time in a field, in the chosen zone; null if there is none. Text that is no time is refused by the form.
export function readField(input) {
  const { ms: before, text } = input.dataset;
  const ms = before && input.value === text ? Number(before) : parse(input.value);
  const isWrong = ms === null && input.value.trim() !== "";
  const wrong = WRITTEN.test(input.value) ? `There is no such time in ${zoneName()}` : `Write the time as ${EXAMPLE}`;
  input.setCustomValidity(isWrong ? wrong : "");
  return ms;
}

function parse(text) {
  const found = WRITTEN.exec(text);
  if (!found) return null;
  const [year, month, day_, hours, minutes, seconds] = found.slice(1, 7).map((part) => Number(part ?? 0));
  const parts = [year, month - 1, day_, hours, minutes, seconds, Number((found[7] ?? "").padEnd(3, "0"))];
  const ms = isUtc() ? Date.UTC(...parts) : new Date(...parts).getTime();
  const written = `${found[1]}-${two(month)}-${two(day_)} ${two(hours)}:${two(minutes)}:${two(seconds)}`;
  return moment(ms).slice(0, 19) === written ? ms : null; // there is no 31st of June, and a clock may go forward
}
