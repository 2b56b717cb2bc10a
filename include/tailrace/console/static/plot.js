// Draws a chart with uPlot: lines, bars, bands, thresholds and numbered marks, in the colours of the theme.

import uPlot from "./uplot/uPlot.esm.js";
import { COUNT_STEPS, DURATION_STEPS, timeLabels, valueLabels, widthOf } from "./axes.js";
import { count, duration, number } from "./format.js";
import { isUtc } from "./time.js";

export const DASHES = { line: [], step: [], bars: [], points: [], dash: [6, 4], dot: [2, 3] };

// Return the colours that the theme gives now; a canvas can't read them from the style sheet by itself.
function palette(host) {
  const probe = document.createElement("span");
  host.append(probe);
  const read = (name) => {
    probe.style.setProperty("color", `var(--${name})`);
    return getComputedStyle(probe).color;
  };
  const names = ["ink", "soft", "line", "good", "warn", "bad", "idle", "focus", "band", "sheet"];
  const colours = Object.fromEntries(names.map((name) => [name, read(name)]));
  probe.remove();
  return colours;
}

const clear = (colour, opacity) =>
  colour.replace(/^rgba?\(([^)]*)\)$/, (_, parts) => `rgba(${parts.split(",").slice(0, 3).join(",")}, ${opacity})`);

function pathsOf(style) {
  if (style === "bars") return uPlot.paths.bars({ size: [0.9, 14, 3], align: 0 });
  if (style === "step") return uPlot.paths.stepped({ align: 1 });
  if (style === "points") return () => null;
  return uPlot.paths.linear();
}

// Points are drawn where there are few of them, so that a single one is seen, too.
function pointsOf(style, colour) {
  if (style === "bars") return { show: false };
  const look = { size: style === "points" ? 6 : 4, fill: colour, stroke: colour, width: 0 };
  return style === "points" ? { ...look, show: true } : look;
}

function seriesOf(spec, colours) {
  return spec.series.map((series) => {
    const colour = colours[series.tone ?? "ink"];
    const style = series.style ?? "line";
    return {
      label: series.name,
      stroke: colour,
      width: style === "bars" ? 0 : (series.width ?? 1.5),
      fill:
        style === "bars"
          ? clear(colour, series.tone === "soft" ? 0.45 : 0.8)
          : series.fill
            ? clear(colour, 0.12)
            : undefined,
      dash: DASHES[style],
      paths: pathsOf(series.path ?? style),
      scale: "y",
      spanGaps: false,
      points: pointsOf(style, colour),
    };
  });
}

