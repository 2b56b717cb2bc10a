// A chart as a figure: title, legend with values, the drawing, a summary in words, and the same as a table.

import { announce, h, render, s, widget } from "./dom.js";
import { duration, NONE, number, plural } from "./format.js";
import { dataOf, DASHES, draw } from "./plot.js";
import { table } from "./table.js";
import { moment, time } from "./time.js";
import { empty } from "./ui.js";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// Return columns of equal length, ascending in x, whatever the server sent; rows without an x are left out.
export function columns(series, x, names) {
  const at = Array.isArray(series?.[x]) ? series[x] : [];
  const order = at.map((_, index) => index).filter((index) => isNumber(at[index])).sort((one, other) => at[one] - at[other]);
  const read = (name) => order.map((index) => (isNumber(series[name]?.[index]) ? series[name][index] : null));
  return { [x]: order.map((index) => at[index]), ...Object.fromEntries(names.map((name) => [name, read(name)])) };
}

// Return a chart, or a sentence where there is nothing to draw.
//   title, summary, x: {values, kind: "time" | "duration", range, name}, y: {show, zero, min, max, isDown},
//   series: [{name, values, style, tone, show}], lines: [{at, label, tone}], bands: [{from, to, tone}],
//   marks: [{at, label}], onRange(from, to), selected: {from, to}, sync, none
export function chart(spec) {
  const hasValues = spec.series.some((series) => series.values.some(isNumber));
  if (!hasValues) return h("figure", { class: "chart", key: spec.title }, h("figcaption", null, h("h4", null, spec.title)), empty(spec.none ?? "No values in this range."));
  return widget(create, spec, { class: "figure", key: spec.title });
}

function show(spec, series, value) {
  return value === null || value === undefined ? NONE : (series.show ?? spec.y?.show ?? number)(value);
}

const showX = (spec, value) => (spec.x.kind === "duration" ? duration(value) : moment(value));

function lastOf(values) {
  for (let index = values.length - 1; index >= 0; index -= 1) if (values[index] !== null) return values[index];
  return null;
}

// Return a chart in words, for those who do not see it.
export function inWords(spec) {
  const { values } = spec.x;
  const parts = [spec.title, spec.summary, `${plural(values.length, "point")} from ${showX(spec, values[0])} to ${showX(spec, values.at(-1))}`];
  for (const series of spec.series) {
    const known = series.values.filter(isNumber);
    if (!known.length) { parts.push(`${series.name}: no values`); continue; }
    const [least, most] = known.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    parts.push(`${series.name}: least ${show(spec, series, least)}, greatest ${show(spec, series, most)}, last ${show(spec, series, lastOf(series.values))}`);
  }
  for (const line of spec.lines ?? []) parts.push(`${line.label} at ${(spec.y?.show ?? number)(line.at)}`);
  if (spec.marks?.length) parts.push(`${plural(spec.marks.length, "marked change")}, listed on this page`);
  return `${parts.filter(Boolean).join(". ")}.`;
}

function swatch(series) {
  const style = series.style ?? "line";
  const tone = `stroke-${series.tone ?? "ink"}`;
  const drawn = style === "bars" || style === "points" ? s("rect", { class: `${tone} solid`, x: 7, y: 2, width: 6, height: 8 })
    : s("path", { class: tone, d: "M0 6H20", "stroke-dasharray": DASHES[style].join(" ") || null });
  return s("svg", { class: "swatch", viewBox: "0 0 20 12", width: 20, height: 12, "aria-hidden": "true" }, drawn);
}

const shapeOf = (spec) => JSON.stringify([spec.x.kind, Boolean(spec.x.range), spec.y?.isDown, Boolean(spec.onRange),
  spec.series.map((series) => [series.name, series.style, series.tone])]);

