// Settings: the query file as deployed beside the one on disk, the options of the driver, and facts over time.

import { diff } from "../diff.js";
import { h } from "../dom.js";
import { count, plural, value } from "../format.js";
import { badge } from "../shapes.js";
import { table } from "../table.js";
import { time } from "../time.js";
import { copyButton, cut, empty, figures, longText, prose, section, unread } from "../ui.js";
import { asText } from "./frontier.js";

const known = (each) => each !== null && each !== undefined;

// Return the parts of the explanation of a query, folded: they are long, and seldom asked for.
function explanation(parts) {
  return parts.map((part) =>
    h(
      "details",
      { class: "folded", key: part.name },
      h("summary", null, cut(part.name, 120)),
      h("pre", { class: "record", tabindex: "0" }, String(part.text ?? "").slice(0, 20000)),
    ),
  );
}

function verdict(data) {
  if (known(data.fault)) return badge("the file on disk would be refused", "bad");
  if (!known(data.deployed) && !known(data.on_disk)) return badge("no query file is known", "warn");
  if (!known(data.deployed)) return badge("never deployed: the file on disk is what a deployment would run", "idle");
  if (!known(data.on_disk)) return badge("the file is gone from the disk; the stream runs its deployed copy", "warn");
  if (data.deployed === data.on_disk) return badge("deployed is what is on disk", "good");
  const fields = (data.differences ?? []).length;
  return badge(
    fields
      ? `the file on disk differs in ${plural(fields, "field")} from what is deployed`
      : "the file on disk differs in its text, and in no field",
    fields ? "warn" : "idle",
  );
}

function file(data) {
  if (known(data.deployed) && known(data.on_disk) && data.deployed !== data.on_disk) {
    return [h("p", { class: "hint" }, "− as deployed, + on disk"), diff(data.deployed, data.on_disk)];
  }
  const text = data.deployed ?? data.on_disk;
  if (!known(text)) return empty("No copy of the query file is on record.");
  return [
    h("pre", { class: "record file", tabindex: "0" }, text.slice(0, 100000)),
    h(
      "p",
      null,
      copyButton(() => text, "Copy the file"),
    ),
  ];
}

const pairs = (object) =>
  Object.entries(object ?? {}).map(([name, each]) => [
    name.slice(0, 80).replaceAll("_", " "),
    longText(value(each), 160),
  ]);

function facts(list) {
  return table(
    [
      { title: "About", show: (fact) => longText(fact.about ?? "–", 60) },
      { title: "Version", number: true, show: (fact) => count(fact.version) },
      { title: "Holds from", show: (fact) => (known(fact.at) ? time(fact.at) : "the beginning") },
      { title: "Tick", number: true, show: (fact) => count(fact.from_tick) },
      { title: "Segment", number: true, show: (fact) => (known(fact.from_segment) ? value(fact.from_segment) : "–") },
      { title: "Value", class: "text mono", show: (fact) => longText(asText(fact.value), 200) },
      { title: "Evidence", class: "text", show: (fact) => prose(asText(fact.evidence), 200) },
    ],
    list,
    {
      key: (fact, index) => `${fact.about}-${fact.version}-${known(fact.from_tick) ? fact.from_tick : index}`,
      caption: "Facts over time",
    },
  );
}

function show(data) {
  const differences = data.differences ?? [];
  const newest = [...(data.facts ?? [])].reverse(); // the newest first
  const options = pairs(data.options);
  return [
    section(
      "The query file",
      h(
        "p",
        { class: "row wrap" },
        verdict(data),
        data.file ? h("span", { class: "mono hint" }, longText(data.file, 160)) : null,
      ),
      known(data.fault) ? h("p", { class: "lead" }, longText(data.fault, 400)) : null,
      differences.length
        ? table(
            [
              { title: "Field", class: "mono", show: (each) => longText(each.field ?? "–", 120) },
              { title: "Deployed", class: "text mono", show: (each) => longText(value(each.before), 200) },
              { title: "On disk", class: "text mono", show: (each) => longText(value(each.after), 200) },
            ],
            differences,
            { key: (each, index) => `${each.field}${index}`, caption: "Fields that differ" },
          )
        : null,
      file(data),
    ),
    options.length ? section("Options of the driver", figures(options)) : null,
    (data.explanation ?? []).length ? section("How the query is run", explanation(data.explanation)) : null,
    section(
      "Facts over time",
      data.facts_total > newest.length
        ? h("p", { class: "hint" }, `The newest ${count(newest.length)} of ${count(data.facts_total)}.`)
        : null,
      newest.length
        ? facts(newest)
        : empty(unread(data, "facts") ?? "No fact is on record: no setting has changed since the stream began."),
    ),
  ];
}

export default { title: "Settings", request: ["limit"], show };
