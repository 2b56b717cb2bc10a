// The fields of an action's form: what they begin with, how they look, and what they hold in the end.

import { h } from "./dom.js";
import { fromField, toField, zoneName } from "./time.js";
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
  const props = {
    datetime: { type: "datetime-local", step: "0.001", value: toField(toMs(value)) },
    integer: { type: "number", step: "1", value: value ?? "" },
  }[each.type] ?? { type: "text", value: value ?? "" };
  return h(
    "label",
    { class: "field" },
    `${each.label ?? each.name}${each.type === "datetime" ? ` (${zoneName()})` : ""}`,
    h("input", { name: each.name, autocomplete: "off", ...props }),
    help,
  );
}

// Read the fields of a form; what is empty is left out, so Airflow's own default holds. Times are ISO 8601, UTC.
export function read(fields, form) {
  const conf = {};
  for (const each of fields) {
    const input = form.elements.namedItem(each.name);
    if (each.type === "boolean") conf[each.name] = input.checked;
    else if (input.value === "") continue;
    else if (each.type === "datetime") conf[each.name] = new Date(fromField(input.value)).toISOString();
    else if (each.type === "integer") conf[each.name] = Number.parseInt(input.value, 10);
    else conf[each.name] = input.value;
  }
  return conf;
}
