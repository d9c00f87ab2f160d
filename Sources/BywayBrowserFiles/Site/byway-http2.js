// The client's end of a connection of HTTP/2 (RFC 9113) as a state machine: it takes bytes and the time, and has bytes to send.

import { BywayError } from "./byway-error.js";
import { Malformed } from "./byway-fields.js";
import {
  ACK, CODES, CONTINUATION, DATA, END_HEADERS, END_STREAM, FrameReader, GOAWAY, HEADERS, MOST_PAYLOAD, PING, PRIORITY, PUSH_PROMISE, RST_STREAM,
  SETTINGS, Violation, WINDOW_UPDATE, frame, number, numberBytes, unpadded,
} from "./byway-frames.js";
import { CompressionError, Decoder, encode } from "./byway-hpack.js";
import { Stream } from "./byway-stream.js";

const NOTHING = new Uint8Array(0);
/** The windows of both ends, until the peer announces another for streams. */
const WINDOW = 65535;
const MOST_WINDOW = 0x7fffffff;
const MOST_REQUESTS = 16;
const MOST_NUMBER = 0x7fffffff;
/** Sizes of a response's head: compressed, and as a list of fields. */
const MOST_BLOCK = 32 << 10;
const MOST_FIELDS = 16 << 10;
const MOST_PARTS_OF_BLOCK = 32;
/** Streams that this end has reset, of which more may arrive. */
const MOST_RESET = 256;
/** Frames that wait to be sent: above the first number no request begins, above the second the connection ends. */
const QUEUE_FOR_REQUESTS = 8;
const MOST_QUEUED = 512;
/** Frames that cost the peer nothing: so many at once, and so many in a second. Each frame of a request allows some more. */
const MOST_IDLE_FRAMES = 500;
const IDLE_FRAMES_PER_SECOND = 20;
const IDLE_FRAMES_PER_FRAME = 4;
/** DATA is short, so that streams take turns on a slow line. */
const MOST_DATA = 1024;
const LEAST_ROOM = 64;

const PREFACE = Uint8Array.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (letter) => letter.charCodeAt(0));
const ENABLE_PUSH = 2;
const MAX_CONCURRENT_STREAMS = 3;
const INITIAL_WINDOW_SIZE = 4;
const MAX_FRAME_SIZE = 5;
const MAX_HEADER_LIST_SIZE = 6;

function setting(name, value) {
  return [0, name, ...numberBytes(value)];
}

function check(condition, what) {
  if (!condition) throw new Violation("PROTOCOL_ERROR", what);
}

function checkSize(received, size) {
  if (received.length !== size) throw new Violation("FRAME_SIZE_ERROR", "a frame has a wrong length");
}

/** A connection. It begins when it is made. */
export class HTTP2 {
  #reader = new FrameReader();
  #decoder = new Decoder();
  #queue = [PREFACE];
  /** Those that are not over, by number, in the order of their turns to send. */
  #streams = new Map();
  /** How many bytes may arrive of each stream that this end has reset. */
  #reset = new Map();
  #next;
  #limit = MOST_REQUESTS;
  #sendWindow = WINDOW;
  #streamWindow = WINDOW;
  #consumed = 0;
  /** The fields that CONTINUATION continues. */
  #block = null;
  /** How many frames without content may arrive, and when that was true. */
  #allowed = MOST_IDLE_FRAMES;
  #allowedAt = null;
  /** Whether the peer's SETTINGS have arrived. */
  hasSettings = false;
  /** Whether no other request can begin. */
  isLeaving = false;
  /** Why the connection ended, if the peer broke the rules, and what it said when it ended it. */
  failure = null;
  farewell = null;

  /** @param first the number of the first stream */
  constructor(first = 1) {
    this.#next = first;
    this.#send(SETTINGS, 0, 0, Uint8Array.from([...setting(ENABLE_PUSH, 0), ...setting(MAX_HEADER_LIST_SIZE, MOST_FIELDS)]));
  }

  /** How many requests there can be at once. */
  get limit() {
    return this.#limit;
  }

  /** Whether no stream is left. */
  get isIdle() {
    return this.#streams.size === 0;
  }

