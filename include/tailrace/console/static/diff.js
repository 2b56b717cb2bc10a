// The lines that differ between two texts, with some of what stays around them.

import { h } from "./dom.js";
import { plural } from "./format.js";

const AROUND = 3;
const MOST = 3000; // lines of a side; beyond, only whole blocks are compared

// Return [{kind: "same" | "removed" | "added", text, before, after}], by the longest common subsequence.
export function lines(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const [left, right] = [old.slice(head, old.length - tail), now.slice(head, now.length - tail)];
  const result = old.slice(0, head).map((text, place) => ({ kind: "same", text, before: place + 1, after: place + 1 }));
  let [i, j] = [0, 0];
  const put = (kind, text) => result.push({ kind, text, before: kind === "added" ? null : head + i + 1, after: kind === "removed" ? null : head + j + 1 });
  const common = left.length * right.length <= MOST * MOST ? table(left, right) : null;
  while (i < left.length || j < right.length) {
    if (common && i < left.length && j < right.length && left[i] === right[j]) { put("same", left[i]); i += 1; j += 1; }
    else if (i < left.length && (j >= right.length || !common || common[i + 1][j] >= common[i][j + 1])) { put("removed", left[i]); i += 1; }
    else { put("added", right[j]); j += 1; }
  }
  for (let place = 0; place < tail; place += 1) {
    const [b, a] = [old.length - tail + place, now.length - tail + place];
    result.push({ kind: "same", text: old[b], before: b + 1, after: a + 1 });
  }
  return result;
}

function table(left, right) {
  const rows = Array.from({ length: left.length + 1 }, () => new Uint32Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) rows[i][j] = left[i] === right[j] ? rows[i + 1][j + 1] + 1 : Math.max(rows[i + 1][j], rows[i][j + 1]);
  }
  return rows;
}

// Return the lines as a table; long runs of equal lines are left out.
export function diff(before, after) {
  const all = lines(before, after);
  const isNear = all.map(() => false);
  all.forEach((line, place) => {
    if (line.kind === "same") return;
    for (let near = Math.max(0, place - AROUND); near <= Math.min(all.length - 1, place + AROUND); near += 1) isNear[near] = true;
  });
  const rows = [];
  let skipped = 0;
  const flush = () => {
    if (skipped) rows.push(h("tr", { class: "skipped" }, h("td", { colspan: 4 }, plural(skipped, "equal line"))));
    skipped = 0;
  };
  all.forEach((line, place) => {
    if (!isNear[place]) { skipped += 1; return; }
    flush();
    const sign = { same: " ", removed: "−", added: "+" }[line.kind];
    const word = { same: null, removed: "deployed alone", added: "on disk alone" }[line.kind];
    rows.push(h("tr", { class: line.kind }, h("td", { class: "place" }, line.before ?? ""), h("td", { class: "place" }, line.after ?? ""), h("td", { class: "place" }, sign, word ? h("span", { class: "offscreen" }, word) : null), h("td", null, line.text.slice(0, 2000))));
  });
  flush();
  return h("div", { class: "diff", tabindex: "0", role: "region", "aria-label": "Deployed beside on disk, line by line" }, h("table", null, h("tbody", null, rows)));
}
