// Repeats a request while the page is seen, slower while the server fails, and says how old the page is.

import { announce, h, render } from "./dom.js";
import { duration } from "./format.js";
import { brief, time } from "./time.js";

const EVERY_MS = 5000;
const SOON_MS = 300; // after a partial answer
const SLOWEST_MS = 60000;

export class Poll {
  // `read(signal)` fetches and shows; it throws a Failure. It may return that more is about to be known: `{ isPartial }`.
  constructor(read, onChange = () => {}) {
    this.read = read;
    this.onChange = onChange;
    this.failures = 0;
    this.partial = 0; // answers in a row that were partial
    this.updated = null;
    this.timer = null;
    this.stopper = null;
    this.isStopped = false;
    this.isAsking = false;
    this.onVisible = () => {
      if (document.hidden) clearTimeout(this.timer);
      else this.now();
    };
    document.addEventListener("visibilitychange", this.onVisible);
  }

  async now() {
    clearTimeout(this.timer);
    this.stopper?.abort();
    const stopper = new AbortController();
    this.stopper = stopper;
    this.isAsking = true;
    try {
      const result = await this.read(stopper.signal);
      this.partial = result?.isPartial ? this.partial + 1 : 0;
      this.failures = 0;
      this.updated = Date.now();
      this.failure = null;
    } catch (failure) {
      if (stopper.signal.aborted) return;
      this.failures += 1;
      this.failure = failure;
    }
    if (stopper.signal.aborted || this.isStopped) return;
    this.isAsking = false;
    this.onChange(this);
    this.plan();
  }

  // Ask beside another request, unless an answer is under way or the server fails.
  beside() {
    if (!this.isAsking && !this.failures) this.now();
  }

  plan() {
    if (document.hidden || this.isStopped || (this.failure && [401, 403, 404].includes(this.failure.status))) return;
    const usual = Math.min(SLOWEST_MS, EVERY_MS * 2 ** Math.min(this.failures, 4));
    const soon = SOON_MS * 2 ** Math.min(this.partial - 1, 8); // longer each time: a table may take for ever
    const wait = this.partial && !this.failures ? Math.min(usual, soon) : usual;
    this.timer = setTimeout(() => this.now(), wait);
  }

  stop() {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.stopper?.abort();
    document.removeEventListener("visibilitychange", this.onVisible);
  }
}

// Return how fresh a page of two polls is: as the older of both, where both have had an answer.
export function asOldAs({ failure, failures, updated }, other) {
  return { failure, failures, updated: other && updated && other < updated ? other : updated };
}

// Show how fresh the page is; a failing server is named, with the time of the last answer.
export function showFreshness(root, poll) {
  if (!poll.failure) {
    root.className = "fresh";
    render(root, poll.updated ? ["Updated ", time(Math.floor(poll.updated / 1000) * 1000, brief)] : "Loading …");
    return;
  }
  const { status, message } = poll.failure;
  const wait =
    status === 0 || poll.failure.isTemporary
      ? `; next try in at most ${duration(Math.min(SLOWEST_MS, EVERY_MS * 2 ** Math.min(poll.failures, 4)))}`
      : "";
  root.className = "fresh stale";
  const since = poll.updated
    ? ["Not updated since ", time(Math.floor(poll.updated / 1000) * 1000, brief)]
    : ["Not loaded"];
  render(root, h("strong", null, since), h("span", null, `${message}${wait}`));
  if (poll.failures === 1) announce(`Not updated: ${message}`);
}