// Return the range of the vertical axis: all values, thresholds and bands, with some room.
function rangeOf(spec) {
  return (_, least, most) => {
    const { y = {} } = spec();
    let low = least ?? 0;
    let high = most ?? 1;
    for (const line of spec().lines ?? []) [low, high] = [Math.min(low, line.at), Math.max(high, line.at)];
    for (const band of spec().bands ?? []) {
      for (const end of [band.from, band.to])
        if (Number.isFinite(end)) [low, high] = [Math.min(low, end), Math.max(high, end)];
    }
    if (y.zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    const bottom = y.zero && low === 0 ? 0 : low - room;
    return [
      y.min !== undefined ? Math.max(y.min, bottom) : bottom,
      y.max !== undefined ? Math.min(y.max, high + room) : high + room,
    ];
  };
}

function drawBelow(plot, spec, colours) {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  for (const band of spec.bands ?? []) {
    const from = Number.isFinite(band.from) ? plot.valToPos(band.from, "y", true) : top + height;
    const to = Number.isFinite(band.to) ? plot.valToPos(band.to, "y", true) : top;
    ctx.fillStyle = clear(colours[band.tone ?? "good"], 0.13);
    ctx.fillRect(left, Math.min(from, to), width, Math.abs(from - to));
  }
  ctx.restore();
}

function drawAbove(plot, spec, colours) {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  const unit = devicePixelRatio;
  ctx.save();
  ctx.font = plot.axes[0].font[0];
  ctx.lineWidth = unit;
  for (const line of spec.lines ?? []) {
    const y = Math.round(plot.valToPos(line.at, "y", true)) + 0.5;
    if (y < top || y > top + height) continue;
    ctx.strokeStyle = colours[line.tone ?? "soft"];
    ctx.fillStyle = colours[line.tone ?? "soft"];
    ctx.setLineDash([4 * unit, 3 * unit]);
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    ctx.textAlign = "right";
    ctx.textBaseline = y - top > 16 * unit ? "bottom" : "top";
    const place = [line.label ?? "", left + width - 2 * unit, y + (ctx.textBaseline === "top" ? 3 : -2) * unit];
    ctx.setLineDash([]);
    ctx.strokeStyle = colours.sheet; // data behind a label do not cross its letters
    ctx.lineWidth = 4 * unit;
    ctx.strokeText(...place);
    ctx.lineWidth = unit;
    ctx.fillText(...place);
  }
  ctx.setLineDash([2 * unit, 2 * unit]);
  let free = -Infinity;
  for (const mark of spec.marks ?? []) {
    const x = Math.round(plot.valToPos(mark.at, "x", true)) + 0.5;
    if (x < left || x > left + width) continue;
    ctx.strokeStyle = colours.soft;
    ctx.fillStyle = colours.ink;
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    if (x < free) continue; // labels do not overlap
    free = x + 16 * unit;
    ctx.textAlign = "center";
    ctx.textBaseline = "bottom";
    ctx.fillText(mark.label, x, top - 2 * unit);
  }
  ctx.restore();
}

// Draw `read()`, the chart's present specification, in `host`; `hooks` hear of the cursor and of a selected range.
export function draw(host, read, width, hooks) {
  const spec = read();
  const colours = palette(host);
  const font = `12px ${getComputedStyle(host).fontFamily}`;
  const isTime = spec.x.kind !== "duration";
  const axis = {
    stroke: colours.soft,
    font,
    grid: { stroke: colours.line, width: 1 },
    ticks: { stroke: colours.line, width: 1, size: 4 },
  };
  const show = spec.y?.show ?? number;
  const steps = new Map([
    [duration, DURATION_STEPS],
    [count, COUNT_STEPS],
  ]).get(show);
  return new uPlot(
    {
      width,
      height: spec.height ?? 180,
      ms: 1,
      padding: [spec.marks?.length ? 18 : 8, 40, 0, 0], // at the right for half of the last label of the axis
      tzDate: (ms) => (isUtc() ? uPlot.tzDate(new Date(ms), "Etc/UTC") : new Date(ms)),
      legend: { show: false },
      cursor: {
        y: false,
        points: { size: 7 },
        sync: spec.sync ? { key: spec.sync, setSeries: false } : undefined,
        drag: { x: Boolean(spec.onRange), y: false, setScale: false },
      },
      scales: {
        x: { time: isTime, range: spec.x.range ? () => read().x.range : undefined },
        y: { dir: spec.y?.isDown ? -1 : 1, range: rangeOf(read) },
      },
      axes: [
        {
          ...axis,
          size: isTime ? 38 : 28,
          space: 76,
          values: (_, splits, __, ___, step) => (isTime ? timeLabels(splits, step) : valueLabels(splits, duration)),
          ...(isTime ? {} : { incrs: DURATION_STEPS }),
        },
        {
          ...axis,
          size: widthOf,
          space: 32,
          values: (_, splits) => valueLabels(splits, show),
          ...(steps ? { incrs: steps } : {}),
        },
      ],
      series: [{}, ...seriesOf(spec, colours)],
      hooks: {
        drawClear: [(plot) => drawBelow(plot, read(), colours)],
        draw: [(plot) => drawAbove(plot, read(), colours)],
        setCursor: [(plot) => hooks.onCursor(plot.cursor.idx ?? null)],
        setSelect: [
          (plot) => {
            const { left, width: wide } = plot.select;
            if (wide > 3) hooks.onSelect(plot.posToVal(left, "x"), plot.posToVal(left + wide, "x"));
          },
        ],
      },
    },
    dataOf(spec),
    host,
  );
}

export const dataOf = (spec) => [spec.x.values, ...spec.series.map((series) => series.values)];
