// What a kind of query shows beyond the other parts; each kind has a file of its own.

import { empty } from "../ui.js";
import aggregate from "./kind_aggregate.js";
import emdJoin from "./kind_emd_join.js";
import spatialJoin from "./kind_spatial_join.js";
import topk from "./kind_topk.js";

const KINDS = { topk, emd_join: emdJoin, spatial_join: spatialJoin, aggregate };

function show(data, context) {
  const kind = KINDS[data.kind];
  return kind ? kind.show(data, context) : empty(data.kind ? `This version of the page knows no kind ${String(data.kind).slice(0, 80)}.` : "The kind of this query is not known.");
}

export default { title: (summary) => KINDS[summary?.kind]?.title ?? "Kind", request: ["from", "to", "key"], show };
