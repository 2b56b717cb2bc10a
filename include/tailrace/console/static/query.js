// A query's page: its state, its key figures, its actions, and the part that the address names.

import { Actions } from "./actions.js";
import { get, queryAddress } from "./api.js";
import { announce, h, render } from "./dom.js";
import { header } from "./header.js";
import { PARTS, titleOf } from "./parts/index.js";
import { asOldAs, Poll, showFreshness } from "./poll.js";
import { withEvents } from "./range.js";
import { tabs } from "./tabs.js";
import { onZone, time, zoneSwitch } from "./time.js";
import { damages, empty, failed, isOld, loading, note } from "./ui.js";

const ABSENT = [401, 403, 404];
const place = (id) => document.getElementById(id);
const name = decodeURIComponent(new URL(window.location.href).pathname.replace(/\/+$/, "").split("/").pop());
const page = {
  part: null,
  params: {},
  summary: null,
  summaryFailure: null,
  data: null,
  failure: null,
  local: {},
  selected: null,
  top: null, // how far to scroll once the data are there
};
let partPoll = null;
let shownTab = null; // scrolled to once, so the list stays where the reader moved it

function readAddress() {
  const params = Object.fromEntries(new URLSearchParams(window.location.search));
  page.part = Object.hasOwn(PARTS, params.part ?? "") ? params.part : "frontier";
  delete params.part;
  page.params = params;
}

// What a part may use: its settings in the address, the summary, and the range that the reader selected.
const context = {
  name,
  get params() {
    return page.params;
  },
  get summary() {
    return page.summary;
  },
  get local() {
    return page.local;
  },
  get selected() {
    return page.selected;
  },
  // Go to other settings of this part; null takes one away.
  set: (params) => go(page.part, { ...page.params, ...params }),
  link: (part, params, ...text) =>
    h(
      "a",
      { href: queryAddress(name, { part, ...params }), on: { click: (event) => follow(event, part, params) } },
      text,
    ),
  read: (path, params, signal) => get(`queries/${encodeURIComponent(name)}/${path}`, params, signal),
  // Select a range; `range` says what it is of, and what event times it covers.
  select(range) {
    page.selected = range;
    showPart();
  },
  show: () => showPart(),
  // Open an action's form by the action's name; a correction's has a range.
  act: (action) => actions.open(action, null),
  correct: async (range) => actions.open("correct", range && (await withEvents(context, range))),
  get canCorrect() {
    return actions.has("correct");
  },
};

function follow(event, part, params) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button) return;
  event.preventDefault();
  go(part, params);
}

function go(part, params) {
  const isOther = part !== page.part;
  const known = Object.fromEntries(
    Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== ""),
  );
  window.history.replaceState({ top: window.scrollY }, "");
  window.history.pushState(null, "", queryAddress(name, { part, ...known }));
  enter(isOther);
  if (isOther) scrollUp();
  if (isOther) announce(`${titleOf(page.part, page.summary)} opened`);
}

// Show a part from its beginning; who has not scrolled past the tabs stays where they are.
function scrollUp() {
  const top = place("tabs").getBoundingClientRect().top + window.scrollY - document.querySelector(".top").offsetHeight;
  if (window.scrollY > top) window.scrollTo(0, top);
}

function enter(isOther) {
  readAddress();
  Object.assign(page, { failure: null, selected: null, isStale: true }, isOther ? { data: null, updated: null, local: {} } : {});
  showTabs();
  showTitle();
  showPart();
  partPoll?.stop();
  partPoll = new Poll(readPart, onPart);
  partPoll.now();
}

async function readPart(signal) {
  const { part, params } = page;
  summaryPoll.beside(); // head and part are of one moment
  const wanted = Object.fromEntries((PARTS[part].request ?? []).map((key) => [key, params[key]]));
  const data = await context.read(part, wanted, signal);
  if (signal.aborted) return;
  Object.assign(page, { data, isStale: false });
}

// Go back to where the reader was on this part, once it is there.
function scrollBack() {
  if (page.top !== null && !page.isStale) {
    window.scrollTo(0, page.top);
    page.top = null;
  }
}

