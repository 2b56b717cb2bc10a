// topk: the newest rankings with what moved since they were streamed, and what the calibration of K measured.

import { chart, columns } from "../chart.js";
import { h } from "../dom.js";
import { count, duration, number, share } from "../format.js";
import { badge } from "../shapes.js";
import { table } from "../table.js";
import { time } from "../time.js";
import { empty, figures, longText, section } from "../ui.js";
import { asText } from "./frontier.js";

function move(row) {
  if (row.was_rank === null || row.was_rank === undefined) return badge("new", "warn");
  const places = row.was_rank - row.rank;
  if (!places) return h("span", { class: "hint" }, "as streamed");
  return h("span", { class: "badge warn" }, h("span", { "aria-hidden": "true" }, places > 0 ? "▲" : "▼"), `${places > 0 ? "up" : "down"} from ${row.was_rank}`);
}

function ranking(each) {
  const rows = each.rows ?? [];
  const moved = rows.filter((row) => row.was_rank !== row.rank).length;
  const key = each.key === null || each.key === undefined || each.key === "" ? "Ranking" : String(each.key).slice(0, 80);
  return h("section", { class: "block", key: `${key}-${each.window_start}` }, h("h4", null, key),
    h("p", { class: "hint" }, time(each.window_start), " – ", time(each.window_end), moved ? ` · ${count(moved)} of ${count(rows.length)} moved` : " · as streamed"),
    rows.length ? table([
      { title: "Rank", class: "narrow", show: (row) => h("strong", null, count(row.rank)) },
      { title: "Id", show: (row) => longText(row.id ?? "–", 80) },
      { title: "Score", number: true, show: (row) => number(row.score) },
      { title: "Moved", class: "nowrap", show: move },
    ], rows, { key: (row) => row.rank, caption: `Ranking of ${key}`, cards: false }) : empty("No tuple in this window."));
}

function calibration(data) {
  if (!data) return empty("K is not calibrated: no calibration has run, or the policy needs none.");
  const list = [...(data.durations ?? [])].sort((one, other) => one.ms - other.ms);
  const points = columns({ ms: list.map((each) => each.ms), accuracy: list.map((each) => each.accuracy) }, "ms", ["accuracy"]);
  const known = (value) => value !== null && value !== undefined;
  return [
    figures([["K chosen", duration(data.k_ms)], ["Accuracy measured", share(data.accuracy)], ["Accuracy promised", share(data.promised)], ["Windows", count(data.windows)], ["Until", time(data.until)]]),
    chart({ title: "Accuracy by how long is waited", x: { values: points.ms, kind: "duration", name: "Wait" }, height: 240, y: { show: share, max: 1 },
      summary: known(data.k_ms) ? `K is ${duration(data.k_ms)}` : null,
      lines: known(data.promised) ? [{ at: data.promised, label: `promised ${share(data.promised)}`, tone: "good" }] : [], marks: known(data.k_ms) ? [{ at: data.k_ms, label: "K" }] : [],
      series: [{ name: "accuracy", values: points.accuracy }], none: "The calibration has no curve on record." }),
    known(data.evidence) ? h("p", { class: "note" }, "Evidence: ", longText(asText(data.evidence), 400)) : null,
  ];
}

function show(data) {
  const rankings = data.rankings ?? [];
  return [
    section("Newest rankings", rankings.length ? h("div", { class: "ranking" }, rankings.map(ranking)) : empty("No window has answered yet.")),
    section("Calibration of K", calibration(data.calibration)),
  ];
}

export default { title: "Ranking", show };