function create(host, first) {
  let spec = first;
  let plot = null;
  let index = null;
  let anchor = null;
  const caption = h("figcaption");
  const area = h("div", { class: "plot", role: "img", tabindex: "0", on: { keydown: onKey, blur: () => { anchor = null; } } });
  const rows = h("div");
  const details = h("details", { class: "as-table" }, h("summary", null, "Show as a table"), rows);
  details.addEventListener("toggle", showTable);
  render(host, h("figure", { class: "chart" }, caption, area, details));

  function showCaption() {
    const at = index === null ? null : spec.x.values[index];
    render(caption, h("h4", null, spec.title),
      h("ul", { class: "legend" }, spec.series.map((series) =>
        h("li", { title: series.hint }, swatch(series), h("span", null, series.name), h("b", null, show(spec, series, index === null ? lastOf(series.values) : series.values[index]))))),
      h("span", { class: "at" }, at === null ? (spec.x.kind === "duration" ? "" : "latest") : showX(spec, at)));
  }

  function showTable() {
    if (!details.open) return render(rows);
    const order = spec.x.values.map((_, place) => place);
    if (spec.x.kind !== "duration") order.reverse();
    return render(rows, table([
      { title: spec.x.name ?? "at", show: (place) => (spec.x.kind === "duration" ? duration(spec.x.values[place]) : time(spec.x.values[place])) },
      ...spec.series.map((series) => ({ title: series.name, number: true, show: (place) => show(spec, series, series.values[place]) })),
    ], order, { key: (place) => spec.x.values[place], caption: spec.title, cards: false }));
  }

  function showSelection() {
    if (!plot || !spec.onRange) return;
    const { from, to } = spec.selected ?? {};
    const isSet = isNumber(from) && isNumber(to);
    const left = isSet ? Math.max(0, plot.valToPos(from, "x")) : 0;
    const right = isSet ? Math.min(plot.over.clientWidth, plot.valToPos(to, "x")) : 0;
    plot.setSelect({ left, width: Math.max(0, right - left), top: 0, height: right > left ? plot.over.clientHeight : 0 }, false);
  }

  function onKey(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape" && spec.onRange) return spec.onRange(null, null);
    if (move === undefined || !plot) return undefined;
    event.preventDefault();
    const last = spec.x.values.length - 1;
    const before = index ?? last;
    const next = Math.max(0, Math.min(last, before + move));
    plot.setCursor({ left: plot.valToPos(spec.x.values[next], "x"), top: 10 });
    onCursor(next);
    announce(`${showX(spec, spec.x.values[next])}: ${spec.series.map((series) => `${series.name} ${show(spec, series, series.values[next])}`).join(", ")}`);
    if (!event.shiftKey || !spec.onRange) { anchor = null; return undefined; }
    anchor ??= spec.x.values[before];
    const ends = [anchor, spec.x.values[next]].sort((one, other) => one - other);
    return spec.onRange(ends[0], ends[1]);
  }

  function onCursor(place) {
    if (place === index) return;
    index = place;
    showCaption();
  }

  function redraw() {
    plot?.destroy();
    index = null;
    const width = Math.max(160, area.clientWidth);
    plot = draw(area, () => spec, width, { onCursor, onSelect: (from, to) => spec.onRange?.(Math.floor(from), Math.ceil(to)) });
    showSelection();
  }

  function describe() {
    area.setAttribute("aria-label", inWords(spec));
    showCaption();
    showTable();
  }

  describe();
  redraw();
  const sizes = new ResizeObserver(() => {
    const width = area.clientWidth;
    if (plot && width >= 160 && width !== plot.width) { plot.setSize({ width, height: spec.height ?? 180 }); showSelection(); }
  });
  sizes.observe(area);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", redraw);
  window.addEventListener("tailrace-theme", redraw);

  return {
    update(next) {
      const isSame = shapeOf(next) === shapeOf(spec);
      const isOld = isSame && JSON.stringify(dataOf(next)) === JSON.stringify(dataOf(spec));
      spec = next;
      if (!isSame) redraw();
      else if (isOld) plot.redraw();
      else plot.setData(dataOf(spec));
      showSelection();
      describe();
    },
    destroy() {
      sizes.disconnect();
      dark.removeEventListener("change", redraw);
      window.removeEventListener("tailrace-theme", redraw);
      plot?.destroy();
    },
  };
}
