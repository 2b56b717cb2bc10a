// Tabs by the pattern that screen readers know: arrow keys move, Enter opens; each tab is a link of its own.

import { h } from "./dom.js";

// Return the list of tabs. A tab is {id, title, href}.
export function tabs(list, chosen, open) {
  const onKey = (event) => {
    const links = [...event.currentTarget.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: links.length - 1 }[event.key];
    if (next !== undefined) {
      event.preventDefault();
      links[(next + links.length) % links.length].focus();
    } else if (event.key === " " && at >= 0) {
      event.preventDefault();
      links[at].click();
    }
  };
  return h("div", { class: "tabs", role: "tablist", "aria-label": "Parts", on: { keydown: onKey } }, list.map((tab) =>
    h("a", { key: tab.id, id: `tab-${tab.id}`, role: "tab", href: tab.href, "aria-selected": String(tab.id === chosen), "aria-controls": "part",
      tabindex: tab.id === chosen ? "0" : "-1", on: { click: (event) => click(event, () => open(tab.id)) } }, tab.title)));
}

function click(event, open) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button) return;
  event.preventDefault();
  open();
}
