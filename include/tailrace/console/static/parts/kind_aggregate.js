// aggregate: its functions and its windows.

import { h } from "../dom.js";
import { table } from "../table.js";
import { empty, longText, section, unread } from "../ui.js";
import { calibration } from "./calibration.js";
import { asText } from "./frontier.js";

const text = (value) => (value === null || value === undefined || value === "" ? "–" : longText(asText(value), 160));

function show(data) {
  const aggregates = data.aggregates ?? [];
  return [
    data.windows ? h("p", { class: "lead" }, "Windows: ", longText(asText(data.windows), 200)) : null,
    section(
      "Aggregates",
      aggregates.length
        ? table(
            [
              { title: "Name", class: "mono", show: (each) => text(each.name) },
              { title: "Function", class: "mono", show: (each) => text(each.function) },
              { title: "Of", class: "mono", show: (each) => text(each.of) },
              { title: "Where", class: "text mono", show: (each) => text(each.where) },
              {
                title: "Parameters",
                class: "mono",
                show: (each) => (Object.keys(each.parameters ?? {}).length ? text(each.parameters) : "–"),
              },
              { title: "Type", class: "mono", show: (each) => text(each.type) },
            ],
            aggregates,
            { key: (each, index) => index, caption: "Aggregates" },
          )
        : empty("The query has no aggregate."),
    ),
    calibration(data.calibration, false, unread(data, "calibration")),
  ];
}

export default { title: "Aggregates", show };
