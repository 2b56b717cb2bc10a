// The tools of Streams: a saved search, search, what to filter and what to sort by.

import { h, render } from "./dom.js";
import { columns } from "./stream_columns.js";

let wait = null;

const PROMISES = ["kept", "broken", "unknown"];

// Show the tools; `on` has choose(filter), change(values) and save(), `answer` the states and kinds that there are.
export function showTools(root, view, on, answer) {
  const option = (value, text, isOff) =>
    h(
      "button",
      {
        type: "button",
        "aria-pressed": String(view.filter === value),
        disabled: isOff,
        on: { click: () => on.choose(value) },
      },
      text,
    );
  const onInput = (event) => {
    const search = event.target.value;
    clearTimeout(wait);
    wait = setTimeout(() => on.change({ search, offset: 0 }), 250);
  };
  const parts = ["search", "state", "kind", "promise", "sort"];
  const isSaved = view.mine && parts.every((part) => (view.mine[part] ?? "") === view[part]);
  const filter = (part, words) => {
    const there = view[part] && !words.includes(view[part]) ? [view[part], ...words] : words;
    return h(
      "label",
      { class: "row" },
      h("span", { class: "hint" }, part[0].toUpperCase() + part.slice(1)),
      h(
        "select",
        {
          "aria-label": `Filter by ${part}`,
          "data-part": part,
          on: { change: (event) => on.change({ [part]: event.target.value, offset: 0 }) },
        },
        h("option", { value: "" }, "any"),
        there.map((word) => h("option", { value: word, key: word }, word)),
      ),
    );
  };
  render(
    root,
    h(
      "div",
      { class: "row" },
      h(
        "div",
        { class: "switch", role: "group", "aria-label": "Filter" },
        option("all", "All"),
        option("attention", "Needs attention"),
        option("mine", "My search", !view.mine),
      ),
      h("input", {
        type: "search",
        key: "search",
        class: "grow",
        placeholder: "Search by name, kind, state",
        "aria-label": "Search streams",
        value: view.search,
        on: { input: onInput },
      }),
      filter("state", answer?.states ?? []),
      filter("kind", answer?.kinds ?? []),
      filter("promise", PROMISES),
      h(
        "label",
        { class: "row" },
        h("span", { class: "hint" }, "Sort"),
        h(
          "select",
          {
            "aria-label": "Sort by",
            "data-part": "sort",
            on: { change: (event) => on.change({ sort: event.target.value, offset: 0 }) },
          },
          h("option", { value: "", selected: !view.sort }, "The worst first"),
          columns
            .filter((column) => column.sort)
            .flatMap((column) =>
              [
                ["", "▲"],
                ["-", "▼"],
              ].map(([sign, arrow]) =>
                h(
                  "option",
                  { value: `${sign}${column.sort}`, selected: view.sort === `${sign}${column.sort}` },
                  `${column.title} ${arrow}`,
                ),
              ),
            ),
        ),
      ),
      h(
        "button",
        { type: "button", disabled: isSaved || parts.every((part) => !view[part]), on: { click: on.save } },
        isSaved ? "Search saved" : "Save as my search",
      ),
    ),
  );
  const field = root.querySelector("input");
  if (document.activeElement !== field) field.value = view.search;
  for (const select of root.querySelectorAll("select")) select.value = view[select.dataset.part];
}