  // Requests.

  /** Begins a stream for a request with these fields. Returns null if it must wait, or if the connection is at its end. */
  begin(fields, method, hasBody) {
    if (this.failure || this.isLeaving || this.#streams.size >= this.#limit || this.#queue.length > QUEUE_FOR_REQUESTS) return null;
    const block = encode(fields);
    if (block.length > MOST_PAYLOAD) throw new BywayError("limit", "The head of the request is longer than 16 KiB. Send shorter fields.");
    const stream = new Stream(this, this.#next, method, this.#streamWindow);
    this.#next += 2;
    this.isLeaving = this.#next > MOST_NUMBER;
    this.#streams.set(stream.id, stream);
    this.#send(HEADERS, END_HEADERS | (hasBody ? 0 : END_STREAM), stream.id, block);
    stream.isSent = !hasBody;
    this.#allowIdle(IDLE_FRAMES_PER_FRAME);
    return stream;
  }

  grant(id, count) {
    this.#send(WINDOW_UPDATE, 0, id, numberBytes(count));
  }

  /** Resets a stream, which has not ended. */
  reset(stream, code, error) {
    stream.error = error;
    this.#streams.delete(stream.id);
    if (this.#reset.size >= MOST_RESET) this.#reset.delete(this.#reset.keys().next().value);
    // Behind the end of the response nothing arrives.
    if (!stream.hasEnded) this.#reset.set(stream.id, stream.receiveWindow);
    this.#send(RST_STREAM, 0, stream.id, numberBytes(CODES.indexOf(code)));
  }

  // Output.

  /**
   * Returns bytes to send, or an empty array.
   * @param room the most bytes
   * @param mayCut whether a frame of DATA can begin
   */
  output(room, mayCut) {
    if (this.#queue.length === 0 && mayCut && room >= LEAST_ROOM) this.#cut(room);
    const first = this.#queue[0] ?? NOTHING;
    const part = first.subarray(0, room);
    if (part.length < first.length) this.#queue[0] = first.subarray(room);
    else this.#queue.shift();
    return part;
  }

  /** Makes DATA of the stream whose turn it is. */
  #cut(room) {
    for (const stream of this.#streams.values()) {
      if (stream.isSent) continue;
      const { pending, isLast, id } = stream;
      const count = Math.max(0, Math.min(pending.length, stream.sendWindow, this.#sendWindow, MOST_DATA, room - LEAST_ROOM / 2));
      const isEnd = isLast && count === pending.length;
      if (count === 0 && !isEnd) continue;
      this.#send(DATA, isEnd ? END_STREAM : 0, id, pending.subarray(0, count));
      stream.pending = pending.subarray(count);
      stream.sendWindow -= count;
      this.#sendWindow -= count;
      stream.isSent = isEnd;
      this.#allowIdle(IDLE_FRAMES_PER_FRAME);
      // The others come first next time.
      this.#streams.delete(id);
      if (!stream.isOver) this.#streams.set(id, stream);
      return;
    }
  }

  #send(type, flags, stream, payload) {
    this.#queue.push(frame(type, flags, stream, payload));
  }

  // Input.

  /** @param now the time in milliseconds */
  receive(bytes, now) {
    if (this.failure) return;
    try {
      for (const received of this.#reader.read(bytes)) {
        this.#take(received, now);
        if (this.#queue.length > MOST_QUEUED) throw new Violation("ENHANCE_YOUR_CALM", "it asks for too many answers");
      }
    } catch (error) {
      if (error instanceof CompressionError) this.#fail("COMPRESSION_ERROR", error.message);
      else if (error instanceof Violation) this.#fail(error.code, error.message);
      else throw error;
    }
  }

  #fail(code, what) {
    this.failure = new BywayError("protocol", `The gateway sent invalid HTTP/2: ${what}. Update it or this page.`);
    this.#send(GOAWAY, 0, 0, Uint8Array.from([0, 0, 0, 0, ...numberBytes(CODES.indexOf(code))]));
  }

  #take(received, now) {
    const { type, flags, stream, payload } = received;
    check(this.hasSettings || (type === SETTINGS && !(flags & ACK)), "its first frame is not SETTINGS");
    check(!this.#block || (type === CONTINUATION && stream === this.#block.id), "a frame is between HEADERS and CONTINUATION");
    if (type === DATA) return this.#takeData(received, now);
    if (type === HEADERS) {
      this.#block = { id: stream, isEnd: (flags & END_STREAM) !== 0, parts: [], length: 0 };
      return this.#takeBlock(unpadded(received), flags, now);
    }
    if (type === CONTINUATION) {
      check(this.#block, "CONTINUATION continues nothing");
      return this.#takeBlock(payload, flags, now);
    }
    this.#countIdle(now);
    switch (type) {
      case PRIORITY:
        check(stream !== 0, "PRIORITY is of no stream");
        return checkSize(received, 5);
      case RST_STREAM:
        checkSize(received, 4);
        return this.#takeReset(stream, number(payload));
      case SETTINGS:
        check(stream === 0, "SETTINGS are of a stream");
        return this.#takeSettings(flags, payload);
      case PUSH_PROMISE:
        return check(false, "it pushes a response");
      case PING:
        check(stream === 0, "PING is of a stream");
        checkSize(received, 8);
        return flags & ACK ? undefined : this.#send(PING, ACK, 0, payload);
      case GOAWAY:
        check(stream === 0, "GOAWAY is of a stream");
        if (payload.length < 8) checkSize(received, 8);
        return this.#takeGoaway(number(payload) & 0x7fffffff, number(payload, 4));
      case WINDOW_UPDATE:
        checkSize(received, 4);
        return this.#takeWindow(stream, number(payload) & 0x7fffffff);
    }
  }

  /** Counts a frame that costs the peer nothing. */
  #countIdle(now) {
    const refilled = ((now - (this.#allowedAt ?? now)) * IDLE_FRAMES_PER_SECOND) / 1000;
    this.#allowIdle(refilled - 1);
    this.#allowedAt = now;
    if (this.#allowed < 0) throw new Violation("ENHANCE_YOUR_CALM", "it sends too many frames without content");
  }

  #allowIdle(count) {
    this.#allowed = Math.min(this.#allowed + count, MOST_IDLE_FRAMES);
  }

  /** Returns a stream that is not over, or undefined. */
  #stream(id) {
    check(id % 2 === 1 && id < this.#next, "a frame is of a stream that was not opened");
    return this.#streams.get(id);
  }

  /** Returns a stream whose response goes on, or undefined if this end has reset it. */
  #receiving(id) {
    const stream = this.#stream(id);
    if (stream ? stream.hasEnded : !this.#reset.has(id)) throw new Violation("STREAM_CLOSED", "something is behind the end of a stream");
    return stream;
  }

  /** Gives a stream what has arrived. An invalid response ends the stream only. */
  #give(stream, action) {
    try {
      action();
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      this.reset(stream, error.code, new BywayError("protocol", `The gateway sent an invalid response: ${error.message}.`));
    }
    if (stream.isOver) this.#streams.delete(stream.id);
  }

  #takeData({ stream: id, flags, length, padding, payload, isFirst, isLast }, now) {
    if (isFirst) this.#takeFirst(id, length, padding);
    if (isFirst && length === padding && !(flags & END_STREAM)) this.#countIdle(now);
    const isEnd = isLast && (flags & END_STREAM) !== 0;
    // It may have been reset in the middle of a frame.
    const stream = this.#streams.get(id);
    if (stream) this.#give(stream, () => stream.receivedData(payload, isEnd));
    else if (isEnd) this.#reset.delete(id);
  }

  /**
   * Counts the bytes of a frame in the windows. The connection's is widened at once, so that no stream stops others. More than half of it is
   * always open, which no frame exceeds.
   */
  #takeFirst(id, length, padding) {
    const stream = this.#receiving(id);
    const left = (stream?.receiveWindow ?? this.#reset.get(id)) - length;
    if (left < 0) throw new Violation("FLOW_CONTROL_ERROR", "it sends more than its window");
    this.#consumed += length;
    if (this.#consumed * 2 >= WINDOW) {
      this.grant(0, this.#consumed);
      this.#consumed = 0;
    }
    if (!stream) {
      this.#reset.set(id, left);
      return;
    }
    stream.receiveWindow = left;
    stream.consume(padding);
  }

  #takeBlock(part, flags, now) {
    const block = this.#block;
    block.parts.push(part);
    block.length += part.length;
    if (block.length > MOST_BLOCK || block.parts.length > MOST_PARTS_OF_BLOCK) {
      throw new Violation("ENHANCE_YOUR_CALM", "the head of a response is too large");
    }
    if (!(flags & END_HEADERS)) return;
    this.#block = null;
    const bytes = new Uint8Array(block.length);
    let at = 0;
    for (const part of block.parts) {
      bytes.set(part, at);
      at += part.length;
    }
    const fields = this.#decoder.decode(bytes, MOST_FIELDS);
    const stream = this.#receiving(block.id);
    if (!stream) {
      this.#countIdle(now);
      if (block.isEnd) this.#reset.delete(block.id);
      return;
    }
    this.#give(stream, () => {
      if (!fields) throw new Malformed("its head is larger than 16 KiB");
      stream.receivedFields(fields, block.isEnd);
    });
  }

  #takeReset(id, code) {
    const stream = this.#stream(id);
    this.#reset.delete(id);
    if (stream) this.#end(stream, `The gateway ended the request: ${CODES[code] ?? code}.`, CODES[code] === "REFUSED_STREAM");
  }

  /** Ends a stream as the peer wants it. If its response is complete, only the rest of the request is given up. */
  #end(stream, message, isUnprocessed) {
    this.#streams.delete(stream.id);
    stream.isSent = true;
    if (stream.hasEnded) return;
    stream.error = new BywayError("reset", message);
    stream.isUnprocessed = isUnprocessed;
  }

  #takeSettings(flags, payload) {
    if (payload.length % 6 || (flags & ACK && payload.length)) throw new Violation("FRAME_SIZE_ERROR", "SETTINGS have a wrong length");
    if (flags & ACK) return;
    this.hasSettings = true;
    for (let at = 0; at < payload.length; at += 6) this.#takeSetting(payload[at] * 256 + payload[at + 1], number(payload, at + 2));
    this.#send(SETTINGS, ACK, 0);
  }

