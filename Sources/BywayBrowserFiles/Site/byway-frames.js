// Frames of HTTP/2 (RFC 9113, section 4).

export const DATA = 0;
export const HEADERS = 1;
export const PRIORITY = 2;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PUSH_PROMISE = 5;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;

export const END_STREAM = 1;
export const ACK = 1;
export const END_HEADERS = 4;
export const PADDED = 8;
export const HAS_PRIORITY = 0x20;

/** Error codes (section 7). */
export const CODES = [
  "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
  "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
];
/** The largest payload that an end receives if it announces no other. */
export const MOST_PAYLOAD = 16384;
const HEAD = 9;
const NOTHING = new Uint8Array(0);

/** A violation that ends the connection, with the name of an error code. */
export class Violation extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export function number(bytes, at = 0) {
  return ((bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]) >>> 0;
}

export function numberBytes(value) {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}

/** Returns the bytes of a frame. */
export function frame(type, flags, stream, payload = NOTHING) {
  const bytes = new Uint8Array(HEAD + payload.length);
  bytes.set([payload.length >> 16, payload.length >> 8, payload.length, type, flags]);
  bytes.set(numberBytes(stream), 5);
  bytes.set(payload, HEAD);
  return bytes;
}

/** Frames out of bytes that arrive in pieces. */
export class FrameReader {
  #head = new Uint8Array(HEAD);
  #filled = 0;
  /** The frame that arrives, and how many bytes of its payload are missing. */
  #frame = null;
  #left = 0;
  /** The part of the payload that has arrived, except of DATA, and the bytes of DATA that are missing before the padding. */
  #payload = NOTHING;
  #content = 0;

  /**
   * Yields frames: type, flags, stream, length and payload. DATA is yielded part by part as it arrives, because a slow line needs long for
   * a frame. It comes without padding, whose size is in padding, and with isFirst and isLast.
   */
  *read(bytes) {
    for (let at = 0; at < bytes.length; ) {
      if (!this.#frame) {
        this.#head[this.#filled++] = bytes[at++];
        if (this.#filled < HEAD) continue;
        this.#begin();
        if (this.#left === 0) yield this.#take(NOTHING);
        continue;
      }
      const part = bytes.subarray(at, at + this.#left);
      at += part.length;
      const isData = this.#frame.type === DATA;
      if (!isData) this.#payload.set(part, this.#frame.length - this.#left);
      this.#left -= part.length;
      if (isData || this.#left === 0) yield this.#take(isData ? part : this.#payload);
    }
  }

  #begin() {
    const head = this.#head;
    this.#filled = 0;
    const length = number(head) >>> 8;
    if (length > MOST_PAYLOAD) throw new Violation("FRAME_SIZE_ERROR", "a frame is longer than 16 KiB");
    this.#frame = { type: head[3], flags: head[4], stream: number(head, 5) & 0x7fffffff, length, padding: 0, isFirst: true };
    this.#left = this.#content = length;
    if (head[3] !== DATA) this.#payload = new Uint8Array(length);
    else if (head[4] & PADDED && length === 0) throw new Violation("FRAME_SIZE_ERROR", "the length of the padding is missing");
  }

  #take(payload) {
    const frame = this.#frame;
    if (frame.type === DATA) {
      if (frame.isFirst && frame.flags & PADDED) {
        frame.padding = 1 + payload[0];
        if (frame.padding > frame.length) throw new Violation("PROTOCOL_ERROR", "padding is longer than its frame");
        this.#content -= frame.padding;
        payload = payload.subarray(1);
      }
      payload = payload.subarray(0, this.#content);
      this.#content -= payload.length;
    }
    const taken = { ...frame, payload, isLast: this.#left === 0 };
    frame.isFirst = false;
    if (taken.isLast) this.#frame = null;
    return taken;
  }
}

/** Returns the payload of HEADERS without padding and priority. */
export function unpadded({ flags, payload }) {
  const start = (flags & PADDED ? 1 : 0) + (flags & HAS_PRIORITY ? 5 : 0);
  if (payload.length < start) throw new Violation("FRAME_SIZE_ERROR", "HEADERS are too short");
  const end = payload.length - (flags & PADDED ? payload[0] : 0);
  if (end < start) throw new Violation("PROTOCOL_ERROR", "padding is longer than its frame");
  return payload.subarray(start, end);
}
