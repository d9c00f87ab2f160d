// Requests to a gateway: a session of the line that carries one connection of HTTP/2, and the exchanges on it.

import { BywayError } from "./byway-error.js";
import { requestFields } from "./byway-fields.js";
import { HTTP2 } from "./byway-http2.js";
import { LineSession, Transfer, readParts } from "./byway-session.js";

/** The bytes that may wait in the line while streams take turns. */
const MOST_UNSENT = 1024;
/** How long a gateway that stops may take to end the session, when its last request has ended. */
const LEAVING_TIMEOUT = 5000;
/** How many sessions a request may try, and the time between two. */
const MOST_SESSIONS = 5;
const SESSION_DELAY = 200;

/** A session. It begins when it is made. */
export class GatewaySession extends LineSession {
  #http = new HTTP2();
  #failure = null;
  #idleSince = null;
  /** Whether a request was sent on it. */
  hasCarried = false;

  get failure() {
    return this.#failure ?? this.#http.failure ?? this.#http.farewell ?? this.carrier.failure;
  }

  get limit() {
    return this.#http.limit;
  }

  /**
   * Begins a stream. Returns null if none is free yet. Nothing is sent before the gateway's SETTINGS, because a session with a gateway that
   * stops would lose it.
   */
  begin(fields, method, hasBody) {
    this.pump();
    if (this.isOver || !this.#http.hasSettings) return null;
    const stream = this.#http.begin(fields, method, hasBody);
    this.hasCarried ||= stream !== null;
    this.pump();
    return stream;
  }

  turn() {
    for (let bytes; (bytes = this.carrier.take()).length > 0; ) this.#receive(bytes);
    if (this.isOver || !this.carrier.isKnown) return;
    if (this.carrier.streams) this.#fail("The device takes streams of HTTP/1.1, so it is no gateway. Leave out the option http.");
    else this.#send();
    if (this.#failure || this.#http.failure || this.carrier.hasEnded || this.#isAbandoned) this.carrier.abort();
  }

  /** Whether the gateway has stopped, has no requests, and does not end the session. A session before its end would reach the same gateway. */
  get #isAbandoned() {
    if (!this.#http.isLeaving || !this.#http.isIdle) return false;
    this.#idleSince ??= performance.now();
    return performance.now() - this.#idleSince > LEAVING_TIMEOUT;
  }

  #receive(bytes) {
    // SETTINGS begin with another byte.
    const isOld = !this.#http.hasSettings && bytes[0] === "H".charCodeAt(0);
    if (isOld) this.#fail("The device answers in HTTP/1.1, so it is no gateway. Leave out the option http.");
    else this.#http.receive(bytes, performance.now());
  }

  #fail(message) {
    this.#failure ??= new BywayError("protocol", message);
  }

  #send() {
    for (;;) {
      const bytes = this.#http.output(this.carrier.room, this.carrier.unsent < MOST_UNSENT);
      if (bytes.length === 0) return;
      this.carrier.put(bytes);
    }
  }
}

/** A request and its response on a stream of HTTP/2. It has the interface of a connection of HTTP/1.1 that carries one exchange. */
export class Exchange extends Transfer {
  #stream = null;
  /** Whether the session had carried others before. */
  #isLater = false;
  #request;
  #fields;
  #hasBody;

  /** Each exchange has a stream of its own. */
  get isUsable() {
    return false;
  }

  /** @param onprogress called when a part of the request was taken */
  begin(request, length, onprogress) {
    this.#request = request;
    this.#fields = requestFields(request, length);
    this.#hasBody = length !== null && length !== 0;
    this.onprogress = onprogress;
  }

  /** Whether the request can be sent again without harm after this error, the first time. */
  mayRepeat(error, isRepeatable, times) {
    if (times > 0) return false;
    if (this.#stream?.isUnprocessed) return !(this.#request.body instanceof ReadableStream);
    return this.#isLater && isRepeatable && error?.code === "reset" && !this.#stream?.head;
  }

  abort() {
    this.error ??= new BywayError("reset", "The request is over.");
    this.#stream?.abort();
    this.session?.pump();
  }

  /** Sends the request. A failure of the line is noticed by the reader. */
  async send(body) {
    try {
      await this.#begin();
      if (!this.#stream || !this.#hasBody) return;
      if (body instanceof Uint8Array) await this.#write(body, true);
      else await this.#writeAll(body);
      this.isSent = this.#stream.isSent;
    } catch (error) {
      this.stop(error);
    }
  }

  /** Waits for a stream. As long as there is none, nothing was sent, so that the next session can carry the request. */
  async #begin() {
    for (let sessions = 1; !this.error; ) {
      if (this.session?.isOver) {
        const failure = this.session.failure;
        if (failure.code !== "reset" || sessions === MOST_SESSIONS) return this.stop(failure);
        sessions++;
        this.session = null;
        await new Promise((resolve) => setTimeout(resolve, SESSION_DELAY));
      }
      if (this.carrier.isUp && !this.error) this.session ??= this.open();
      this.#isLater = this.session?.hasCarried ?? false;
      this.#stream = this.session?.begin(this.#fields, this.#request.method, this.#hasBody) ?? null;
      if (this.#stream) return;
      await this.carrier.change(1000);
    }
  }

  async #writeAll(body) {
    try {
      await readParts(body, async (part) => {
        if (!(await this.#write(part, false))) throw this.error ?? new BywayError("reset", "The request was not sent.");
      });
      await this.#write(new Uint8Array(0), true);
    } catch (error) {
      // The reader of the response notices all but errors of the body.
      if (!(error instanceof BywayError)) throw error;
    }
  }

  /** Returns whether the bytes were sent. */
  async #write(bytes, isLast) {
    this.#stream.write(bytes, isLast);
    this.session.pump();
    for (let left = bytes.length; ; ) {
      if (this.#stream.pending.length < left) this.onprogress();
      left = this.#stream.pending.length;
      if (this.#stream.isWritten) return true;
      if (this.error || this.#stream.isOver || this.session.isOver) return false;
      await this.carrier.change(60000);
    }
  }

  /** Returns the head of the response: status, statusText, fields, framing, and that the stream is used once. */
  async readHead() {
    while (!this.#stream?.head) await this.#wait();
    const { length, ...head } = this.#stream.head;
    const isEmpty = this.#stream.hasEnded && !this.#stream.hasParts;
    return { ...head, framing: isEmpty ? 0 : length || "stream", keeps: false };
  }

  /** The bytes of the body in parts. */
  async *readBody() {
    for (;;) {
      if (this.error) throw this.error;
      const part = this.#stream.take();
      if (part.length > 0) {
        this.session.pump();
        yield part;
      } else if (this.#stream.hasEnded) {
        return;
      } else {
        await this.#wait();
      }
    }
  }

  async #wait() {
    if (this.error) throw this.error;
    if (this.#stream?.error) throw this.#stream.error;
    if (this.#stream && this.session.isOver) throw this.session.failure;
    await this.carrier.change(60000);
  }
}
