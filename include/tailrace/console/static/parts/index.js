// The parts of a query's page by name, in the order of the tabs. A part is {title, request, show(data, context)}.

import answer from "./answer.js";
import answers from "./answers.js";
import frontier from "./frontier.js";

export const PARTS = { frontier, answers, answer };

export function titleOf(part, summary) {
  const { title } = PARTS[part];
  return typeof title === "function" ? title(summary) : title;
}
