// A stream of HTTP/2 (RFC 9113, section 5): one request and its response.

import { BywayError } from "./byway-error.js";
import { Malformed, checkTrailers, responseHead } from "./byway-fields.js";
import { store } from "./byway-streams.js";

/** The bytes that the peer may send before they are read. */
const WINDOW = 65535;
const MOST_INTERIM = 16;
const NOTHING = new Uint8Array(0);

/** A stream. A connection makes it, tells it what arrives, and takes what it wants to send. */
export class Stream {
  #connection;
  #consumed = 0;
  #parts = [];
  #interim = 0;
  /** The bytes of the body that the head announces and that have not arrived, null if it announces none. */
  #missing = null;
  /** The response: status, statusText, fields and length, or null before it. */
  head = null;
  hasEnded = false;
  /** Why it ended before its end, and whether the peer has done nothing with the request. */
  error = null;
  isUnprocessed = false;
  /** The part of the body that waits to be sent, whether it is the last one, and whether the end was sent. */
  pending = NOTHING;
  isLast;
  isSent = false;
  receiveWindow = WINDOW;

  constructor(connection, id, method, sendWindow) {
    this.#connection = connection;
    this.id = id;
    this.method = method;
    this.sendWindow = sendWindow;
  }

  get isOver() {
    return this.error !== null || (this.hasEnded && this.isSent);
  }

  /** Whether bytes of the response wait to be taken. */
  get hasParts() {
    return this.#parts.length > 0;
  }

  /** Gives a part of the body. It must be sent before the next one. */
  write(bytes, isLast) {
    this.pending = bytes;
    this.isLast = isLast;
  }

  get isWritten() {
    return this.pending.length === 0 && this.isSent === this.isLast;
  }

  /** Returns bytes of the response, or an empty array. */
  take() {
    const part = this.#parts.shift() ?? NOTHING;
    this.consume(part.length);
    return part;
  }

  consume(count) {
    this.#consumed += count;
    if (this.#consumed * 2 < WINDOW || this.hasEnded || this.error) return;
    this.receiveWindow += this.#consumed;
    this.#connection.grant(this.id, this.#consumed);
    this.#consumed = 0;
  }

  /** Ends it, whatever its state. */
  abort() {
    if (!this.isOver) this.#connection.reset(this, "CANCEL", new BywayError("reset", "The request was given up."));
  }

  // Frames of the peer.

  receivedFields(fields, isEnd) {
    if (this.head) {
      if (!isEnd) throw new Malformed("it has a second head");
      checkTrailers(fields);
    } else {
      const head = responseHead(fields, this.method);
      if (head.status >= 200) {
        this.head = head;
        this.#missing = head.length;
      } else if (isEnd || ++this.#interim > MOST_INTERIM) {
        throw new Malformed("it has too many interim responses, or only those");
      }
    }
    if (isEnd) this.#finish();
  }

  receivedData(bytes, isEnd) {
    if (!this.head) throw new Malformed("its body comes before its head");
    if (this.#missing !== null && (this.#missing -= bytes.length) < 0) throw new Malformed("its body is longer than its length");
    if (bytes.length) store(this.#parts, bytes);
    if (isEnd) this.#finish();
  }

  #finish() {
    if (this.#missing) throw new Malformed("its body is shorter than its length");
    this.hasEnded = true;
  }
}
