// HTTP/1.1 messages (RFC 9112): heads of requests, and a strict parser of responses.

import { BywayError } from "./byway-error.js";

const MOST_HEAD = 16 << 10;
const MOST_CHUNK_LINE = 256;
const MOST_INTERIM = 16;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Fields of a request that this module sets, or that belong to one connection. */
export const OWN_FIELDS = new Set([
  "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
]);

function bad(message) {
  return new BywayError("protocol", `The device sent an invalid response: ${message}.`);
}

function latin(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

export function bytesOf(text) {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

/**
 * Returns the bytes of the head of a request.
 * @param length the length of the body in bytes, null without a body, undefined for chunks
 */
export function requestHead(method, url, headers, length) {
  let text = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n`;
  for (const [name, value] of headers) {
    if (!OWN_FIELDS.has(name)) text += `${name}: ${value}\r\n`;
  }
  if (length === undefined) text += "Transfer-Encoding: chunked\r\n";
  else if (length !== null) text += `Content-Length: ${length}\r\n`;
  text += "\r\n";
  if (text.length > MOST_HEAD) throw new BywayError("limit", "The head of the request is longer than 16 KiB. Send shorter fields.");
  return bytesOf(text);
}

/** Bytes of a session, with the place up to which they were parsed. */
export class Input {
  #bytes = new Uint8Array(0);
  #more;

  /** @param more a function that resolves to more bytes, or to null at the end */
  constructor(more) {
    this.#more = more;
  }

  get isEmpty() {
    return this.#bytes.length === 0;
  }

  async #fill() {
    const more = await this.#more();
    if (more === null) return false;
    if (this.isEmpty) {
      this.#bytes = more;
    } else {
      const joined = new Uint8Array(this.#bytes.length + more.length);
      joined.set(this.#bytes);
      joined.set(more, this.#bytes.length);
      this.#bytes = joined;
    }
    return true;
  }

  /** Returns a line without its CRLF. */
  async line(limit, what) {
    for (;;) {
      const end = this.#bytes.indexOf(10);
      if (end > limit || (end < 0 && this.#bytes.length > limit)) throw bad(`${what} is longer than ${limit} bytes`);
      if (end >= 0) {
        if (this.#bytes[end - 1] !== 13) throw bad(`a line of ${what} ends without CR`);
        const text = latin(this.#bytes.subarray(0, end - 1));
        this.#bytes = this.#bytes.subarray(end + 1);
        if (/[\0\r]/.test(text)) throw bad(`a control character in ${what}`);
        return text;
      }
      if (!(await this.#fill())) throw bad(`the connection ended within ${what}`);
    }
  }

  /** Returns some bytes, at most the limit, or null at the end. */
  async some(limit) {
    while (this.isEmpty) {
      if (!(await this.#fill())) return null;
    }
    const part = this.#bytes.subarray(0, limit);
    this.#bytes = this.#bytes.subarray(part.length);
    return part;
  }
}

async function fieldLines(input, what, limit) {
  const fields = [];
  let left = limit;
  for (;;) {
    const line = await input.line(left, what);
    if (line === "") return fields;
    left -= line.length + 2;
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0));
    const value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, "");
    if (!TOKEN.test(name)) throw bad("a field has an invalid name");
    if (/[\x01-\x08\x0a-\x1f\x7f]/.test(value)) throw bad(`the field ${name} has a control character`);
    fields.push([name.toLowerCase(), value]);
  }
}

/** The parts of a list field, in lower case. */
function list(fields, name) {
  return fields
    .filter((field) => field[0] === name)
    .flatMap((field) => field[1].toLowerCase().split(","))
    .map((part) => part.trim())
    .filter((part) => part);
}

/**
 * How the end of a response's body is found (RFC 9112, section 6.3): its length, "chunks", or "close".
 */
function framing(method, status, minor, fields) {
  const codings = list(fields, "transfer-encoding");
  const lengths = fields.filter((field) => field[0] === "content-length").map((field) => field[1]);
  if (codings.length && lengths.length) throw bad("it has a length and a transfer coding");
  if (lengths.length > 1) throw bad("it has two lengths");
  if (lengths.length && !/^[0-9]{1,15}$/.test(lengths[0])) throw bad("its length is not a number");
  if (codings.length && (minor === 0 || codings.length > 1 || codings[0] !== "chunked")) throw bad("its transfer coding is unknown");
  if (method === "HEAD" || status === 204 || status === 304) return 0;
  if (codings.length) return "chunks";
  return lengths.length ? Number(lengths[0]) : "close";
}

/**
 * Reads the head of the final response, and drops interim ones.
 * @returns status, statusText, fields, framing, and whether the connection can carry another exchange
 */
export async function readHead(input, method) {
  for (let count = 0; count <= MOST_INTERIM; count++) {
    const line = await input.line(MOST_HEAD, "the head");
    const match = /^HTTP\/1\.([01]) ([1-5][0-9][0-9])(?: (.*))?$/.exec(line);
    if (!match) throw bad(line.startsWith("HTTP/") ? "its first line is malformed" : "it is not HTTP/1.1");
    const minor = Number(match[1]);
    const status = Number(match[2]);
    const statusText = match[3] ?? "";
    if (/[\x01-\x08\x0a-\x1f\x7f]/.test(statusText)) throw bad("a control character in the first line");
    const fields = await fieldLines(input, "the head", MOST_HEAD - line.length);
    if (status === 101) throw bad("it changes the protocol, which was not asked for");
    if (status < 200) continue;
    const frame = framing(method, status, minor, fields);
    const keeps = minor === 1 && frame !== "close" && !list(fields, "connection").includes("close");
    return { status, statusText, fields, framing: frame, keeps };
  }
  throw bad("it has too many interim responses");
}

/** The bytes of a body in parts. It ends where the framing says. */
export async function* readBody(input, frame) {
  if (frame === "close") {
    for (let part; (part = await input.some(16384)) !== null; ) yield part;
  } else if (frame === "chunks") {
    for (;;) {
      const line = await input.line(MOST_CHUNK_LINE, "a chunk's size");
      const match = /^([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?$/.exec(line);
      if (!match) throw bad("a chunk's size is not a number");
      const size = parseInt(match[1], 16);
      if (size === 0) break;
      yield* exactly(input, size);
      if ((await input.line(2, "a chunk's end")) !== "") throw bad("a chunk is longer than its size");
    }
    await fieldLines(input, "the trailers", MOST_HEAD);
  } else {
    yield* exactly(input, frame);
  }
}

async function* exactly(input, count) {
  for (let left = count; left > 0; ) {
    const part = await input.some(Math.min(left, 16384));
    if (part === null) throw bad("the connection ended within the body");
    left -= part.length;
    yield part;
  }
}
