// Exchanges that wait at a breakpoint: what is to happen to them, and the forms for editing and answering them.

import { h, replace, setText } from "./dom.js";
import { parseFields, written } from "./edit.js";
import { bytes } from "./format.js";
import { editable, restored, visible } from "./marks.js";
import { HIDDEN, isRedacted, REDACTED } from "./secrets.js";

const seconds = (paused, now) => Math.max(0, Math.ceil((paused.until - now) / 1000));

/** The time until an exchange continues. */
export const left = (paused, now) => `${seconds(paused, now)} s`;

/** The buttons for a paused exchange, with the time that is left. */
export class PauseBar {
  /** `acts` has `able()`, and `decide(paused, act, changes)`, `edit(paused, exchange)` and `answer(paused, exchange)`. */
  constructor(acts) {
    this.acts = acts;
    this.text = h("span");
    this.time = h("span", { role: "timer", class: "amount" });
    this.buttons = h("span", { class: "tools" });
    this.element = h("div", { class: "pause", role: "group", "aria-label": "Paused exchange", hidden: true }, h("p", {}, this.text, this.time, "."), this.buttons);
  }

  /** Shows the pause of an exchange, or that there is none. Returns whether it ended while one of its buttons had the focus. */
  show(exchange, now) {
    const paused = exchange?.state === "running" ? exchange.paused : undefined;
    if (paused?.id === this.id) {
      if (paused) setText(this.time, left(paused, now));
      return false;
    }
    const hadFocus = this.element.contains(document.activeElement);
    this.id = paused?.id;
    this.element.hidden = paused === undefined;
    if (paused === undefined) {
      this.buttons.replaceChildren();
      return hadFocus;
    }
    setText(this.text, `Paused at the ${paused.at}. It continues unchanged in `);
    setText(this.time, left(paused, now));
    const why = this.acts.able();
    const button = (text, act, kind) => h("button", {
      type: "button", text, class: kind, disabled: why !== undefined, title: why, onclick: act,
    });
    replace(
      this.buttons, button("Continue", () => this.acts.decide(paused, "continue", {}), "first"), button("Edit …", () => this.acts.edit(paused, exchange)),
      button("Answer …", () => this.acts.answer(paused, exchange)), button("Drop", () => this.acts.decide(paused, "drop", {})),
    );
    if (hadFocus) this.focus();
    return false;
  }

  focus() { this.buttons.querySelector("button:not(:disabled)")?.focus(); }
}

/** A part of the form, with a place for the reason why it was refused. */
function part(name, text, input, ...notes) {
  const id = `part-${name}`;
  const reason = h("p", { class: "problem", id: `${id}-problem`, role: "alert", hidden: true });
  input.id = id;
  input.addEventListener("input", () => clear(input, reason));
  return h("div", { class: "formpart", "data-part": name }, h("label", { for: id }, h("span", { text }), input), reason, notes);
}

function clear(input, reason) {
  reason.hidden = true;
  input.removeAttribute("aria-invalid");
  input.removeAttribute("aria-describedby");
}

/** Shows why a part was refused, beside it. Returns whether the form has that part. */
function refuse(form, { part: name, message }) {
  const place = [...form.querySelectorAll("[data-part]")].find((one) => one.dataset.part === name);
  const input = place?.querySelector("input, textarea");
  if (!input) return false;
  const reason = place.querySelector(".problem");
  setText(reason, message);
  reason.hidden = false;
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", reason.id);
  input.focus();
  return true;
}

/** The fields of a message as text: `{part, value()}`; `value()` is `undefined` without changes. */
function fieldsForm(fields) {
  const before = fields.map((field) => [field.name, field.value === undefined ? HIDDEN : visible(field.value)]);
  const text = written(before);
  const input = h("textarea", { rows: 7, spellcheck: "false", value: text });
  return {
    part: part("fields", "Fields, one on each line", input,
      text.includes(HIDDEN) && h("p", { class: "quiet", text: `${HIDDEN} stands for a secret, which goes on as it was.` })),
    value() {
      if (input.value === text) return undefined;
      try {
        return parseFields(input.value, before).map((pair) => pair.map(restored));
      } catch (error) {
        throw Object.assign(error, { part: "fields" });
      }
    },
  };
}

