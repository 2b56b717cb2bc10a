// The words of the pages, each with what it means: shown where a reader points at one, or comes to it by the keyboard.

import { h } from "./dom.js";

export const WORDS = {
  Promise:
    "At most a stated share of the streamed answers is wrong by a stated error or more. It is kept or broken by what corrections have measured.",
  K: "How long an answer waits for late records: a window closes only when the newest event time is K past its end. Also called slack, or allowed lateness.",
  Frontier: "The event time up to which windows have closed and are answered. Also called the watermark.",
  Coverage: "The share of a window's tuples that it held when it was answered; 100 % means that none came later.",
  Tick: "A step of arrival time. Windows close at the end of one, and a tuple counts as arrived then.",
  Late: "A tuple is late if a window that it belongs to had closed before it came. A correction adds it to the answer.",
  Gap: "An interval of arrival whose late tuples no correction has added to the answers yet.",
  Behind: "Wall clock less the arrival time up to which everything is committed.",
  Backlog: "Rows known in the source that no batch has read.",
  Pace: "Stream time that is read in a second: 1 keeps pace with arrival, more catches up, less falls behind.",
  Quarantine: "The records that are no tuples, as they can't be read or are out of bounds, each with the reason.",
  Correction: "A batch job that counts late tuples and repeats into the answers which they missed or spoiled.",
  Calibration: "A batch job over history that measures how accurate answers are after some waits, and proposes K.",
  Retracted: "A later version of an answer says that there is no such answer.",
};

// Return what a title means: `hint`, or else the meaning of one of WORDS; null where neither is known.
export const meaning = (title, hint) => hint ?? (Object.hasOwn(WORDS, title) ? WORDS[title] : null);

// Return a title that explains itself, by `hint` or else as one of WORDS; a title without an explanation stays as it is.
export function explained(title, hint) {
  const text = meaning(title, hint);
  return text ? h("span", { class: "term", tabindex: "0", "aria-description": text, role: "note" }, title) : title;
}

const GAP = 6;
let tip = null;
let owner = null;
const removals = new MutationObserver(() => {
  if (!owner?.isConnected) hide();
});

function show(target) {
  hide();
  owner = target;
  removals.observe(document.body, { childList: true, subtree: true });
  tip = h("div", { class: "tip", role: "tooltip" }, target.getAttribute("aria-description"));
  document.body.append(tip);
  const place = target.getBoundingClientRect();
  const left = Math.max(GAP, Math.min(place.left, document.documentElement.clientWidth - tip.offsetWidth - GAP));
  const isBelow = place.bottom + GAP + tip.offsetHeight <= window.innerHeight;
  tip.style.setProperty("left", `${left}px`);
  tip.style.setProperty("top", `${isBelow ? place.bottom + GAP : place.top - GAP - tip.offsetHeight}px`);
}

function hide() {
  removals.disconnect();
  tip?.remove();
  tip = owner = null;
}

const onEnter = (event) => {
  const target = event.target instanceof Element ? event.target.closest("[aria-description]") : null;
  if (target) show(target);
  else if (event.type === "focusin") hide();
};
document.addEventListener("mouseover", onEnter);
document.addEventListener("focusin", onEnter);
document.addEventListener("mouseout", () => {
  if (owner !== document.activeElement) hide();
});
document.addEventListener("focusout", hide);
document.addEventListener("scroll", hide, true);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
});
