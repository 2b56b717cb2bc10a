// The range of a part: two fields for the keyboard, presets, and what the reader drew in a chart.

import { h } from "./dom.js";
import { duration } from "./format.js";
import { readField, time, timeField, zoneName } from "./time.js";

const PRESETS = [
  ["10 min", 600000],
  ["1 h", 3600000],
  ["6 h", 21600000],
  ["1 d", 86400000],
  ["7 d", 604800000],
];

// Return the fields of a range. `data` has `from` and `to`, as shown; `newest` is the end of what there is.
export function range(context, data, options = {}) {
  const params = context.params;
  const from = Number(params.from) || data.from;
  const to = Number(params.to) || data.to;
  const isFixed = Boolean(params.from || params.to);
  const newest = [options.newest, data.to].find(Number.isFinite);
  const onSubmit = (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const [start, end] = [readField(form.elements.from), readField(form.elements.to)];
    if (start !== null && end !== null && start >= end)
      form.elements.to.setCustomValidity("The end must be after the start");
    if (form.reportValidity()) context.set({ from: start, to: end, before: null });
  };
  const isPreset = PRESETS.some(([, length]) => Number(params.to) - Number(params.from) === length);
  const isOpen = context.local.isRangeOpen ?? (isFixed && !isPreset); // no button says which range that is
  const toggle = () => {
    context.local.isRangeOpen = !isOpen;
    context.show();
  };
  const preset = ([title, length]) => {
    const isOn =
      isFixed && params.to === undefined ? false : isFixed && Number(params.to) - Number(params.from) === length;
    return h(
      "button",
      {
        type: "button",
        "aria-pressed": String(isOn),
        disabled: !newest,
        on: { click: () => context.set({ from: newest - length, to: newest, before: null }) },
      },
      title,
    );
  };
  return h(
    "form",
    {
      class: isOpen ? "range open" : "range",
      novalidate: true, // the end is checked against the beginning first
      key: `range-${params.from ?? ""}-${params.to ?? ""}-${zoneName()}`,
      "aria-label": "Range",
      on: { submit: onSubmit },
    },
    h(
      "div",
      { class: "switch", role: "group", "aria-label": "Length of the range" },
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(!isFixed),
          on: { click: () => context.set({ from: null, to: null, before: null }) },
        },
        options.live ?? "Newest",
      ),
      PRESETS.map(preset),
    ),
    h(
      "button",
      { type: "button", class: "quiet on-narrow", "aria-expanded": String(isOpen), on: { click: toggle } },
      isOpen ? "Hide the times" : "Other times",
    ),
    h(
      "label",
      null,
      `${options.what ?? "Arrival"} from`,
      timeField("from", from),
    ),
    h(
      "label",
      null,
      `to (${zoneName()})`,
      timeField("to", to),
    ),
    h("button", { type: "submit" }, "Show"),
  );
}

// Return the row about a range that the reader drew: show it alone, correct it, leave it.
export function chosen(context) {
  const range_ = context.selected;
  if (!range_) return null;
  return h(
    "div",
    { class: "chosen", key: "chosen", role: "group", "aria-label": "Selected range" }, // no chart below is made anew
    h(
      "span",
      null,
      `${range_.what}: `,
      time(range_.from),
      " – ",
      time(range_.to),
      h("span", { class: "hint" }, ` ${duration(range_.to - range_.from)}`),
    ),
    h(
      "button",
      { type: "button", on: { click: () => context.set({ from: range_.from, to: range_.to, before: null }) } },
      "Show this range",
    ),
    context.canCorrect
      ? h("button", { type: "button", on: { click: () => context.correct(range_) } }, "Correct this range …")
      : null,
    h("button", { type: "button", class: "quiet", on: { click: () => context.select(null) } }, "Clear"),
  );
}

// Return the listener of a chart that selects a range of arrival. `toEvents` returns its event times, which a correction
// takes; null where they are unknown: then the server is asked for the late tuples'.
export function selecting(context, toEvents = () => null) {
  return (from, to) => context.select(from === null ? null : { what: "Arrival", from, to, events: toEvents(from, to) });
}

// Return the listener of a chart of event time; `endOf` returns up to where what begins at a time reaches.
export function selectingEvents(context, endOf = (to) => to) {
  return (from, to) =>
    context.select(from === null ? null : { what: "Event time", from, to, events: { from, to: endOf(to) } });
}

// Read what a correction would take of the late tuples that arrived in a range, or, for null, at any time.
export const uncorrected = (context, range) => context.read("uncorrected", { from: range?.from, to: range?.to });

// Return a range with the event times that a correction of it takes; of a range of arrival, those of its late tuples.
export async function withEvents(context, range) {
  if (range.events) return range;
  try {
    return { ...range, events: { ...(await uncorrected(context, range)), isOfLate: true } };
  } catch (failure) {
    return { ...range, events: { from: null, to: null, failure: failure.message, isOfLate: true } };
  }
}
