// Labels of the axes: times by their distance, without AM and PM; values in the unit of the chart.

import { duration, exactDuration, exactShare, number, share } from "./format.js";
import { isUtc } from "./time.js";

const DAY = 86400000;
const two = (value) => String(value).padStart(2, "0");

// Return the labels of a time axis; the date stands below the first label and below each midnight.
export function timeLabels(splits, step) {
  let day = null;
  return splits.map((ms) => {
    if (ms === null) return null;
    const at = new Date(ms);
    const read = (part) => at[`get${isUtc() ? "UTC" : ""}${part}`]();
    const date = `${read("FullYear")}-${two(read("Month") + 1)}-${two(read("Date"))}`;
    if (step >= DAY) return date.slice(5);
    let label = `${two(read("Hours"))}:${two(read("Minutes"))}`;
    if (step < 60000) label += `:${two(read("Seconds"))}`;
    if (step < 1000) label += `.${String(read("Milliseconds")).padStart(3, "0")}`;
    const isNew = date !== day;
    day = date;
    return isNew ? `${label}\n${date}` : label;
  });
}

const STEPS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  1000,
  2000,
  5000,
  10000,
  15000,
  30000,
  60000,
  120000,
  300000,
  600000,
  900000,
  1800000,
  3600000,
  7200000,
  10800000,
  21600000,
  43200000,
  DAY,
  2 * DAY,
  7 * DAY,
  14 * DAY,
  28 * DAY,
];

// The distances between ticks of an axis of durations, in milliseconds.
export const DURATION_STEPS = STEPS.concat([60, 120, 365].map((days) => days * DAY));

const EXACT = new Map([
  [duration, exactDuration],
  [share, exactShare],
]);

// Return the labels of an axis of values: in full where two of them would be equal else.
export function valueLabels(splits, show) {
  const labelled = (write) => splits.map((value) => (value === null ? null : write(value)));
  const labels = labelled(show);
  const known = labels.filter((label) => label !== null);
  return new Set(known).size < known.length ? labelled(EXACT.get(show) ?? number) : labels;
}

// The distances between ticks of an axis of counts: there is no half of a row.
export const COUNT_STEPS = Array.from({ length: 14 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

// Return the width that the labels of a vertical axis need.
export function widthOf(plot, labels, axis) {
  const longest = (labels ?? []).reduce((most, label) => (label && label.length > most.length ? label : most), "");
  if (!longest) return 48;
  plot.ctx.font = plot.axes[axis].font[0];
  return Math.max(48, Math.ceil(plot.ctx.measureText(longest).width / devicePixelRatio) + 14);
}
