// The actions that the page requests from the proxy. Each needs the token in the page's URL.

import { download } from "./body.js";
import * as copy from "./copy.js";
import { h, replace, setText } from "./dom.js";
import { edit, warning } from "./edit.js";
import { line } from "./format.js";
import { closing } from "./menu.js";
import { answerPaused, editPaused } from "./pause.js";
import { shareLink, token } from "./place.js";
import { editRules } from "./rules.js";
import { isRedacted, REDACTED } from "./secrets.js";

export const NO_TOKEN = "This page is read-only: open the URL that byway status shows, which has a token.";

async function call(path, method = "POST", body) {
  if (token() === undefined) throw new Error(NO_TOKEN);
  let response;
  try {
    response = await fetch(path, {
      method, cache: "no-store", body: body === undefined ? undefined : JSON.stringify(body),
      headers: { "Byway-Token": token(), ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
    });
  } catch {
    throw new Error(`The inspector did not answer. ${method === "POST" ? "Check the list before you try again: the action may have been carried out." : ""}`);
  }
  if (response.status === 403) throw new Error("The proxy did not accept the token: it may have been restarted. Open the URL that byway status shows.");
  if (response.status === 409 || (response.status === 404 && path.startsWith("/api/paused/"))) throw new Error(line((await response.text()).trim()));
  if (response.status === 400 && response.headers.get("Content-Type") === "application/json") {
    const { part, reason } = await response.json();
    throw Object.assign(new Error(`${line(reason.charAt(0).toUpperCase() + reason.slice(1), 300)}.`), { part });
  }
  if (!response.ok) throw new Error(`The inspector answered ${response.status}: ${line((await response.text()).slice(0, 300))}`);
  return response;
}

export const clear = () => call("/api/clear");

export async function saveRecording() {
  const response = await call("/api/recording", "GET");
  const recording = await response.blob();
  if (recording.size === 0) throw new Error("There is nothing to record yet: an exchange must have ended, with its bodies kept completely.");
  download(recording, "byway.recording");
  return recording.size;
}

export async function saveHAR() {
  const response = await call("/api/har", "GET");
  download(await response.blob(), "byway.har");
}

/** The listener of the original request, for a request that was sent again. */
function listener(detail, store) {
  let first = detail;
  for (let left = 100; first?.resends !== undefined && left > 0; left -= 1) first = store.entries.get(first.resends)?.exchange;
  return (first ?? detail).listener;
}

export class Actions {
  /** `acts` has `say(text)`, `open(id)`, `mark(id)`, `showRules(state)`, `exchange(id)` and `now()`. */
  constructor(dialog, acts) {
    this.dialog = dialog;
    this.acts = acts;
  }

  buttons(view) {
    const { detail, source, store } = view;
    const able = !source.readonly && token() !== undefined;
    const button = (text, act, needsToken, need, kind) => (need === undefined || store.can.has(need)) && h("button", {
      type: "button", text, class: kind, disabled: needsToken && !able,
      title: needsToken && !able ? (source.readonly ? "Not available for a file." : NO_TOKEN) : undefined,
      onclick: () => this.attempt(act),
    });
    const menu = closing(h("details", { class: "menu" }, h("summary", { text: "Copy" }), h("div", {},
      ["curl", "byway", "swift"].map((form) => button({
        curl: "As curl", byway: "As byway request", swift: "As Swift",
      }[form], () => this.copyAs(form, view))),
      !source.readonly && button("Link to this exchange", async () => {
        await copy.toClipboard(shareLink(detail.id));
        this.acts.say("Link copied. It has no token, so it is read-only.");
      }))));
    return [
      button("Resend", () => this.resend(view), true, "resend", "first"),
      button("Edit and resend", () => this.edit(view), true, "resend"),
      menu, button("Compare with …", () => this.acts.mark(detail.id)),
      button("Inject faults …", () => this.editRules("faults", detail), true, "faults"),
      button("Break …", () => this.editRules("breakpoints", detail), true, "breakpoints"),
      button("Make a stub", () => this.stub(view), true),
    ];
  }

  async attempt(act) {
    try { await act(); } catch (error) { this.acts.say(error.message, true); }
  }

  async copyAs(form, { detail, source, store }) {
    const body = detail.requestBody ? await source.body(detail.id, "request") : undefined;
    const want = copy.wanted({ ...detail, listener: listener(detail, store) }, body, store.linkOf(detail));
    await copy.toClipboard(copy[form](want));
    const names = (list) => list.map((name) => line(name, 60)).join(", ");
    const lacks = copy.lacking(form, want);
    const inFile = copy.needsFile(want) && want.redacted.includes("the body");
    this.acts.say([
      "Copied.", want.hidden.length && `Left out as secret: ${names(want.hidden)}.`, lacks.length && `Left out: ${names(lacks)}.`,
      want.redacted.length && `The copy has placeholders for secrets in ${names(want.redacted)}: ${form === "swift" ? "fill them in" : "it asks for them as SECRET1 and so on"}.`,
      copy.needsFile(want) && `Save its body as body.bin first${inFile ? ", and write the secrets into it" : ""}.`,
      want.secrets.length && `The copy contains secrets: ${names(want.secrets)}.`,
    ].filter(Boolean).join(" "), want.redacted.length > 0);
  }

  async resend(view) {
    const { detail } = view;
    const doubt = warning(detail.method);
    if (doubt && !(await this.confirm(`Send ${line(detail.method, 20)} again?`, doubt, "Send it again"))) return;
    await this.send(detail.id, {});
  }

  async send(id, changes) {
    const answer = await (await call(`/api/exchanges/${id}/resend`, "POST", changes)).json();
    this.acts.say(`Sent as #${answer.id}.`);
    this.acts.open(answer.id);
  }

  async stub({ detail, store }) {
    const text = await (await call(`/api/exchanges/${detail.id}/stub`)).text();
    const area = h("textarea", { rows: 14, spellcheck: "false", "aria-label": "Stub", value: text });
    const canUse = store.can.has("stubs");
    this.show("Answer such requests with a stub", [
      h("p", {}, canUse && "Use it now, until the proxy ends. Or save it, ", !canUse && "Save it, ", "optionally with ", h("code", { text: "delay=2s" }), ", ", h("code", { text: "rate=1000" }), " or ", h("code", { text: "fail=linkLost" }),
        " after its path, and start the proxy with ", h("code", { text: "--stub FILE" }), "."), area,
      isRedacted(text) && h("p", { class: "quiet", text: `${REDACTED} stands for a secret, which is not part of the stub: write another value if it matters.` }),
    ], [
      ["Copy", async () => { await copy.toClipboard(area.value); this.acts.say("Copied."); }],
      ["Save", () => download(new Blob([area.value], { type: "text/plain" }), "byway.stub")],
      ...(canUse ? [["Use it now", async () => {
        await call("/api/stubs", "POST", { text: area.value });
        this.acts.say("The stub answers such requests from now on. “Rules …” lists it.");
      }, true]] : []),
    ]);
  }

  edit(view) { return edit(this, view); }

  /** `given` is an exchange like those that the rule is for. */
  editRules(kind, given) { return editRules(this, kind, given, this.acts.showRules); }

  editPaused(paused, exchange) { return this.attempt(() => editPaused(this, paused, exchange)); }

  answerPaused(paused, exchange) { return this.attempt(() => answerPaused(this, paused, exchange)); }

  exchange(id) { return this.acts.exchange(id); }

  now() { return this.acts.now(); }

  async decide(paused, act, changes) {
    await call(`/api/paused/${paused.id}/${act}`, "POST", changes);
    this.acts.say({ continue: "Continued.", answer: "Answered.", drop: "Dropped." }[act]);
  }

  call(path, method, body) { return call(path, method, body); }

  confirm(title, text, yes) {
    return new Promise((settle) => {
      this.show(title, [h("p", { text })], [[yes, () => settle(true), true]], () => settle(false));
    });
  }

  /** Shows a dialog with a button that closes it, and further buttons. */
  show(title, content, acts, dismissed) {
    const { dialog } = this;
    const problem = h("p", { class: "problem", role: "alert", hidden: true });
    const buttons = acts.map(([text, act, closes]) => h("button", { type: closes ? "submit" : "button", class: closes && "first", text, onclick: async (event) => {
      event.preventDefault();
      if (closes && !form.reportValidity()) return;
      try {
        if (closes) dismissed = undefined;
        await act();
        if (closes) dialog.close();
      } catch (error) {
        setText(problem, error.message);
        problem.hidden = error.isShown === true;
      }
    } }));
    const form = h("form", { method: "dialog" }, h("h2", { text: title }), content, problem,
      h(
        "div", { class: "tools" },
        h(
          "button",
          { type: "button", text: acts.some(([, , closes]) => closes) ? "Cancel" : "Close", onclick: () => dialog.close() },
        ),
        buttons,
      ));
    replace(dialog, form);
    dialog.setAttribute("aria-label", title);
    dialog.onclose = () => dismissed?.();
    dialog.showModal();
  }
}
