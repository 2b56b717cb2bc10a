// The tools of Streams: a saved filter, search, and what to sort by.

import { h, render } from "./dom.js";
import { columns } from "./stream_columns.js";

let wait = null;

// Show the tools; `on` has choose(filter), change(values) and save().
export function showTools(root, view, on) {
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
  const isSaved = view.mine && view.mine.search === view.search && view.mine.sort === view.sort;
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
      h(
        "label",
        { class: "row" },
        h("span", { class: "hint" }, "Sort"),
        h(
          "select",
          {
            "aria-label": "Sort by",
            on: { change: (event) => on.change({ sort: event.target.value || null, offset: 0 }) },
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
        { type: "button", disabled: isSaved || (!view.search && !view.sort), on: { click: on.save } },
        isSaved ? "Search saved" : "Save as my search",
      ),
    ),
  );
  const field = root.querySelector("input");
  if (document.activeElement !== field) field.value = view.search;
  root.querySelector("select").value = view.sort ?? "";
}
