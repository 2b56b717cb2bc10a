// What the newest dry runs found, each with its run and the way to leave it; leaving one only hides it in this browser.

import { airflowAddress } from "./api.js";
import { h } from "./dom.js";
import { recall, remember } from "./memory.js";
import { time } from "./time.js";
import { airflowLink, longText } from "./ui.js";

const FIRST = 3;
const KEY = "left_dry_runs";
const MOST_LEFT = 50;

const lineOf = (line) => h("li", null, longText(line, 400));

function found(action, acceptance, actions, show) {
  const { lines, at, run } = action.dry_run;
  const leave = () => {
    remember(KEY, [...recall(KEY, []), action.dry_run.run].slice(-MOST_LEFT));
    show();
  };
  return h(
    "section",
    { key: action.dry_run.run, class: "note stack", "aria-label": `Dry run: ${action.title}` },
    h(
      "p",
      null,
      `${action.title}, dry run of `,
      time(at),
      ": nothing was written. ",
      airflowLink(airflowAddress(run), "See its run"),
    ),
    h("ul", null, lines.slice(0, FIRST).map(lineOf)),
    lines.length > FIRST
      ? h("details", null, h("summary", null, "All that it found"), h("ul", null, lines.slice(FIRST).map(lineOf)))
      : null,
    h(
      "div",
      { class: "row" },
      acceptance
        ? h(
            "button",
            { type: "button", on: { click: () => actions.openDialog(acceptance, null) } },
            `${acceptance.title} …`,
          )
        : null,
      h("button", { type: "button", on: { click: leave } }, acceptance ? "Leave" : "Hide"),
    ),
  );
}

// Return a note for each dry run that the reader has not left.
export function dryRuns(list, actions) {
  const left = recall(KEY, []);
  const accept = list.find((action) => action.name === "accept" && action.is_allowed);
  return list
    .filter((action) => action.dry_run && !left.includes(action.dry_run.run))
    .map((action) => found(action, action.name === "calibrate" ? accept : null, actions, () => actions.show()));
}
