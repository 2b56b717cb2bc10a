// Actions by Airflow's own API: each says beforehand what it will do, and links to its run afterwards.

import { field, isEmpty, prefill, read, sourceOf, takesAll } from "./action_form.js";
import { airflowAddress, get, send } from "./api.js";
import { announce, h, render } from "./dom.js";
import { dryRuns } from "./dry_runs.js";
import { uncorrected } from "./range.js";
import { moment } from "./time.js";
import { airflowLink, failed, longText, problems } from "./ui.js";

const OLD_MS = 30000;

// Whether an action has a button here; others stand beside what they accept, or what they unpause.
const hasButton = (action) => action.name !== "accept" && !action.name.startsWith("unpause_");

export class Actions {
  constructor(root, context, onDone) {
    Object.assign(this, { root, context, onDone, list: [], outcome: null, loadedAt: 0 });
  }

  // Whether the list may be out of date: a run that was watched may be over.
  isOld() {
    return Date.now() - this.loadedAt > OLD_MS;
  }

  async load() {
    this.loadedAt = Date.now();
    try {
      const answer = await get(`queries/${encodeURIComponent(this.context.name)}/actions`);
      this.list = Array.isArray(answer.actions) ? answer.actions : [];
      this.failure = null;
    } catch (failure) {
      this.failure = failure;
    }
    this.show();
  }

  has(name) {
    return this.list.some((action) => action.name === name && action.is_allowed);
  }

  show() {
    if (this.failure) {
      if (this.failure.status === 401) return;
      render(
        this.root,
        h(
          "details",
          null,
          h("summary", null, "The actions are not known"),
          failed(this.failure, () => this.load()),
        ),
      );
      return;
    }
    render(
      this.root,
      this.list.length
        ? h(
            "div",
            { class: "row", role: "group", "aria-label": "Actions" },
            this.list.filter(hasButton).map((action) => {
              const why = action.is_allowed ? action.says : (action.why_not ?? "You may not do this.");
              return [
                h(
                  "button",
                  {
                    type: "button",
                    key: action.name,
                    title: why,
                    "aria-describedby": action.is_allowed ? null : `why-${action.name}`,
                    class: action.is_allowed ? null : "off",
                    on: { click: () => this.begin(action) },
                  },
                  `${action.title} …`,
                ),
                action.is_allowed ? null : h("span", { class: "offscreen", id: `why-${action.name}` }, why),
              ];
            }),
          )
        : null,
      this.outcome,
      dryRuns(this.list, this),
    );
  }

  // Open an action's form; a correction's takes the range that the reader drew.
  begin(action) {
    if (action.name === "correct") this.context.correct(this.context.selected);
    else this.openDialog(action, null);
  }

  async open(name, range) {
    if (!this.list.some((each) => each.name === name)) await this.load(); // it has become possible since
    const action = this.list.find((each) => each.name === name);
    if (action) this.openDialog(action, range);
    else this.onDone(); // what asked for it is out of date
  }

  openDialog(action, range) {
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" });
    const close = () => {
      dialog.close();
    };
    dialog.addEventListener("close", () => dialog.remove()); // the browser has moved the focus back by then
    const state = { isBusy: false, failure: null, question: null };
    const values = prefill(action.fields ?? [], range);
    const show = () =>
      render(
        dialog,
        h(
          "form",
          {
            method: "dialog",
            on: {
              submit: (event) => {
                event.preventDefault();
                run(event.currentTarget);
              },
              input: () => {
                if (!state.question) return;
                state.question = null; // it was about other values
                show();
              },
            },
          },
          h("h2", { id: "dialog-title" }, action.title),
          action.says ? h("p", null, longText(action.says, 1000)) : null,
          sourceOf(range) ? h("p", { class: "hint" }, sourceOf(range)) : null,
          action.is_allowed
            ? null
            : problems([
                {
                  where: action.title,
                  fault: action.why_not ?? "you may not do this",
                  remedy: "Ask an administrator of Airflow for the right, or see the stream's state",
                },
              ]),
          action.is_allowed ? (action.fields ?? []).map((each) => field(each, values[each.name])) : null,
          state.question
            ? h("p", { class: "note", tabindex: "-1", role: "alert", "data-question": true }, state.question)
            : null,
          state.failure ? failed(state.failure) : null,
          h(
            "div",
            { class: "row end" },
            h("button", { type: "button", on: { click: close } }, action.is_allowed ? "Cancel" : "Close"),
            action.is_allowed
              ? h(
                  "button",
                  { type: "submit", class: "primary", disabled: state.isBusy },
                  state.isBusy ? "Wait …" : state.question ? `${action.title} everything` : action.title,
                )
              : null,
          ),
        ),
      );
    const run = async (form) => {
      const conf = read(action.fields ?? [], form);
      if (action.asks && isEmpty(conf) && !state.question) return ask();
      Object.assign(state, { isBusy: true, failure: null });
      show();
      try {
        const answer = await this.send(action, conf);
        this.outcome = outcome(action, answer);
        announce(`${action.title}: sent to Airflow`);
        close();
        this.show();
        this.onDone();
        this.load();
      } catch (failure) {
        Object.assign(state, { isBusy: false, failure });
        show();
      }
    };
    // Say what a form without values would do; a second press sends it.
    const ask = async () => {
      state.isBusy = true;
      show();
      const found = await uncorrected(this.context, null).catch((failure) => failure);
      Object.assign(state, { isBusy: false, question: `${action.asks} ${takesAll(found)}` });
      show();
      dialog.querySelector("[data-question]")?.focus(); // so that Enter, held down, sends nothing
    };
    show();
    document.body.append(dialog);
    dialog.showModal();
  }

  // Send the requests in their order; the fields go into the last one's conf.
  async send(action, conf) {
    const requests = action.requests ?? [];
    let answer = {};
    for (const [index, request] of requests.entries()) {
      const isLast = index === requests.length - 1;
      const body =
        isLast && action.fields?.length ? { ...request.body, conf: { ...request.body?.conf, ...conf } } : request.body;
      answer = await send(request.method, request.path, body);
    }
    return answer;
  }
}

function outcome(action, answer) {
  const run = answer.dag_run_id ?? "";
  const path =
    action.run && (run || !action.run.includes("{dag_run_id}"))
      ? action.run.replaceAll("{dag_run_id}", encodeURIComponent(run))
      : null;
  const address = airflowAddress(path);
  return h(
    "p",
    { class: "note outcome" },
    `${action.title}: sent to Airflow at ${moment(Date.now())}. `,
    address ? airflowLink(address, run ? `See its run ${run.slice(0, 80)}` : "See it in Airflow") : null,
  );
}
