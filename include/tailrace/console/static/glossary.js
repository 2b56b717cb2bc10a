// The page of the words that the other pages use.

import { h, render } from "./dom.js";
import { WORDS } from "./words.js";

const entries = Object.entries(WORDS).sort(([one], [other]) => one.localeCompare(other));
render(
  document.getElementById("words"),
  h(
    "dl",
    { class: "glossary" },
    entries.map(([word, text]) => h("div", { id: word.toLowerCase() }, h("dt", null, word), h("dd", null, text))),
  ),
);
