// The line layer in WebAssembly, between a pair of streams and the bytes of a session.

import { BywayError } from "./byway-error.js";
import program from "./byway-line.js";

const NEVER = 0xffffffff;
/** States of a session, as in byway_line.h. */
const NONE = 0;
const OPENING = 2;

/** The errors for the reasons of byway_line.h, by number. */
const REASONS = [
  ["reset", "The device ended the connection."],
  ["reset", "The device was restarted during the request."],
  ["reset", "The device gave the connection up."],
  ["silent", "The device does not answer. Check the cable, the baud rate, and that the device runs."],
  ["version", "The device speaks another version of the line protocol. Update its firmware or this page."],
  ["version", "Both ends of the line open connections. Set the device to listen."],
  ["reset", "The device was restarted during the request."],
  ["reset", "Another connection took the place of this one."],
  ["gone", "The line did not come back in time. Plug the device in, and try again."],
];

let compiled;

async function compile() {
  const bytes = Uint8Array.from(atob(program), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

function now() {
  return Math.floor(performance.now()) >>> 0;
}

/** One end of a line. It sends frames as a stream takes them, runs the timers, and wakes those that wait for a change. */
export class Carrier {
  #line;
  #buffer;
  #writer = null;
  #writing = false;
  #timer;
  #waiting = new Set();
  /** Called after each change. */
  onchange = () => {};
  received = 0;
  sent = 0;

  static async make(baud) {
    const instance = await WebAssembly.instantiate(await (compiled ??= compile()), {});
    return new Carrier(instance.exports, baud);
  }

  constructor(line, baud) {
    this.#line = line;
    const at = line.buffer();
    // The memory never grows, so the view stays valid. It throws if the buffer is not inside.
    this.#buffer = new Uint8Array(line.memory.buffer, at, 4096);
    line.start(0, 0, baud, now());
    line.lost(now());
  }

  get isUp() {
    return this.#writer !== null;
  }

  get state() {
    return ["none", "opening", "opening", "open"][this.#line.state()] ?? "none";
  }

  /** The number of the session, which changes when one begins. It is 0 without a session. */
  get session() {
    return this.#line.state() === NONE ? 0 : this.#line.sessions() + 1;
  }

  /** The number of the last session, which may be over. */
  get sessionsBegun() {
    return this.#line.sessions() + 1;
  }

  /** Whether the device is known to which the session is. Until then nothing is sent. */
  get isKnown() {
    return this.#line.state() >= OPENING;
  }

  /** How many streams the session has, 0 if it is one connection, and how many bytes of each the device takes at first. */
  get streams() {
    return Math.min(this.#line.streams(), 16);
  }

  get peerCredit() {
    return this.#line.peer_credit();
  }

  /** How many bytes put takes, and how many it has taken that were not sent yet. */
  get room() {
    return this.#line.room();
  }

  get unsent() {
    return this.#line.unsent();
  }

  /** Starts a session, and returns its number. */
  open() {
    this.#line.open(crypto.getRandomValues(new Uint32Array(1))[0], now());
    this.turn();
    return this.session;
  }

  /** Ends the session at once. */
  abort() {
    this.#line.abort();
    this.turn();
  }

  /** Whether the peer has sent its last byte, and all were read. */
  get hasEnded() {
    return this.#line.ended() !== 0;
  }

  /** The error for the end of the last session. */
  get failure() {
    const [code, message] = REASONS[this.#line.reason()] ?? REASONS[2];
    return new BywayError(code, message);
  }

  /** Returns bytes that have arrived, or an empty array. */
  take() {
    // A frame that becomes due takes the buffer.
    const bytes = this.#buffer.slice(0, this.#checked(this.#line.read(this.#buffer.length)));
    if (bytes.length) this.turn();
    return bytes;
  }

  /** Returns how many of the bytes were taken. */
  put(bytes) {
    const part = bytes.subarray(0, this.#buffer.length);
    this.#buffer.set(part);
    const count = this.#checked(this.#line.write(part.length));
    if (count) this.turn();
    return count;
  }

  #checked(count) {
    if (!(count >= 0 && count <= this.#buffer.length)) throw new BywayError("internal", "The line layer returned a wrong length.");
    return count;
  }

  /** Resolves at the next change, or after a time. */
  change(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(wake, Math.max(0, Math.min(milliseconds, 0x7fffffff)));
      const waiting = this.#waiting;
      function wake() {
        clearTimeout(timer);
        waiting.delete(wake);
        resolve();
      }
      waiting.add(wake);
    });
  }

  /** Carries bytes until a stream ends or the signal aborts. A stream that stopped at damaged bytes may have a successor in the pair. */
  async carry(pair, signal) {
    const writer = pair.writable.getWriter();
    const streams = { reader: null };
    const stop = () => {
      streams.reader?.cancel().catch(() => {});
      writer.abort().catch(() => {});
    };
    writer.closed.catch(() => streams.reader?.cancel().catch(() => {}));
    this.#writer = writer;
    this.#line.back(now());
    this.turn();
    signal.addEventListener("abort", stop);
    try {
      let readable = null;
      while (!signal.aborted && pair.readable && pair.readable !== readable) {
        readable = pair.readable;
        streams.reader = readable.getReader();
        try {
          await this.#receive(streams.reader);
        } catch (error) {
          if (error instanceof BywayError) throw error;
          // The pair of a serial port has another stream after a framing error, and none if the port is gone.
        } finally {
          streams.reader.releaseLock();
        }
      }
    } finally {
      signal.removeEventListener("abort", stop);
      this.#writer = null;
      stop();
      try {
        writer.releaseLock();
      } catch {}
      this.#line.lost(now());
      this.turn();
    }
  }

  async #receive(reader) {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      if (!(value instanceof Uint8Array)) throw new BywayError("streams", "The readable stream must deliver Uint8Array.");
      this.received += value.length;
      // Small parts, so that the window opens in between.
      for (let at = 0; at < value.length; at += 1024) {
        const part = value.subarray(at, at + 1024);
        this.#buffer.set(part);
        this.#line.receive(part.length, now());
        this.turn();
      }
    }
  }

  /** Sends what is due, sets the timer, and wakes those that wait. */
  turn() {
    this.#line.run(now());
    if (!this.#writing && this.#writer) this.#send();
    this.#schedule();
    for (const wake of [...this.#waiting]) wake();
    this.onchange();
  }

  async #send() {
    this.#writing = true;
    try {
      while (this.#writer) {
        const count = this.#checked(this.#line.output(now()));
        if (count === 0) break;
        this.sent += count;
        await this.#writer.write(this.#buffer.slice(0, count));
      }
    } catch {
      // The reader ends as well.
    } finally {
      this.#writing = false;
      this.#schedule();
    }
  }

  #schedule() {
    clearTimeout(this.#timer);
    const time = this.#line.deadline(now()) >>> 0;
    if (time === NEVER) return;
    this.#timer = setTimeout(() => this.turn(), Math.min(this.#writing ? Math.max(time, 50) : time, 1 << 30));
  }

  /** Resolves when what is owed was given to the stream, at the latest after a time. */
  async flush(milliseconds) {
    const end = now() + milliseconds;
    while (this.#writer && (this.#writing || this.#line.deadline(now()) >>> 0 === 0) && now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  stop() {
    clearTimeout(this.#timer);
    for (const wake of [...this.#waiting]) wake();
  }
}
