// Heads of requests and responses as fields of HTTP/2 (RFC 9113, section 8).

import { OWN_FIELDS } from "./byway-http.js";

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** Fields that belong to a connection of HTTP/1.1. A response with one may be an attempt to confuse two parsers. */
const FORBIDDEN = new Set(["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]);

/** A response that is invalid, which ends its stream only, with the name of an error code. */
export class Malformed extends Error {
  constructor(message, code = "PROTOCOL_ERROR") {
    super(message);
    this.code = code;
  }
}

/**
 * Returns the fields of a request.
 * @param length the length of the body in bytes, null without a body, undefined if it is not known
 */
export function requestFields({ method, url, headers }, length) {
  const fields = [
    [":method", method],
    [":scheme", url.protocol.slice(0, -1)],
    [":authority", url.host],
    [":path", url.pathname + url.search],
  ];
  for (const field of headers) {
    if (!OWN_FIELDS.has(field[0])) fields.push(field);
  }
  if (Number.isInteger(length)) fields.push(["content-length", `${length}`]);
  return fields;
}

/** Checks names and values, and returns those of pseudo-fields. The others are left. */
function split(fields) {
  const pseudo = new Map();
  const others = [];
  for (const [name, value] of fields) {
    if (/[\x00-\x08\x0a-\x1f\x7f]|^[ \t]|[ \t]$/.test(value)) throw new Malformed("a field has an invalid value");
    if (name.startsWith(":")) {
      if (others.length > 0 || pseudo.has(name)) throw new Malformed(`${name} is not where it must be`);
      pseudo.set(name, value);
      continue;
    }
    if (!NAME.test(name)) throw new Malformed("a field has an invalid name");
    if (FORBIDDEN.has(name)) throw new Malformed(`it has the field ${name}`);
    others.push([name, value]);
  }
  return { pseudo, others };
}

/** Returns the status, the fields, and the length of the body if it has one, else null. */
export function responseHead(fields, method) {
  const { pseudo, others } = split(fields);
  const status = pseudo.get(":status") ?? "";
  if (pseudo.size !== 1 || !/^[1-5][0-9][0-9]$/.test(status)) throw new Malformed("its status is not valid");
  if (status === "101") throw new Malformed("it changes the protocol");
  const lengths = others.filter((field) => field[0] === "content-length").map((field) => field[1]);
  if (lengths.length > 1 || (lengths.length && !/^[0-9]{1,15}$/.test(lengths[0]))) throw new Malformed("its length is not a number");
  const hasNoBody = method === "HEAD" || status === "204" || status === "304";
  const length = hasNoBody ? 0 : lengths.length ? Number(lengths[0]) : null;
  return { status: Number(status), statusText: "", fields: others, length };
}

/** Checks trailers, which are dropped. */
export function checkTrailers(fields) {
  if (split(fields).pseudo.size > 0) throw new Malformed("its trailers have a pseudo-field");
}