  #takeSetting(name, value) {
    switch (name) {
      case ENABLE_PUSH:
        return check(value === 0, "it wants to push");
      case MAX_CONCURRENT_STREAMS:
        this.#limit = Math.min(value, MOST_REQUESTS);
        return;
      case INITIAL_WINDOW_SIZE:
        if (value > MOST_WINDOW) throw new Violation("FLOW_CONTROL_ERROR", "a window is too large");
        for (const stream of this.#streams.values()) this.#widen(stream, value - this.#streamWindow);
        this.#streamWindow = value;
        return;
      case MAX_FRAME_SIZE:
        return check(value >= MOST_PAYLOAD && value < 1 << 24, "its largest frame has an invalid size");
    }
  }

  #widen(stream, count) {
    stream.sendWindow += count;
    if (stream.sendWindow > MOST_WINDOW) throw new Violation("FLOW_CONTROL_ERROR", "a window is too large");
  }

  #takeGoaway(last, code) {
    this.isLeaving = true;
    if (code !== 0) this.farewell = new BywayError("reset", `The gateway ended the connection: ${CODES[code] ?? code}.`);
    for (const stream of [...this.#streams.values()]) {
      if (stream.id > last) this.#end(stream, "The gateway stopped before it took the request.", true);
    }
  }

  #takeWindow(id, count) {
    if (id === 0) {
      check(count > 0, "it widens a window by nothing");
      this.#sendWindow += count;
      if (this.#sendWindow > MOST_WINDOW) throw new Violation("FLOW_CONTROL_ERROR", "a window is too large");
      return;
    }
    const stream = this.#stream(id);
    if (!stream) return;
    this.#give(stream, () => {
      if (count === 0) throw new Malformed("it widens a window by nothing");
      stream.sendWindow += count;
      if (stream.sendWindow > MOST_WINDOW) throw new Malformed("its window is too large", "FLOW_CONTROL_ERROR");
    });
  }
}
