// The parts of a query's page by name, in the order of the tabs. A part is {title, request, show(data, context)}.

import activity from "./activity.js";
import answer from "./answer.js";
import answers from "./answers.js";
import frontier from "./frontier.js";
import kind from "./kind.js";
import late from "./late.js";
import ledger from "./ledger.js";
import promise from "./promise.js";
import quarantine from "./quarantine.js";
import settings from "./settings.js";

export const PARTS = { frontier, activity, promise, answers, answer, late, ledger, quarantine, kind, settings };

export function titleOf(part, summary) {
  const { title } = PARTS[part];
  return typeof title === "function" ? title(summary) : title;
}
