// Requests to the server that the page came from; addresses follow from where this file was loaded.

import { take } from "./early.js";

export const BASE = new URL("..", import.meta.url);
export const AIRFLOW = new URL("..", BASE);
const WAIT_MS = 30000;
const LOGIN_PAUSE_MS = 20000;

// What a request failed with. `problems` say where, what, and what would be right.
export class Failure extends Error {
  constructor(status, problems, isTemporary) {
    super(problems.map((problem) => problem.fault).join("; "));
    this.status = status;
    this.problems = problems;
    this.isTemporary = isTemporary;
  }
}

const isProblem = (value) => value && typeof value === "object" && typeof value.fault === "string";

function failure(status, body, path, isAction) {
  if (Array.isArray(body?.problems) && body.problems.every(isProblem) && body.problems.length) {
    return new Failure(status, body.problems, Boolean(body.is_temporary));
  }
  const detail = detailOf(body);
  const named = {
    401: ["you are not logged in, or your session ended", "Log in to Airflow, and come back"],
    403: isAction
      ? [
          "you have no right to do this",
          detail || "Ask an administrator of Airflow for the right to trigger and edit this DAG",
        ]
      : [
          "you have no right to see this",
          detail || "Ask an administrator of Airflow for the right to read this DAG and its logs",
        ],
    404: ["the server has nothing at this address", "Check the query's name; it may have been removed"],
  }[status] ?? [
    `the server answered ${status}`,
    status >= 500 ? "The page tries again by itself" : "Read the API server's log",
  ];
  const fault = detail && status !== 403 ? `${named[0]}: ${detail}` : named[0];
  return new Failure(status, [{ where: path, fault, remedy: named[1] }], status >= 500 || status === 429);
}

function detailOf(body) {
  const detail = body?.detail;
  if (typeof detail === "string") return detail === "Forbidden" ? "" : detail;
  if (detail && typeof detail === "object") {
    if (typeof detail.message === "string") return detail.message;
    if (typeof detail.reason === "string") return detail.reason;
    return JSON.stringify(detail).slice(0, 400);
  }
  return "";
}

async function fetched(url, path, options, signal) {
  const limit = AbortSignal.timeout(WAIT_MS);
  let answer;
  let body = null;
  try {
    answer = await (take(url.href) ??
      fetch(url, {
        credentials: "same-origin",
        ...options,
        headers: { Accept: "application/json", ...options.headers },
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      }));
    const text = await answer.text();
    try {
      body = text ? JSON.parse(text) : null;
    } catch {
      if (answer.ok)
        throw new Failure(
          502,
          [{ where: path, fault: "the answer is no JSON", remedy: "Read the API server's log" }],
          true,
        );
    }
  } catch (error) {
    if (error instanceof Failure || signal?.aborted) throw error;
    const fault = limit.aborted || error.name === "TimeoutError" ? `no answer within ${WAIT_MS / 1000} s` : "the server can't be reached";
    throw new Failure(0, [{ where: path, fault, remedy: "The page tries again by itself" }], true);
  }
  if (!answer.ok) throw failure(answer.status, body, path, options.method !== undefined);
  return body ?? {};
}

// Read `path` below the console's API.
export function get(path, params = {}, signal = undefined) {
  const url = new URL(`api/${path}`, BASE);
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  return fetched(url, path, {}, signal);
}

// Send a request to Airflow's own API; its rights, audit and guard against forged requests hold.
export function send(method, path, body) {
  const url = new URL(`api/v2/${path.replace(/^\/+/, "").replace(/^api\/v2\//, "")}`, AIRFLOW);
  const options = { method, body: JSON.stringify(body ?? {}), headers: { "Content-Type": "application/json" } };
  return fetched(url, `${method} ${path}`, options);
}

// Return the address of a query's page.
export function queryAddress(name, params = {}) {
  const url = new URL(`queries/${encodeURIComponent(name)}`, BASE);
  for (const [key, value] of Object.entries(params))
    if (value !== null && value !== undefined) url.searchParams.set(key, value);
  return url.href;
}

// Return the address of one of Airflow's pages; null for what leads away from this server.
export function airflowAddress(path) {
  if (typeof path !== "string" || !path) return null;
  try {
    const url = new URL(path.replace(/^\/+/, ""), AIRFLOW);
    return url.origin === AIRFLOW.origin && url.protocol === AIRFLOW.protocol ? url.href : null;
  } catch {
    return null;
  }
}

// Return the address of Airflow's log-in, which comes back to what the reader sees now.
export function loginAddress() {
  const url = new URL("api/v2/auth/login", AIRFLOW);
  let seen = window.location.href;
  try {
    if (window.top !== window) seen = window.top.location.href;
  } catch {
    // framed by another server: come back to this page
  }
  url.searchParams.set("next", seen);
  return url.href;
}

// Go to an address in the whole window, also from inside Airflow's frame: its document may leave, the frame may not.
export function goTop(address) {
  let page = document;
  try {
    page = window.top.document;
  } catch {
    // framed by another server: only the frame can go
  }
  const link = page.createElement("a");
  link.href = address;
  page.body.append(link);
  link.click();
  link.remove();
}

// Go to the log-in once; a second time within seconds would be a loop, and the page shows a link in place of it.
export function goToLogin() {
  const last = Number(window.sessionStorage.getItem("tailrace.login") ?? 0);
  if (Date.now() - last < LOGIN_PAUSE_MS) return;
  window.sessionStorage.setItem("tailrace.login", String(Date.now()));
  goTop(loginAddress());
}
