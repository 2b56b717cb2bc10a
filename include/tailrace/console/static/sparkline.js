// A small chart in a line of text: its course alone, with its newest value beside it, and its range in words.

import { h, s } from "./dom.js";

const WIDTH = 72;
const HEIGHT = 20;
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// Return the path of a line; it breaks where a value is missing. The base is 0, so that height compares.
function pathOf(at, values, most) {
  const [start, end] = [at[0], at.at(-1)];
  const x = (ms) => (end > start ? ((ms - start) / (end - start)) * WIDTH : WIDTH);
  const y = (value) => HEIGHT - 1 - (most ? (value / most) * (HEIGHT - 2) : 0);
  let path = "";
  let isBroken = true;
  values.forEach((value, place) => {
    if (!isNumber(value)) isBroken = true;
    else {
      path += `${isBroken ? "M" : "L"}${x(at[place]).toFixed(1)} ${y(value).toFixed(1)}`;
      isBroken = false;
    }
  });
  return path;
}

// Return a chart of `values` at `at`, ms, or null without two of them; `show` writes a value.
function sparkline(name, at, values, show) {
  const known = (values ?? []).filter(isNumber);
  if (known.length < 2) return null;
  const most = Math.max(...known);
  const words = `${name} in the last hour: at most ${show(most)}, at least ${show(Math.min(...known))}`;
  return h(
    "span",
    { class: "spark", title: words },
    s(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img", "aria-label": words },
      s("path", { d: pathOf(at, values, most) }),
    ),
  );
}

// Return the course of a row's figure in the last hour; null for a stream that did not run live.
export const course = (row, name, figure, show) =>
  row.recent ? sparkline(name, row.recent.at, row.recent[figure], show) : null;
