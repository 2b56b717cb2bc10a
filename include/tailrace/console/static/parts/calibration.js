// The newest calibration of K: the accuracy that each wait would have given, and what it proposes.

import { chart, columns } from "../chart.js";
import { h } from "../dom.js";
import { count, duration, share } from "../format.js";
import { time } from "../time.js";
import { empty, figures, prose, section } from "../ui.js";
import { asText } from "./frontier.js";

const known = (value) => value !== null && value !== undefined;

// Return the section; null where the policy takes no calibration, and `always` is not set.
export function calibration(data, always = false, lack = null) {
  if (!data && lack) return section("Calibration of K", lack);
  if (!data)
    return always ? section("Calibration of K", empty("No calibration is on record, or the policy takes none.")) : null;
  const list = [...(data.durations ?? [])].sort((one, other) => one.ms - other.ms);
  const ms = list.map((each) => each.ms);
  const points = columns({ ms, accuracy: list.map((each) => each.accuracy) }, "ms", ["accuracy"]);
  return section(
    "Calibration of K",
    figures([
      ["K proposed", duration(data.k_ms)],
      ["Accuracy with it", share(data.accuracy)],
      ["Accuracy promised", share(data.promised)],
      ["Windows measured", count(data.windows)],
      ["History read up to", time(data.until)],
      known(data.made_at) ? ["Made", time(data.made_at)] : null,
    ]),
    chart({
      title: "Accuracy by how long is waited",
      summary: known(data.k_ms) ? `The proposed K is ${duration(data.k_ms)}` : null,
      x: { values: points.ms, kind: "duration", name: "Wait" },
      height: 240,
      y: { show: share, max: 1 },
      lines: known(data.promised)
        ? [{ at: data.promised, label: `promised ${share(data.promised)}`, tone: "good" }]
        : [],
      marks: known(data.k_ms) ? [{ at: data.k_ms, label: "proposed K" }] : [],
      series: [{ name: "accuracy", values: points.accuracy }],
      none: "The calibration has no curve on record.",
    }),
    known(data.evidence) ? h("p", { class: "note" }, "Evidence: ", prose(asText(data.evidence), 400)) : null,
  );
}