/** The body of a message: `{part, value(), take(body)}`. A body that is still arriving is shown when it is complete. */
function bodyForm(first) {
  const place = h("div", {});
  const form = { part: place, isArriving: false };
  form.take = (body) => {
    form.isArriving = body.arriving === true;
    form.value = () => undefined;
    if (body.text === undefined) {
      const text = form.isArriving ? `Body: ${bytes(body.bytes)} so far. It can be edited when it has arrived.` : `Body: ${body.fixed}`;
      return replace(place, h("p", { class: "quiet", role: "status", text }));
    }
    const { shown, text } = editable(body.text);
    const input = h("textarea", { rows: 10, spellcheck: "false", class: "foreign", value: shown });
    // A text area may change what it was given.
    const untouched = input.value;
    form.value = () => (input.value === untouched ? undefined : text(input.value));
    const notes = [
      isRedacted(body.text) && `${REDACTED} stands for a secret. An unchanged body goes on as it was; in a changed one, write the secret.`,
      shown.includes("⟨U+") && "Marks such as ⟨U+202E⟩ stand for invisible characters.",
    ];
    return replace(place, part("body", "Body", input, notes.filter(Boolean).map((note) => h("p", { class: "quiet", text: note }))));
  };
  form.take(first);
  return form;
}

/** Shows a form for a paused exchange, with the time that is left, until it is sent or the pause ends. */
function form(actions, paused, exchange, { title, content, send, act, look }) {
  const time = h("p", { class: "quiet", role: "timer" });
  const ended = h("p", { class: "doubt", role: "alert", hidden: true });
  const watch = () => {
    const now = actions.exchange(exchange.id);
    if (now?.paused?.id === paused.id) {
      setText(time, `It continues unchanged in ${left(paused, actions.now())}.`);
      look?.();
      return;
    }
    clearInterval(timer);
    time.hidden = true;
    setText(ended, now?.failure?.code === "cancelled" ? "Its client has left: the exchange has ended." : "It is no longer paused: it has continued.");
    ended.hidden = false;
    for (const button of actions.dialog.querySelectorAll("button.first")) button.disabled = true;
  };
  actions.show(title, [time, ended, content], [[send, async () => {
    try {
      await act();
      clearInterval(timer);
    } catch (error) {
      error.isShown = refuse(actions.dialog, error);
      throw error;
    }
  }, true]], () => clearInterval(timer));
  const timer = setInterval(watch, 250);
  watch();
}

const wrong = (pattern, title) => ({ pattern, title, required: true, spellcheck: "false" });

/** The form for editing. */
export async function editPaused(actions, paused, exchange) {
  const read = async () => (await actions.call(`/api/paused/${paused.id}`, "GET")).json();
  const message = await read();
  const fields = fieldsForm(message.fields);
  const body = bodyForm(message.body);
  const isRequest = message.at === "request";
  const method = isRequest && h("input", { ...wrong("[!#$%&'*+.^_`\\|~0-9A-Za-z\\-]+", "A method"), size: 10, autocapitalize: "characters", value: message.method });
  const path = isRequest && h("input", { ...wrong(".+", "A path"), class: "wide", value: message.path });
  const status = !isRequest && h("input", { type: "number", required: true, min: 200, max: 599, value: message.status });
  if (message.tunnel) throw new Error("It opens a tunnel: it can be continued, answered or dropped, but not edited.");
  let isReading = false;
  form(actions, paused, exchange, {
    title: `Edit the ${message.at} of #${exchange.id}`, send: "Continue with these changes",
    content: [
      isRequest ? h("div", { class: "pair" }, part("method", "Method", method), part("path", "Path", path)) : part("status", "Status", status),
      fields.part, body.part,
    ],
    async look() {
      if (!body.isArriving || isReading) return;
      isReading = true;
      try { body.take((await read()).body); } catch { /* The pause has ended, which the next look shows. */ }
      isReading = false;
    },
    act: () => actions.decide(paused, "continue", {
      method: isRequest && method.value !== message.method ? method.value.trim() : undefined,
      path: isRequest && path.value !== message.path ? path.value : undefined,
      status: !isRequest && status.valueAsNumber !== message.status ? status.valueAsNumber : undefined,
      fields: fields.value(), body: body.value(),
    }),
  });
}

/** The form for an answer in place of the far end's. */
export function answerPaused(actions, paused, exchange) {
  const status = h("input", { type: "number", required: true, min: 200, max: 599, value: 200 });
  const fields = fieldsForm([{ name: "content-type", value: "text/plain; charset=utf-8" }]);
  const body = h("textarea", { rows: 10, spellcheck: "false" });
  form(actions, paused, exchange, {
    title: `Answer #${exchange.id} here`, send: "Answer",
    content: [part("status", "Status", status), fields.part, part("body", "Body", body)],
    act: () => actions.decide(paused, "answer", {
      status: status.valueAsNumber, fields: fields.value() ?? [["content-type", "text/plain; charset=utf-8"]], body: body.value || undefined,
    }),
  });
}
