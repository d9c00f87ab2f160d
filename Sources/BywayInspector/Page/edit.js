// The form for changing a request and sending it again. Unchanged parts are sent as they were, including secrets.

import { OWN } from "./copy.js";
import { h, setText } from "./dom.js";
import { bytes, line } from "./format.js";
import { CODING, HIDDEN, isChanged, isRedacted, isRestored, REDACTED } from "./secrets.js";

const SAFE = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);
const IDEMPOTENT = new Set(["PUT", "DELETE"]);

/** The warning for a method that is not safe to repeat (RFC 9110 §9.2.1 and §9.2.2); `undefined` if it is safe. */
export function warning(method) {
  if (SAFE.has(method)) return undefined;
  if (IDEMPOTENT.has(method)) return `${method} changes state. Repeating it has no further effect, unless the state has changed in between.`;
  return `${line(method, 20)} is not safe to repeat: the device may repeat the action, for example print, pay or move twice.`;
}

/** `actions` has `show(title, content, acts)` and `send(id, changes)`. */
export async function edit(actions, { detail, source }) {
  const raw = detail.requestBody ? await source.body(detail.id, "request") : new Uint8Array();
  const asked = (detail.requestFields ?? []).filter((field) => field.mark !== "added" && !OWN.has(field.name.toLowerCase()));
  const shown = (field) => (field.secret ? HIDDEN : field.mark === "changed" ? field.was ?? field.value : field.value);
  const before = asked.filter((field) => !/[\r\n]/.test(shown(field))).map((field) => [field.name, shown(field)]);
  const text = written(before);
  const method = h("input", {
    value: detail.method, size: 10, autocapitalize: "characters", spellcheck: "false", required: true,
    pattern: "[!#$%&'*+.^_`\\|~0-9A-Za-z\\-]+",
  });
  const path = h("input", { value: detail.path, spellcheck: "false", required: true, class: "wide" });
  const fields = h("textarea", { rows: 8, spellcheck: "false", value: text });
  const body = bodyForm(raw, detail);
  const doubt = h("p", { class: "doubt", role: "status" });
  const judge = () => {
    const word = warning(method.value.toUpperCase());
    setText(doubt, word ?? "");
    doubt.hidden = word === undefined;
  };
  method.addEventListener("input", judge);
  judge();
  const note = (text) => h("p", { class: "quiet", text });
  actions.show(`Edit #${detail.id} and send it again`, [
    h("div", { class: "pair" }, h("label", {}, "Method", method), h("label", { class: "wide" }, "Path", path)),
    isRedacted(detail.path) && note(`${REDACTED} in the path stands for a secret. If you do not change the path, it is sent as it was; otherwise, write the secret in.`),
    h("label", {}, "Fields, one on each line", fields),
    text.includes(HIDDEN) && note(`${HIDDEN} stands for a secret, which is sent as it was.`),
    h("label", {}, body.title, body.input), body.note && note(body.note), doubt,
  ], [["Send", async () => {
    const changes = {};
    if (method.value !== detail.method) changes.method = method.value.trim();
    if (path.value !== detail.path) changes.path = complete(path.value, "path");
    if (fields.value !== text) changes.fields = parseFields(fields.value, before);
    if (body.input.value !== body.untouched) {
      changes.body = base64(new TextEncoder().encode(complete(body.input.value, "body")));
      if (isRestored(detail.requestBody, asked)) {
        changes.fields = (changes.fields ?? parseFields(text, before)).filter(([name]) => name.toLowerCase() !== CODING);
      }
    }
    await actions.send(detail.id, changes);
  }, true]]);
}

/** `{input, untouched, title, note}`. */
function bodyForm(raw, { requestBody: facts, requestBytes }) {
  let text;
  try { text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw); } catch { /* It is not text. */ }
  const form = { title: "Body", note: undefined };
  const isWhole = facts?.whole ?? true;
  if (!facts && requestBytes > 0) form.title = `Body: ${bytes(requestBytes)}, not kept; write all of it`;
  else if (text === undefined) form.title = `Body: ${bytes(raw.length)}, not text; sent unchanged, unless you write another`;
  else if (facts !== undefined && raw.length === 0) form.title = `Body: ${bytes(facts.kept)} with secrets, not shown; sent unchanged, unless you write another`;
  else if (!isWhole) form.title = "Body: only its beginning was kept; write all of it";
  else if (isChanged(facts, raw)) {
    form.note = `${REDACTED} in the body stands for a secret. If you do not change the body, it is sent as it was; otherwise, write the secret in.`;
  }
  form.input = h("textarea", { rows: 8, spellcheck: "false", value: isWhole ? text ?? "" : "" });
  // A text area has only LF as line break; an unchanged body is sent as received.
  form.untouched = form.input.value;
  return form;
}

/** @throws if a secret must still be written in. */
function complete(text, where) {
  if (!isRedacted(text)) return text;
  throw new Error(`The ${where} has ${REDACTED} in it: write the secret in its place, or do not change the ${where} at all.`);
}

export const written = (pairs) => pairs.map(([name, value]) => `${name}: ${value}`).join("\n");

/** Reads pairs in the format of the feed: a name without a value keeps its values.
    @throws if a line is no field, or the placeholder of a secret would be sent. */
export function parseFields(text, before) {
  const pairs = text.split("\n").filter((row) => row.trim() !== "").map((row) => {
    const at = row.indexOf(":", 1);
    if (at < 0) throw new Error(`“${line(row, 60)}” is not a field: write NAME: VALUE.`);
    return [row.slice(0, at).trim(), row.slice(at + 1).trim()];
  });
  const of = (list, name) => list.filter(([other]) => other.toLowerCase() === name);
  const kept = new Set();
  return pairs.flatMap(([name, value]) => {
    const key = name.toLowerCase();
    if (kept.has(key)) return [];
    const mine = of(pairs, key);
    if (!mine.some(([, value]) => value.includes(HIDDEN))) {
      const was = of(before, key).some(([, known]) => known === value);
      return [[name, isRedacted(value) && !was ? complete(value, `field ${line(key, 40)}`) : value]];
    }
    // Fields of one name can keep their secret values only all together.
    if (String(mine.map(([, value]) => value)) !== String(of(before, key).map(([, value]) => value))) {
      throw new Error(`${line(name, 60)} has a secret that is not shown: leave it unchanged, or write all of it.`);
    }
    kept.add(key);
    return [[name]];
  });
}

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}
