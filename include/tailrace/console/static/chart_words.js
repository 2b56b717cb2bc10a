// The values of a chart as columns and as words.

import { duration, NONE, number, plural } from "./format.js";
import { moment } from "./time.js";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// Return columns of equal length, ascending in x, whatever the server sent; rows without an x are left out.
export function columns(series, x, names) {
  const at = Array.isArray(series?.[x]) ? series[x] : [];
  const order = at
    .map((_, index) => index)
    .filter((index) => isNumber(at[index]))
    .sort((one, other) => at[one] - at[other]);
  const read = (name) => order.map((index) => (isNumber(series[name]?.[index]) ? series[name][index] : null));
  return { [x]: order.map((index) => at[index]), ...Object.fromEntries(names.map((name) => [name, read(name)])) };
}

export function show(spec, series, value) {
  return value === null || value === undefined ? NONE : (series.show ?? spec.y?.show ?? number)(value);
}

export const showX = (spec, value) => (spec.x.kind === "duration" ? duration(value) : moment(value));

export function lastOf(values) {
  for (let index = values.length - 1; index >= 0; index -= 1) if (values[index] !== null) return values[index];
  return null;
}

// Return a chart in words, for those who do not see it.
export function inWords(spec) {
  const { values } = spec.x;
  const parts = [
    spec.title,
    spec.summary,
    `${plural(values.length, "point")} from ${showX(spec, values[0])} to ${showX(spec, values.at(-1))}`,
  ];
  for (const series of spec.series) {
    const known = series.values.filter(isNumber);
    if (!known.length) {
      parts.push(`${series.name}: no values`);
      continue;
    }
    const [least, most] = known.reduce(
      ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
      [Infinity, -Infinity],
    );
    parts.push(
      `${series.name}: least ${show(spec, series, least)}, greatest ${show(spec, series, most)}, last ${show(spec, series, lastOf(series.values))}`,
    );
  }
  for (const line of spec.lines ?? []) parts.push(`${line.label} at ${(spec.y?.show ?? number)(line.at)}`);
  if (spec.marks?.length) parts.push(`${plural(spec.marks.length, "marked change")}, listed on this page`);
  return `${parts.filter(Boolean).join(". ")}.`;
}
