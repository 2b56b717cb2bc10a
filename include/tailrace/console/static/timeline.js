// A time line as SVG: things with a beginning and an end, in lanes; the table beside it says the same.

import { h, render, s, widget } from "./dom.js";
import { DURATION_STEPS, timeLabels } from "./axes.js";
import { moment } from "./time.js";

const LEFT = 92;
const LANE = 26;
const TOP = 6;
const RIGHT = 10;
const LEAST_PX = 3; // a shorter way of the pointer is a click

// Return a time line. A lane is {title, items: [{from, to, class, title, href, open}]}; `range` is [from, to].
// `onRange(from, to)` hears of a range that the reader draws; `selected: {from, to}` is the one that is drawn.
export function timeline(spec) {
  return widget(create, spec, { class: "figure", key: spec.title });
}

function ticks([from, to], width) {
  const most = Math.max(2, Math.floor(width / 110));
  const step =
    DURATION_STEPS.find((each) => (to - from) / each <= most) ??
    DURATION_STEPS.at(-1) * Math.ceil((to - from) / DURATION_STEPS.at(-1) / most);
  const list = [];
  for (let at = Math.ceil(from / step) * step; at <= to && list.length < 100; at += step) list.push(at);
  return { list, step };
}

function drawing(spec, width) {
  const [from, to] = spec.range;
  const scale = (ms) => LEFT + ((Math.max(from, Math.min(to, ms)) - from) / (to - from || 1)) * (width - LEFT - RIGHT);
  const { selected } = spec;
  const bottom = TOP + spec.lanes.length * LANE;
  const { list, step } = ticks(spec.range, width - LEFT);
  const labels = timeLabels(list, step);
  return s(
    "svg",
    {
      class: "timeline",
      viewBox: `0 0 ${width} ${bottom + 36}`,
      height: bottom + 36,
      role: "group",
      "aria-label": spec.summary,
    },
    selected
      ? s("rect", {
          class: "drawn",
          x: scale(selected.from ?? from),
          y: TOP,
          width: Math.max(1, scale(selected.to) - scale(selected.from ?? from)),
          height: bottom - TOP,
        })
      : null,
    list.map((at, index) => [
      s("line", { class: "axis", x1: scale(at), x2: scale(at), y1: TOP, y2: bottom }),
      labels[index]
        .split("\n")
        .map((text, row) =>
          s("text", { class: "tick", x: scale(at), y: bottom + 14 + row * 14, "text-anchor": "middle" }, text),
        ),
    ]),
    spec.lanes.map((lane, place) => [
      s("text", { class: "lane-label", x: 0, y: TOP + place * LANE + 17 }, lane.title),
      s("line", {
        class: "axis",
        x1: LEFT,
        x2: width - RIGHT,
        y1: TOP + (place + 1) * LANE - 2,
        y2: TOP + (place + 1) * LANE - 2,
      }),
      lane.items.map((item) => block(item, scale, TOP + place * LANE)),
    ]),
  );
}

function block(item, scale, top) {
  const left = scale(item.from);
  const shape = s(
    "rect",
    { class: item.class, x: left, y: top + 4, width: Math.max(4, scale(item.to) - left), height: LANE - 9, rx: 2 },
    s("title", null, item.title),
  );
  if (!item.href) return shape;
  return s("a", { key: item.href, href: item.href, target: item.target, "aria-label": item.title, on: item.on }, shape);
}

function create(host, first) {
  let spec = first;
  let began = null; // where the pointer went down
  let drawn = null; // the range while it is drawn
  const dragstart = (event) => event.preventDefault(); // a run's link is not carried away
  const area = h("div", { on: { pointerdown: onDown, pointermove: onMove, pointerup: onUp, pointercancel: leave, dragstart } });
  host.append(h("div", { class: "chart" }, area));
  const widthOf = () => Math.max(280, area.clientWidth || 280);
  const show = () => render(area, drawing(drawn ? { ...spec, selected: drawn } : spec, widthOf()));

  function timeAt(event) {
    const [from, to] = spec.range;
    const part = (event.clientX - area.getBoundingClientRect().left - LEFT) / (widthOf() - LEFT - RIGHT);
    return Math.round(from + Math.max(0, Math.min(1, part)) * (to - from));
  }

  function onDown(event) {
    if (spec.onRange && event.button === 0) began = { x: event.clientX, at: timeAt(event) };
  }

  function onMove(event) {
    if (!began || Math.abs(event.clientX - began.x) <= LEAST_PX) return;
    area.setPointerCapture(event.pointerId); // the way may end outside; a click on a run needs none
    const ends = [began.at, timeAt(event)];
    drawn = { from: Math.min(...ends), to: Math.max(...ends) };
    show();
  }

  function onUp() {
    const range = drawn;
    leave();
    if (range && range.to > range.from) spec.onRange(range.from, range.to);
  }

  function leave() {
    [began, drawn] = [null, null];
    show();
  }

  show();
  let width = area.clientWidth;
  const sizes = new ResizeObserver(() => {
    if (area.clientWidth === width) return;
    width = area.clientWidth;
    show();
  });
  sizes.observe(area);
  return {
    update(next) {
      const isSame = JSON.stringify(next) === JSON.stringify(spec);
      spec = next;
      if (!isSame) show();
    },
    destroy: () => sizes.disconnect(),
  };
}

export const spell = (from, to) => `${moment(from)} to ${moment(to)}`;
