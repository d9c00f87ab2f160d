// A connection of HTTP/1.1: a session of the line, or one of its streams.

import { BywayError } from "./byway-error.js";
import { Input, bytesOf, readBody, readHead, requestHead } from "./byway-http.js";
import { Transfer, readParts } from "./byway-session.js";

/** A connection, which carries one exchange after the other. */
export class Connection extends Transfer {
  #channel = null;
  #method;
  #head;
  #input = new Input(() => this.#read());
  /** Whether it has carried an exchange before. */
  #isKept = false;
  /** Whether a part of the response has arrived. */
  #hasReceived = false;

  /** Whether another exchange can begin: the connection is open, and nothing has arrived that was not asked for. */
  get isUsable() {
    const isIdle = this.#channel?.isOpen && this.error === null && this.#input.isEmpty;
    // The peer's end is known only when all before it was taken.
    return isIdle && this.#channel.take().length === 0 && !this.#channel.hasEnded;
  }

  /**
   * @param length the length of the body in bytes, null without a body, undefined for chunks
   * @param onprogress called when a part of the request was taken
   */
  begin(request, length, onprogress) {
    this.#isKept = this.#head !== undefined;
    this.#hasReceived = this.isSent = false;
    this.#method = request.method;
    this.#head = requestHead(request.method, request.url, request.headers, length);
    this.onprogress = onprogress;
  }

  /** Whether the request can be sent again after this error: a device may end an idle connection while a request is on its way. */
  mayRepeat(error, isRepeatable) {
    return this.#isKept && isRepeatable && error?.code === "reset" && !this.#hasReceived;
  }

  readHead() {
    return readHead(this.#input, this.#method);
  }

  readBody(framing) {
    return readBody(this.#input, framing);
  }

  abort() {
    this.#channel?.abort();
    this.error ??= new BywayError("reset", "The connection is over.");
  }

  async #read() {
    for (;;) {
      if (this.error) throw this.error;
      if (this.#channel) {
        const bytes = this.#channel.take();
        if (bytes.length) {
          this.#hasReceived = true;
          return bytes;
        }
        if (this.#channel.hasEnded) {
          if (this.#hasReceived) return null;
          throw new BywayError("reset", "The device ended the connection.");
        }
        if (!this.#channel.isOpen) throw this.#channel.failure;
      } else if (this.session?.isOver) {
        throw this.session.failure;
      }
      await this.carrier.change(60000);
    }
  }

  /** Sends the head, and a body: null, bytes or a stream. A failure of the line is noticed by the reader. */
  async send(body) {
    try {
      while (!this.#channel) {
        if (this.error || this.session?.isOver) return;
        if (this.carrier.isUp) this.session ??= this.open();
        this.#channel = this.session?.connect() ?? null;
        if (!this.#channel) await this.carrier.change(60000);
      }
      await this.#write(this.#head);
      if (body instanceof Uint8Array) await this.#write(body);
      else if (body) await this.#writeChunks(body);
      this.isSent = true;
    } catch (error) {
      if (!(error instanceof BywayError)) this.stop(error);
    }
  }

  async #writeChunks(body) {
    await readParts(body, async (part) => {
      await this.#write(bytesOf(`${part.length.toString(16)}\r\n`));
      await this.#write(part);
      await this.#write(bytesOf("\r\n"));
    });
    await this.#write(bytesOf("0\r\n\r\n"));
  }

  async #write(bytes) {
    for (let at = 0; at < bytes.length; ) {
      if (this.error) throw this.error;
      if (!this.#channel.isOpen) throw this.#channel.failure;
      const count = this.#channel.put(bytes.subarray(at));
      at += count;
      if (count === 0) await this.carrier.change(60000);
      else this.onprogress();
    }
  }
}
