// topk: the newest rankings with what moved since they were streamed, and what the calibration of K measured.

import { h } from "../dom.js";
import { count, number, value } from "../format.js";
import { badge } from "../shapes.js";
import { table } from "../table.js";
import { time } from "../time.js";
import { empty, longText, section, unread } from "../ui.js";
import { calibration } from "./calibration.js";

const known = (data) => data !== null && data !== undefined;

function move(row, isStreamed) {
  if (!known(row.rank)) return badge(`gone, was ${row.was_rank}`, "bad");
  if (!isStreamed) return badge("added later", "warn");
  if (!known(row.was_rank)) return badge("new", "warn");
  const places = row.was_rank - row.rank;
  if (!places) return h("span", { class: "hint" }, "as streamed");
  const arrow = h("span", { "aria-hidden": "true" }, places > 0 ? "▲" : "▼");
  return h("span", { class: "badge warn" }, arrow, `${places > 0 ? "up" : "down"} from ${row.was_rank}`);
}

const scoreText = (score) => longText(value(score), 80);

const isNumeric = (rows, name) => rows.every((row) => typeof (row.values?.[name] ?? 0) === "number");

function ranking(each, data) {
  const rows = each.rows ?? [];
  const gone = each.gone ?? [];
  const isStreamed = each.is_streamed !== false;
  const moved = rows.filter((row) => row.was_rank !== row.rank).length + gone.length;
  const key = known(each.key) && each.key !== "" ? String(each.key) : "Ranking";
  const words = !isStreamed ? "only a correction gave it" : moved ? `${count(moved)} moved` : "as streamed";
  const further = (data.selected ?? [])
    .slice(0, 8)
    .map((name) => ({
      title: name,
      number: isNumeric(rows, name),
      show: (row) => longText(value(row.values?.[name]), 80),
    }));
  const isNumber = [...rows, ...gone].every((row) => typeof (row.score ?? 0) === "number");
  const columns = [
    { title: "Rank", class: "narrow", show: (row) => h("strong", null, count(row.rank)) },
    { title: "Id", show: (row) => longText(row.id ?? "–", 80) },
    { title: "Score", number: isNumber, show: (row) => (isNumber ? number : scoreText)(row.score) },
    ...further,
    { title: "Moved", class: "nowrap", show: (row) => move(row, isStreamed) },
  ];
  const all = [...rows, ...gone];
  return h(
    "section",
    { class: "block", key: `${key.slice(0, 200)}-${each.window_start}` },
    h("h4", null, longText(key, 80)),
    h("p", { class: "hint" }, time(each.window_start), " – ", time(each.window_end), ` · ${words}`),
    all.length
      ? table(columns, all, {
          key: (row, index) => row.rank ?? `gone-${index}`,
          caption: `Ranking of ${key.slice(0, 80)}, ${words}`,
          cards: false,
          isTall: true,
          mark: (row) => (known(row.rank) ? "" : "wrong"),
        })
      : empty("A correction took this ranking back."),
  );
}

// Return the field that shows one key's rankings alone.
function byKey(context) {
  const onSubmit = (event) => {
    event.preventDefault();
    context.set({ key: event.currentTarget.elements.key.value || null });
  };
  const { key } = context.params;
  return h(
    "form",
    { class: "range", key: `key-${key ?? ""}`, "aria-label": "Key", on: { submit: onSubmit } },
    h(
      "label",
      null,
      "Key",
      h("input", { type: "search", name: "key", autocomplete: "off", value: key ?? "", placeholder: "all keys" }),
    ),
    h("button", { type: "submit" }, "Show key"),
  );
}

function show(data, context) {
  const rankings = data.rankings ?? [];
  const order = data.order === "ascending" ? "least" : "greatest";
  return [
    data.k
      ? h(
          "p",
          { class: "lead" },
          `The ${count(data.k)} ${order} by `,
          h("code", null, longText(data.score ?? "score", 120)),
          ", in each window.",
        )
      : null,
    byKey(context),
    section(
      "Newest rankings",
      rankings.length
        ? h(
            "div",
            { class: "ranking" },
            rankings.map((each) => ranking(each, data)),
          )
        : empty("No window has answered yet."),
    ),
    calibration(data.calibration, true, unread(data, "calibration")),
  ];
}

export default { title: "Ranking", show };
