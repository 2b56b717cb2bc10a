// The fields of an action's form: what they begin with, how they look, and what they hold in the end.

import { h } from "./dom.js";
import { plural } from "./format.js";
import { moment, readField, timeField, zoneName } from "./time.js";
import { longText } from "./ui.js";

const FIRST = /from|start|begin|since/i;
const LAST = /(^|_)to$|end|until/i;

// Return the values that the fields begin with: their own, or the event times of a range.
export function prefill(fields, range) {
  const values = Object.fromEntries(fields.map((each) => [each.name, each.value]));
  if (!range?.events) return values;
  const times = fields.filter((each) => each.type === "datetime");
  const first = times.find((each) => FIRST.test(each.name)) ?? times[0];
  const last = times.find((each) => LAST.test(each.name)) ?? times[1];
  if (first) values[first.name] = range.events.from;
  if (last && last !== first) values[last.name] = range.events.to;
  return values;
}

// Return where the event times in a form come from, in words; null where the reader drew none of arrival.
export function sourceOf(range) {
  const events = range?.events;
  if (events?.isEstimate)
    return (
      "You drew a range of arrival; a correction takes one of event time. The fields hold the event times of what arrived then. " +
      (events.from === null
        ? "From is empty, so it begins with the stream: how late those tuples came is not known."
        : "From is an estimate, by the longest delay on record: what came even later is not in it.")
    );
  if (!events?.isOfLate) return null;
  const arrival = "A correction takes a range of event time, and this one is of arrival.";
  if (events.failure) return `${arrival} The event times of what came late then are not known: ${events.failure}.`;
  return events.late
    ? `${arrival} The fields hold the event times of the ${plural(events.late, "late tuple")} that arrived then and that no correction covers.`
    : `${arrival} No late tuple that arrived then is uncorrected, so the fields are empty.`;
}

// Test whether a form holds no value.
export const isEmpty = (conf) => Object.keys(conf).length === 0;

// Return in words what a correction of everything would take; `found` is what the server counted, or a failure.
export function takesAll(found) {
  if (found instanceof Error) return `How many late tuples no correction covers is not known: ${found.message}.`;
  return found.late
    ? `No correction covers ${plural(found.late, "late tuple")}, of event times ${moment(found.from)} to ${moment(found.to)}.`
    : "No late tuple lacks a correction.";
}

const toMs = (value) => (typeof value === "string" && value ? Date.parse(value) : value);

export function field(each, value) {
  const help = each.help ? h("span", { class: "hint" }, longText(each.help, 400)) : null;
  if (each.type === "boolean") {
    return h(
      "label",
      { class: "field check" },
      h("input", { type: "checkbox", name: each.name, checked: Boolean(value) }),
      h("span", null, each.label ?? each.name),
      help,
    );
  }
  const props = each.type === "integer" ? { type: "number", step: "1" } : { type: "text" };
  return h(
    "label",
    { class: "field" },
    `${each.label ?? each.name}${each.type === "datetime" ? ` (${zoneName()})` : ""}`,
    each.type === "datetime"
      ? timeField(each.name, toMs(value))
      : h("input", { name: each.name, autocomplete: "off", value: value ?? "", ...props }),
    help,
  );
}

// Read the fields of a form; what is empty is left out, so Airflow's own default holds. Times are ISO 8601, UTC.
export function read(fields, form) {
  const conf = {};
  for (const each of fields) {
    const input = form.elements.namedItem(each.name);
    if (each.type === "boolean") conf[each.name] = input.checked;
    else if (input.value.trim() === "") continue;
    else if (each.type === "datetime") conf[each.name] = new Date(readField(input)).toISOString();
    else if (each.type === "integer") conf[each.name] = Number.parseInt(input.value, 10);
    else conf[each.name] = input.value;
  }
  return conf;
}
