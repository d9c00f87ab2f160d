// HAR files, of Byway and other programs, as exchanges. All their data is foreign: each value is converted to the expected type.

const text = (value, limit = 1 << 20) => (["string", "number", "boolean"].includes(typeof value) ? String(value).slice(0, limit) : undefined);
const amount = (value) => (typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined);
const object = (value) => (value !== null && typeof value === "object" ? value : {});
const list = (value) => (Array.isArray(value) ? value : []);

const MOST = 20_000;

/** `{entries, left}`: `left` is the number of further entries, which are not shown.
    @throws if it is not a HAR file. */
export function parse(source) {
  let entries;
  try {
    entries = JSON.parse(source).log.entries;
  } catch {
    throw new Error("It is not a HAR file.");
  }
  if (!Array.isArray(entries)) throw new Error("It is not a HAR file: it has no entries.");
  return { entries: entries.slice(0, MOST).map((entry, index) => exchange(object(entry), index + 1)), left: Math.max(0, entries.length - MOST) };
}

function exchange(entry, id) {
  const request = object(entry.request);
  const response = object(entry.response);
  const content = object(response.content);
  const timings = object(entry.timings);
  const own = object(entry._byway);
  const url = parts(text(request.url) ?? "");
  const posted = object(request.postData);
  const isPostedBytes = (posted._encoding ?? posted.encoding) === "base64";
  const isBytes = content.encoding === "base64";
  const bodyOf = (value, isCoded) => (isCoded ? fromBase64 : encode)(text(value, 64 << 20));
  const requestBody = bodyOf(posted.text, isPostedBytes);
  const responseBody = bodyOf(content.text, isBytes);
  const status = amount(response.status);
  const step = (name) => amount(timings[name]) ?? 0;
  const sent = step("blocked") + step("dns") + step("connect");
  const requestEnded = sent + step("send");
  const answered = requestEnded + step("wait");
  const ended = Math.max(amount(entry.time) ?? 0, answered + step("receive"));
  const failed = !status;
  const all = {
    id, state: failed ? "failed" : "done", version: text(response.httpVersion ?? request.httpVersion, 20),
    method: text(request.method, 100) ?? "GET", ...url,
    status: status || undefined, type: mediaType(content.mimeType), requestType: mediaType(posted.mimeType),
    begun: Date.parse(text(entry.startedDateTime)) || 0,
    sent: amount(own.sent) ?? sent, requestEnded: amount(own.requestEnded) ?? requestEnded,
    left: amount(own.left), arrived: amount(own.arrived), replied: amount(own.replied), carriedBytes: amount(own.carriedBytes),
    answered: amount(own.answered) ?? (failed ? undefined : answered), ended: amount(own.ended) ?? ended,
    requestBytes: amount(request.bodySize) ?? requestBody?.length ?? 0,
    responseBytes: amount(content.size) ?? responseBody?.length ?? 0,
    upstream: text(own.upstream, 300), attempts: amount(own.attempts), cache: text(own.cache, 20),
    from: text(own.from, 20), trace: text(own.trace, 100),
    held: held(own.held),
    notes: list(entry._notes).slice(0, 64).map(object).map((note) => ({ plugin: text(note.plugin, 100) ?? "", text: text(note.text, 1000) ?? "" })),
    failure: failed ? failure(own.failure, response) : undefined,
    requestFields: fields(request.headers), responseFields: fields(response.headers), requestBody: kept(requestBody, isPostedBytes),
    responseBody: kept(responseBody, isBytes),
  };
  return { detail: clean(all), request: requestBody, response: responseBody };
}

/** The times in which a user of the inspector kept it waiting. */
const held = (value) => (Array.isArray(value) ? value.slice(0, 64).map(object).map(({ by, from, to }) => clean({
  by: by === "fault" ? "fault" : "breakpoint", from: amount(from) ?? 0, to: amount(to),
})) : undefined);

function failure(own, response) {
  const { code, party, message, advice } = object(own);
  return clean({
    code: text(code, 60) ?? "failed", party: text(party, 60),
    message: text(message ?? response._error, 2000) ?? "It has no answer.", advice: text(advice, 2000),
  });
}

const clean = (record) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
// Text in a file is Unicode, regardless of its original encoding.
const kept = (body, isBytes) => (body ? { kept: body.length, whole: true, ...(!isBytes && { charset: "utf-8" }) } : undefined);
const encode = (value) => (value ? new TextEncoder().encode(value) : undefined);
const mediaType = (value) => text(value, 200)?.split(";")[0].trim().toLowerCase() || undefined;
const fields = (value) => list(value).slice(0, 1000).map((field) => ({
  name: text(object(field).name) ?? "", value: text(object(field).value) ?? "",
}));

function parts(url) {
  const found = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/is.exec(url);
  return found ? { scheme: found[1].toLowerCase(), authority: found[2], path: found[3] || "/" } : { path: url || "(no URL)" };
}

function fromBase64(value) {
  try {
    return Uint8Array.from(atob(value ?? ""), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** The source of details and bodies of exchanges: a file. */
export class HARSource {
  readonly = true;

  constructor(entries) {
    this.entries = new Map(entries.map((entry) => [entry.detail.id, entry]));
  }

  async detail(id) {
    const entry = this.entries.get(id);
    if (!entry) throw new Error("The file has no such exchange.");
    return entry.detail;
  }

  async body(id, side) { return this.entries.get(id)[side] ?? new Uint8Array(); }
}
