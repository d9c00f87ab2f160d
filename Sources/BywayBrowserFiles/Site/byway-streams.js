// A session of the line, which carries one connection or, in streams, several: the client's end of docs/wire-protocol.md, section 13.

import { BywayError } from "./byway-error.js";
import { LineSession } from "./byway-session.js";

const DATA = 1;
const END = 2;
const ABORT = 3;
const CREDIT = 4;
const UNIT = 64;
/** What wasm/line.c announces. */
const FIRST_CREDIT = 255 * UNIT;
const MOST_CREDIT = 65535;
const LONGEST_PIECE = 255;
/** The bytes that may wait in the line while streams take turns. */
const MOST_UNSENT = 512;
/** Room that is kept for pieces other than DATA. */
const RESERVE = 32;
/** Small parts of a response are joined up to this size. */
const JOINED = 1024;
const NOTHING = new Uint8Array(0);

/** Stores a part of a response behind others. Many parts of one byte, or small ones of large buffers, would take much memory. */
export function store(parts, bytes) {
  const last = parts.at(-1);
  if (last && last.length + bytes.length <= JOINED) {
    const joined = new Uint8Array(last.length + bytes.length);
    joined.set(last);
    joined.set(bytes, last.length);
    parts[parts.length - 1] = joined;
  } else {
    parts.push(bytes.length < JOINED ? bytes.slice() : bytes);
  }
}

/** A session. It begins when it is made. */
export class Session extends LineSession {
  /** By number; null until the device is known, and for a session that is one connection. */
  #streams = null;
  #whole = null;
  #failure = null;
  /** The piece that arrives: its kind and stream, and how many bytes of DATA are missing. */
  #piece = null;
  #left = 0;

  get failure() {
    return this.#failure ?? this.carrier.failure;
  }

  /** How many connections there can be at once: 1 until the device is known. */
  get limit() {
    return this.#streams?.length ?? 1;
  }