function onPart(poll) {
  page.failure = poll.failure ?? null;
  page.updated = poll.updated;
  showFresh();
  if (page.failure && page.isStale) page.data = null; // it is of other settings
  showPart();
  scrollBack();
}

async function readSummary(signal) {
  const summary = await context.read("summary", {}, signal);
  if (signal.aborted) return;
  const isOther = page.summary?.state?.word !== summary.state?.word;
  const isWatched = page.summary?.watch !== summary.watch; // then Drain is another
  if (isOther && page.summary) announce(`${name} is ${summary.state?.word ?? "unknown"}`);
  page.summary = summary;
  if (isOther || isWatched || actions.isOld()) actions.load();
  return { isPartial: summary.is_unread || isOld(summary) };
}

function onSummary(poll) {
  page.summaryFailure = poll.failure ?? null;
  showFresh();
  showHead();
  showTabs();
  showTitle();
  if (!page.summary) showPart();
}

const showFresh = () => showFreshness(place("fresh"), asOldAs(summaryPoll, page.updated));

function showTitle() {
  const word = page.summary?.state?.word;
  const ill = page.summary && ["bad", "warn"].includes(page.summary.state?.tone) ? `(${word}) ` : "";
  document.title = `${ill}${name.slice(0, 80)} · ${titleOf(page.part, page.summary)} · tailrace`;
}

function showHead() {
  const { summary, summaryFailure } = page;
  if (!summary && summaryFailure)
    render(
      place("summary"),
      h("h1", null, name),
      failed(summaryFailure, () => summaryPoll.now()),
    );
  else if (summary) render(place("summary"), header(name, summary, context));
  else render(place("summary"), h("h1", null, name));
}

function showTabs() {
  const known = page.summary?.parts;
  const all = Object.keys(PARTS).filter((part) => part !== "answer" && (!known || known.includes(part)));
  const chosen = page.part === "answer" ? "answers" : page.part;
  const isAbsent = !known && ABSENT.includes(page.summaryFailure?.status);
  const shown = isAbsent ? [] : known ? all : [chosen];
  render(
    place("tabs"),
    shown.length
      ? tabs(
          shown.map((part) => ({ id: part, title: titleOf(part, page.summary), href: queryAddress(name, { part }) })),
          chosen,
          (part) => go(part, {}),
        )
      : null,
  );
  place("part").setAttribute("aria-labelledby", `tab-${chosen}`);
  if (shownTab !== chosen || !known) place(`tab-${chosen}`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  shownTab = known ? chosen : null;
}

function showPart() {
  const root = place("part");
  const module = PARTS[page.part];
  root.setAttribute("aria-busy", String(page.isStale && !page.failure));
  if (!page.summary && ABSENT.includes(page.summaryFailure?.status)) return render(root); // the head says it
  if (!page.data) return render(root, page.failure ? failed(page.failure, () => partPoll.now()) : loading());
  let body;
  try {
    body = module.show(page.data, context);
  } catch (error) {
    body = empty(`This part could not be drawn from what the server sent: ${error.message}`);
    console.warn(error); // the other parts still work
  }
  return render(
    root,
    h(
      "div",
      { key: page.part, class: "stack" },
      page.failure
        ? h(
            "div",
            { class: "stack" },
            h("p", { class: "note" }, "Not updated since ", time(page.updated), "; what you see is from then."),
            failed(page.failure, () => partPoll.now()),
          )
        : null,
      page.part === "answer" ? null : h("h2", { class: "offscreen" }, titleOf(page.part, page.summary)),
      damages(page.data),
      note(page.data.note),
      body,
    ),
  );
}

function showAll() {
  render(place("zone"), zoneSwitch());
  showFresh();
  showHead();
  showPart();
}

const actions = new Actions(place("actions"), context, () => partPoll?.now());
const summaryPoll = new Poll(readSummary, onSummary);
window.addEventListener("popstate", (event) => {
  const before = page.part;
  page.top = event.state?.top ?? null;
  readAddress();
  enter(before !== page.part);
});
onZone(showAll);
showAll();
enter(true);
