// Sends a page's first requests while its other modules still load: it imports nothing, so it runs before them.

export const PARTS = ["frontier", "activity", "promise", "answers", "late", "ledger", "quarantine", "kind", "settings"];
const BASE = new URL("..", import.meta.url);
const WAIT_MS = 30000;
const sent = new Map();

function send(path) {
  const url = new URL(`api/${path}`, BASE).href;
  const headers = { Accept: "application/json" };
  const answer = fetch(url, { credentials: "same-origin", headers, signal: AbortSignal.timeout(WAIT_MS) });
  answer.catch(() => {}); // who takes it sees its failure
  sent.set(url, answer);
}

// Return the answer of a request that was sent early, once; undefined for all others.
export function take(url) {
  const answer = sent.get(url);
  sent.delete(url);
  return answer;
}

const here = new URL(window.location.href);
const [directory, name] = here.pathname.slice(BASE.pathname.length).split("/");
if (!directory) send("streams?offset=0&limit=50");
else if (directory === "queries" && name) {
  const part = here.searchParams.get("part") ?? "frontier";
  send(`queries/${name}/summary`);
  // A part with settings of its own, as a range, is asked for by its module.
  if (PARTS.includes(part) && [...here.searchParams.keys()].every((key) => key === "part"))
    send(`queries/${name}/${part}`);
}