  /** Begins a connection. Returns null if none is free yet. */
  connect() {
    this.pump();
    if (this.isOver || !this.carrier.isKnown) return null;
    if (this.#streams) {
      const free = this.#streams.findIndex((stream) => !stream?.isInUse);
      return free < 0 ? null : (this.#streams[free] = new Stream(this, free, this.carrier.peerCredit));
    }
    if (this.#whole) return null;
    return (this.#whole = new Whole(this, this.carrier));
  }

  turn() {
    if (!this.#streams && !this.isOver && this.carrier.isKnown && this.carrier.streams) {
      this.#streams = new Array(this.carrier.streams).fill(null);
    }
    if (!this.#streams) return;
    for (let bytes; (bytes = this.carrier.take()).length > 0; ) this.#receive(bytes);
    // Its last frame ends all streams.
    if (!this.isOver && this.carrier.hasEnded) this.carrier.abort();
    if (!this.isOver) for (const stream of this.#streams) stream?.flush();
  }

  /** Sends a piece if the line has room for all of it. */
  send(kind, number, more = NOTHING) {
    if (this.carrier.room < 1 + more.length) return false;
    const piece = new Uint8Array(1 + more.length);
    piece[0] = (kind << 4) | number;
    piece.set(more, 1);
    return this.carrier.put(piece) === piece.length;
  }

  /** Sends DATA with as many of the bytes as have their turn, at most the limit, and returns how many. */
  sendData(number, bytes, limit) {
    if (this.isOver || this.carrier.unsent >= MOST_UNSENT) return 0;
    const part = bytes.subarray(0, Math.max(0, Math.min(limit, LONGEST_PIECE, this.carrier.room - RESERVE - 2)));
    if (part.length === 0) return 0;
    const more = new Uint8Array(1 + part.length);
    more[0] = part.length;
    more.set(part, 1);
    return this.send(DATA, number, more) ? part.length : 0;
  }

  #receive(bytes) {
    for (let at = 0; at < bytes.length && !this.#failure; ) {
      if (this.#left > 0) {
        const part = bytes.subarray(at, at + this.#left);
        at += part.length;
        this.#left -= part.length;
        this.#piece.stream.received(part);
        if (this.#left === 0) this.#piece = null;
      } else if (this.#piece) {
        this.#take(this.#piece, bytes[at++]);
      } else {
        this.#begin(bytes[at++]);
      }
    }
  }

  #begin(byte) {
    const [kind, stream] = [byte >> 4, this.#streams[byte & 15]];
    if (kind < DATA || kind > CREDIT) return this.#violate(`it has a piece of the kind ${kind}`);
    if (!stream?.isInUse) return this.#violate(`it sends something of stream ${byte & 15}, which is not in use`);
    if (stream.hasPeerEnded) return this.#violate("it sends something behind the end of a stream");
    if (kind === DATA || kind === CREDIT) this.#piece = { kind, stream };
    else stream.ended(kind === ABORT);
  }

  #take({ kind, stream }, count) {
    if (count === 0) return this.#violate("a piece has a length of 0");
    if (kind === CREDIT) {
      this.#piece = null;
      if (!stream.granted(count * UNIT)) this.#violate("it grants too much credit");
    } else if (stream.mayReceive(count)) {
      this.#left = count;
    } else {
      this.#violate("it sends more than its credit");
    }
  }

  #violate(what) {
    this.#failure = new BywayError("protocol", `The device sent invalid streams: ${what}. Update its firmware or this page.`);
    this.carrier.abort();
  }
}

/** A session that is one connection. */
class Whole {
  #session;
  #carrier;

  constructor(session, carrier) {
    this.#session = session;
    this.#carrier = carrier;
  }

  get isOpen() {
    return !this.#session.isOver;
  }

  get failure() {
    return this.#session.failure;
  }

  take() {
    return this.#carrier.take();
  }

  put(bytes) {
    return this.#carrier.put(bytes);
  }

  /** Whether the device has sent its last byte, and all were taken. */
  get hasEnded() {
    return this.#carrier.hasEnded;
  }

  abort() {
    if (this.isOpen) this.#carrier.abort();
  }
}

/** A stream as a connection. Its own end is open, owed (END or ABORT), or sent. */
class Stream {
  #session;
  #number;
  #credit;
  #granted = FIRST_CREDIT;
  #consumed = 0;
  #parts = [];
  #own = { end: 0, isSent: false };
  #peer = 0;

  constructor(session, number, credit) {
    this.#session = session;
    this.#number = number;
    this.#credit = credit;
  }

  /** Whether it is not free for another connection. */
  get isInUse() {
    return !(this.#own.isSent && this.#peer);
  }

  get hasPeerEnded() {
    return this.#peer !== 0;
  }

  get isOpen() {
    return !this.#session.isOver && this.#own.end === 0 && this.#peer !== ABORT;
  }

  get failure() {
    if (this.#session.isOver) return this.#session.failure;
    return new BywayError("reset", "The device ended the connection.");
  }

  get hasEnded() {
    return this.#peer === END && this.#parts.length === 0;
  }

  take() {
    this.#session.pump();
    const part = this.#parts.shift() ?? NOTHING;
    this.#consumed += part.length;
    if (this.#consumed >= FIRST_CREDIT / 2) this.flush();
    return part;
  }

  put(bytes) {
    if (!this.isOpen) return 0;
    const count = this.#session.sendData(this.#number, bytes, this.#credit);
    this.#credit -= count;
    return count;
  }

  /** Ends it: by END if the device has ended it, too, or by ABORT. */
  abort() {
    if (this.#own.end !== 0) return;
    this.#own.end = this.#peer === END ? END : ABORT;
    this.#parts = [];
    this.flush();
  }

  /** Sends what is owed, when there is room. */
  flush() {
    if (this.#session.isOver || this.#own.isSent) return;
    if (this.#own.end !== 0) {
      this.#own.isSent = true;
      if (!this.#session.send(this.#own.end, this.#number)) this.#own.isSent = false;
    } else if (this.#peer === 0 && this.#consumed >= FIRST_CREDIT / 2) {
      const units = Math.floor(this.#consumed / UNIT);
      this.#consumed -= units * UNIT;
      this.#granted += units * UNIT;
      if (this.#session.send(CREDIT, this.#number, Uint8Array.of(units))) return;
      this.#consumed += units * UNIT;
      this.#granted -= units * UNIT;
    }
  }

  // Pieces of the device.

  mayReceive(count) {
    if (count > this.#granted) return false;
    this.#granted -= count;
    return true;
  }

  received(bytes) {
    if (this.#own.end === 0) store(this.#parts, bytes);
  }

  granted(count) {
    if (this.#own.end === 0) this.#credit += count;
    return this.#credit <= MOST_CREDIT;
  }

  /** The device sends nothing more. */
  ended(isAbort) {
    this.#peer = isAbort ? ABORT : END;
    if (isAbort && this.#own.end === 0) this.#own.end = ABORT;
    this.flush();
  }
}
