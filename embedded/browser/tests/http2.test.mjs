// Tests of byway-http2.js with a gateway that the test plays, in virtual time.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Decoder } from "../../../Sources/BywayBrowserFiles/Site/byway-hpack.js";
import { HTTP2 } from "../../../Sources/BywayBrowserFiles/Site/byway-http2.js";
import {
  ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GET, GOAWAY, HEADERS, NAMES, PADDED, PING, PREFACE, PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS,
  WINDOW_UPDATE, WITH_PRIORITY, data, four, frame, head, ok, settings, text,
} from "./frames.mjs";
import { bytesFor } from "./rig.mjs";

/** The client's end, and what it has sent as frames. */
class Client extends HTTP2 {
  now = 0;
  #bytes = [];

  /** Takes frames of the gateway, whole or byte by byte. */
  say(bytes, inPieces = false) {
    const all = Uint8Array.from(bytes);
    if (!inPieces) this.receive(all, this.now);
    else for (let at = 0; at < all.length; at++) this.receive(all.slice(at, at + 1), this.now);
    return this;
  }

  request(method = "GET", hasBody = false) {
    return this.begin(GET.map(([name, value]) => [name, name === ":method" ? method : value]), method, hasBody);
  }

  /** @returns the frames that it sends, with type, flags, stream and payload */
  sent(room = 4096, mayCut = true) {
    for (let bytes; (bytes = this.output(room, mayCut)).length > 0; ) {
      assert.ok(bytes.length <= room);
      this.#bytes.push(...bytes);
    }
    const frames = [];
    if (String.fromCharCode(...this.#bytes.slice(0, 24)) === PREFACE) this.#bytes.splice(0, 24);
    for (;;) {
      const [a, b, c, type, flags, d, e, f, g] = this.#bytes;
      const length = (a << 16) | (b << 8) | c;
      if (!(this.#bytes.length >= 9 + length)) return frames;
      const payload = this.#bytes.splice(0, 9 + length).slice(9);
      frames.push({ type, flags, stream: (d << 24) | (e << 16) | (f << 8) | g, payload });
    }
  }

  /** The same as text. */
  shown() {
    return this.sent().map(({ type, flags, stream, payload }) => {
      const value = [RST_STREAM, WINDOW_UPDATE].includes(type) ? ` ${payload.reduce((sum, byte) => sum * 256 + byte)}` : "";
      return `${NAMES[type]} ${stream}${type === GOAWAY ? ` ${payload.at(-1)}` : value || ` ${payload.length}`}${flags ? ` ${flags}` : ""}`;
    });
  }
}

/** A client that has said what it says at first, and knows the gateway's settings. */
function connected(...pairs) {
  const client = new Client();
  client.say(settings(...pairs)).sent();
  return client;
}

function read(stream) {
  const bytes = [];
  for (let part; (part = stream.take()).length > 0; ) bytes.push(...part);
  return bytes;
}

/** The state of a stream, with its bytes as text. */
function outcome(stream) {
  const status = stream.head?.status ?? "";
  return `${status} ${String.fromCharCode(...read(stream))}${stream.hasEnded ? "." : stream.error ? `! ${stream.error.code}` : ""}`;
}

describe("a connection", () => {
  test("a connection begins with its preface, and settings that allow no push and 16 KiB of fields", () => {
    const client = new Client();
    const bytes = [...client.output(4096, true), ...client.output(4096, true)];
    assert.deepEqual(bytes, [...text(PREFACE), ...frame(SETTINGS, 0, 0, [0, 2, 0, 0, 0, 0, 0, 6, 0, 0, 64, 0])]);
    assert.equal(client.output(4096, true).length, 0);
  });

  test("a connection sends a request at once, in one frame, and reads its response", () => {
    const client = new Client();
    const stream = client.request();
    const [, { type, flags, stream: id, payload }] = client.sent();
    assert.deepEqual([type, flags, id], [HEADERS, END_STREAM | END_HEADERS, 1]);
    assert.deepEqual(new Decoder().decode(Uint8Array.from(payload), 1000), GET);
    client.say([...settings(), ...ok(1, [["a", "b"]]), ...data(1, text("hel")), ...data(1, text("lo"), END_STREAM)]);
    assert.deepEqual(client.shown(), ["SETTINGS 0 0 1"]);
    assert.deepEqual(stream.head, { status: 200, statusText: "", fields: [["a", "b"]], length: null });
    assert.ok(stream.isOver && client.isIdle);
    assert.equal(outcome(stream), "200 hello.");
  });

  test("a connection sends no more bytes than there is room for, and frames in order", () => {
    const client = new Client();
    client.request();
    const bytes = [];
    for (let part; (part = client.output(5, true)).length > 0; ) bytes.push(part.length);
    assert.ok(bytes.every((count) => count <= 5) && bytes.length > 10);
  });

  test("a connection answers a PING with its bytes, and does not answer an acknowledgement", () => {
    const client = connected();
    client.say(frame(PING, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8]));
    assert.deepEqual(client.sent(), [{ type: PING, flags: ACK, stream: 0, payload: [1, 2, 3, 4, 5, 6, 7, 8] }]);
    client.say(frame(PING, ACK, 0, Array(8).fill(0)));
    assert.deepEqual(client.sent(), []);
  });

  test("a connection has as many requests as the gateway allows, and at most 16", () => {
    assert.equal(connected().limit, 16);
    assert.equal(connected([3, 1000]).limit, 16);
    const client = connected([3, 2]);
    assert.equal(client.limit, 2);
    const streams = [client.request(), client.request()];
    assert.deepEqual(streams.map((stream) => stream.id), [1, 3]);
    assert.equal(client.request(), null);
    client.say(ok(1, [], END_STREAM));
    assert.equal(client.request().id, 5);
    assert.equal(client.request(), null);
    assert.equal(connected([3, 0]).request(), null);
  });

  test("a connection takes several settings from one frame, and applies each", () => {
    const client = connected([3, 2], [4, 100]);
    assert.equal(client.limit, 2);
    const stream = client.request("POST", true);
    client.sent();
    stream.write(bytesFor(200), true);
    assert.deepEqual(client.shown(), ["DATA 1 100"]);
    const other = connected([3, 2]);
    const whole = other.request("POST", true);
    other.sent();
    whole.write(bytesFor(200), true);
    assert.deepEqual(other.shown(), ["DATA 1 200 1"]);
    const none = new Client();
    none.sent();
    none.say(settings([4, 0x80000000]));
    assert.equal(none.failure?.code, "protocol");
    // No stream of the gateway was taken.
    assert.deepEqual(none.sent(), [{ type: GOAWAY, flags: 0, stream: 0, payload: [0, 0, 0, 0, 0, 0, 0, 3] }]);
  });

  test("a connection begins no request while many frames wait to be sent", () => {
    const client = connected();
    for (let count = 0; count < 8; count++) client.say(frame(PING, 0, 0, Array(8).fill(count)));
    assert.equal(client.request().id, 1);
    assert.equal(client.request(), null);
    client.sent();
    assert.ok(client.request());
  });

  test("a connection refuses a request whose head is above 16 KiB, and continues", () => {
    const client = connected();
    const long = (count) => client.begin([...GET, ["x", "y".repeat(count)]], "GET", false);
    assert.throws(() => long(16384), (error) => error.code === "limit");
    assert.ok(client.isIdle);
    assert.equal(long(16000).id, 1);
  });

  test("a connection has no more requests after the last number of a stream", () => {
    const client = new Client(0x7ffffffd);
    client.say(settings());
    assert.equal(client.request().id, 0x7ffffffd);
    assert.ok(!client.isLeaving);
    assert.equal(client.sent().at(-1).stream, 0x7ffffffd);
    assert.equal(client.request().id, 0x7fffffff);
    assert.ok(client.isLeaving);
    assert.equal(client.request(), null);
  });
});

/**
 * The frames of a gateway while streams 1 (GET), 3 (GET whose response has begun) and 5 (POST, not complete) are open.
 * The expected outcome: the code of GOAWAY, or the frames that the client sends.
 */
const PROTOCOL = 1, FLOW = 3, CLOSED = 5, SIZE = 6, COMPRESSION = 9, CALM = 11;
const block = [0x88]; // The status 200.
const rows = {
  // Frames in general.
  "a frame above 16 KiB": [[0, 0x40, 1, DATA, 0, 0, 0, 0, 3], SIZE],
  "an unknown frame above 16 KiB": [[0x10, 0, 0, 99, 0, 0, 0, 0, 0], SIZE],
  "an unknown frame": [frame(99, 255, 7, [1, 2, 3]), []],
  "a frame with the reserved bit": [ok(0x80000001, [], END_STREAM), []],
  // DATA.
  "DATA of no stream": [data(0, [1]), PROTOCOL],
  "DATA of an even stream": [data(2, [1]), PROTOCOL],
  "DATA of a stream that was not opened": [data(7, [1]), PROTOCOL],
  "DATA before the head": [data(1, [1]), ["RST_STREAM 1 1"]],
  "DATA behind the end": [[...data(3, [], END_STREAM), ...data(3, [1])], CLOSED],
  "DATA behind the end of a response, while the request goes on": [[...ok(5, [], END_STREAM), ...data(5, [1])], CLOSED],
  "DATA behind RST_STREAM": [[...frame(RST_STREAM, 0, 3, four(8)), ...data(3, [1])], CLOSED],
  "DATA with padding": [data(3, [2, 65, 0, 0], PADDED), []],
  "DATA of padding only": [data(3, [2, 0, 0], PADDED), []],
  "DATA without the length of its padding": [data(3, [], PADDED), SIZE],
  "DATA with padding longer than the frame": [data(3, [3, 65, 0], PADDED), PROTOCOL],
  "DATA with padding as long as the frame": [data(3, [3, 0, 0], PADDED), PROTOCOL],
  "DATA above the length": [[...ok(1, [["content-length", "3"]]), ...data(1, text("abcd"))], ["RST_STREAM 1 1"]],
  "DATA below the length": [[...ok(1, [["content-length", "3"]]), ...data(1, text("ab"), END_STREAM)], ["RST_STREAM 1 1"]],
  "DATA as long as the length": [[...ok(1, [["content-length", "3"]]), ...data(1, text("abc"), END_STREAM)], []],
  "a head that ends before its length": [ok(1, [["content-length", "3"]], END_STREAM), ["RST_STREAM 1 1"]],
  "a body of status 204": [[...head(1, [[":status", "204"]]), ...data(1, [1])], ["RST_STREAM 1 1"]],
  "a body of status 304": [[...head(1, [[":status", "304"], ["content-length", "3"]]), ...data(1, [1])], ["RST_STREAM 1 1"]],
  "a length of status 304": [head(1, [[":status", "304"], ["content-length", "3"]], END_STREAM), []],
  // HEADERS.
  "HEADERS of no stream": [ok(0), PROTOCOL],
  "HEADERS of an even stream": [ok(2), PROTOCOL],
  "HEADERS of a stream that was not opened": [ok(7), PROTOCOL],
  "HEADERS behind the end": [[...data(3, [], END_STREAM), ...ok(3)], CLOSED],
  "HEADERS with padding": [frame(HEADERS, END_HEADERS | PADDED, 1, [3, ...block, 0, 0, 0]), []],
  "HEADERS with padding longer than the frame": [frame(HEADERS, END_HEADERS | PADDED, 1, [3, 0, 0]), PROTOCOL],
  "HEADERS without the length of their padding": [frame(HEADERS, END_HEADERS | PADDED, 1, []), SIZE],
  "HEADERS with a priority": [frame(HEADERS, END_HEADERS | WITH_PRIORITY, 1, [0, 0, 0, 0, 9, ...block]), []],
  "HEADERS with a priority that is cut off": [frame(HEADERS, END_HEADERS | WITH_PRIORITY, 1, [0, 0, 0, 0]), SIZE],
  "HEADERS with a priority and padding": [frame(HEADERS, END_HEADERS | WITH_PRIORITY | PADDED, 1, [1, 0, 0, 0, 0, 9, ...block, 0]), []],
  "HEADERS that are not valid HPACK": [frame(HEADERS, END_HEADERS, 1, [0x80]), COMPRESSION],
  "HEADERS of a closed stream that are not valid HPACK": [frame(HEADERS, END_HEADERS, 3, [0xff]), COMPRESSION],
  "a second head": [ok(3), ["RST_STREAM 3 1"]],
  "trailers": [head(3, [["a", "b"]], END_STREAM), []],
  "trailers that do not end": [head(3, [["a", "b"]]), ["RST_STREAM 3 1"]],
  "trailers with a pseudo-field": [head(3, [[":status", "200"]], END_STREAM), ["RST_STREAM 3 1"]],
  "trailers before the length": [[...ok(1, [["content-length", "3"]]), ...head(1, [["a", "b"]], END_STREAM)], ["RST_STREAM 1 1"]],
  "interim responses": [[...head(1, [[":status", "100"]]), ...head(1, [[":status", "103"]]), ...ok(1)], []],
  "an interim response that ends": [head(1, [[":status", "100"]], END_STREAM), ["RST_STREAM 1 1"]],
  "16 interim responses": [Array(16).fill(head(1, [[":status", "103"]])).flat(), []],
  "17 interim responses": [Array(17).fill(head(1, [[":status", "103"]])).flat(), ["RST_STREAM 1 1"]],
  "a change of the protocol": [head(1, [[":status", "101"]]), ["RST_STREAM 1 1"]],
  // Fields.
  "no status": [head(1, [["a", "b"]]), ["RST_STREAM 1 1"]],
  "two statuses": [head(1, [[":status", "200"], [":status", "200"]]), ["RST_STREAM 1 1"]],
  "a status of two digits": [head(1, [[":status", "20"]]), ["RST_STREAM 1 1"]],
  "a status of four digits": [head(1, [[":status", "2000"]]), ["RST_STREAM 1 1"]],
  "a status above 599": [head(1, [[":status", "600"]]), ["RST_STREAM 1 1"]],
  "a status behind a field": [head(1, [["a", "b"], [":status", "200"]]), ["RST_STREAM 1 1"]],
  "another pseudo-field": [head(1, [[":status", "200"], [":path", "/"]]), ["RST_STREAM 1 1"]],
  "a name in upper case": [ok(1, [["A", "b"]]), ["RST_STREAM 1 1"]],
  "an empty name": [ok(1, [["", "b"]]), ["RST_STREAM 1 1"]],
  "a name with a space": [ok(1, [["a ", "b"]]), ["RST_STREAM 1 1"]],
  "a name with a colon": [ok(1, [["a:", "b"]]), ["RST_STREAM 1 1"]],
  "a value with a line feed": [ok(1, [["a", "b\nc: d"]]), ["RST_STREAM 1 1"]],
  "a value with a zero": [ok(1, [["a", "b\0"]]), ["RST_STREAM 1 1"]],
  "a value with a space at its end": [ok(1, [["a", "b "]]), ["RST_STREAM 1 1"]],
  "a value with a tab at its beginning": [ok(1, [["a", "\tb"]]), ["RST_STREAM 1 1"]],
  "a value with a tab inside, and bytes above 127": [ok(1, [["a", "b\tc \xff"]]), []],
  "connection": [ok(1, [["connection", "close"]]), ["RST_STREAM 1 1"]],
  "keep-alive": [ok(1, [["keep-alive", "x"]]), ["RST_STREAM 1 1"]],
  "proxy-connection": [ok(1, [["proxy-connection", "x"]]), ["RST_STREAM 1 1"]],
  "transfer-encoding": [ok(1, [["transfer-encoding", "chunked"]]), ["RST_STREAM 1 1"]],
  "upgrade": [ok(1, [["upgrade", "x"]]), ["RST_STREAM 1 1"]],
  "two lengths": [ok(1, [["content-length", "1"], ["content-length", "1"]]), ["RST_STREAM 1 1"]],
  "a length that is not a number": [ok(1, [["content-length", "+1"]]), ["RST_STREAM 1 1"]],
  "an endless length": [ok(1, [["content-length", "9".repeat(16)]]), ["RST_STREAM 1 1"]],
  "16 KiB of fields": [ok(1, [["a", "b".repeat(16384 - 42 - 33)]]), []],
  "more than 16 KiB of fields": [ok(1, [["a", "b".repeat(16384 - 42 - 32)]]), ["RST_STREAM 1 1"]],
  // CONTINUATION.
  "a head in three frames": [
    [...frame(HEADERS, 0, 1, block.slice(0, 1)), ...frame(CONTINUATION, 0, 1, block.slice(1)), ...frame(CONTINUATION, END_HEADERS, 1)], []],
  "CONTINUATION alone": [frame(CONTINUATION, END_HEADERS, 1, block), PROTOCOL],
  "CONTINUATION behind the end of the head": [[...ok(1), ...frame(CONTINUATION, END_HEADERS, 1)], PROTOCOL],
  "CONTINUATION of another stream": [[...frame(HEADERS, 0, 1), ...frame(CONTINUATION, END_HEADERS, 5, block)], PROTOCOL],
  "PING before CONTINUATION": [[...frame(HEADERS, 0, 1), ...frame(PING, 0, 0, Array(8).fill(0))], PROTOCOL],
  "HEADERS before CONTINUATION": [[...frame(HEADERS, 0, 1), ...ok(5)], PROTOCOL],
  "an unknown frame before CONTINUATION": [[...frame(HEADERS, 0, 1), ...frame(99, 0, 1)], PROTOCOL],
  "31 empty CONTINUATIONs": [[...frame(HEADERS, 0, 1, block), ...Array(30).fill(frame(CONTINUATION, 0, 1)).flat(), ...frame(CONTINUATION, 4, 1)], []],
  "32 empty CONTINUATIONs": [[...frame(HEADERS, 0, 1, block), ...Array(32).fill(frame(CONTINUATION, 0, 1)).flat()], CALM],
  "a head of 32 KiB": [[...frame(HEADERS, 0, 1, Array(16384).fill(0x88)), ...frame(CONTINUATION, 4, 1, Array(16384).fill(0x88))], ["RST_STREAM 1 1"]],
  "a head above 32 KiB": [
    [...frame(HEADERS, 0, 1, Array(16384).fill(0x88)), ...frame(CONTINUATION, 0, 1, Array(16384).fill(0x88)), ...frame(CONTINUATION, 4, 1, [0x88])], CALM],
  // The others.
  "PRIORITY": [frame(PRIORITY, 0, 1, [0, 0, 0, 0, 1]), []],
  "PRIORITY of a stream that was not opened": [frame(PRIORITY, 0, 9, [0, 0, 0, 0, 1]), []],
  "PRIORITY of no stream": [frame(PRIORITY, 0, 0, [0, 0, 0, 0, 1]), PROTOCOL],
  "PRIORITY of four bytes": [frame(PRIORITY, 0, 1, [0, 0, 0, 0]), SIZE],
  "RST_STREAM": [frame(RST_STREAM, 0, 3, four(8)), []],
  "RST_STREAM of no stream": [frame(RST_STREAM, 0, 0, four(8)), PROTOCOL],
  "RST_STREAM of a stream that was not opened": [frame(RST_STREAM, 0, 7, four(8)), PROTOCOL],
  "RST_STREAM of three bytes": [frame(RST_STREAM, 0, 1, [0, 0, 8]), SIZE],
  "RST_STREAM of a closed stream": [[...data(3, [], END_STREAM), ...frame(RST_STREAM, 0, 3, four(0))], []],
  "SETTINGS of a stream": [frame(SETTINGS, 0, 1), PROTOCOL],
  "SETTINGS of five bytes": [frame(SETTINGS, 0, 0, [0, 3, 0, 0, 0]), SIZE],
  "an acknowledgement with a setting": [frame(SETTINGS, ACK, 0, [0, 3, 0, 0, 0, 1]), SIZE],
  "an acknowledgement": [frame(SETTINGS, ACK, 0), []],
  "no settings": [settings(), ["SETTINGS 0 0 1"]],
  "an unknown setting": [settings([99, 1]), ["SETTINGS 0 0 1"]],
  "a setting whose name has two bytes": [frame(SETTINGS, 0, 0, [1, 2, 0, 0, 0, 1]), ["SETTINGS 0 0 1"]],
  "a table of any size": [settings([1, 0]), ["SETTINGS 0 0 1"]],
  "push switched off": [settings([2, 0]), ["SETTINGS 0 0 1"]],
  "push switched on": [settings([2, 1]), PROTOCOL],
  "a window of 2^31 - 1": [settings([4, 0x7fffffff]), ["SETTINGS 0 0 1"]],
  "a window of 2^31": [settings([4, 0x80000000]), FLOW],
  "frames of 16,383 bytes": [settings([5, 16383]), PROTOCOL],
  "frames of 16,384 bytes": [settings([5, 16384]), ["SETTINGS 0 0 1"]],
  "frames of 2^24 - 1 bytes": [settings([5, 0xffffff]), ["SETTINGS 0 0 1"]],
  "frames of 2^24 bytes": [settings([5, 0x1000000]), PROTOCOL],
  "PUSH_PROMISE": [frame(PUSH_PROMISE, END_HEADERS, 1, [0, 0, 0, 2, ...block]), PROTOCOL],
  "PING of a stream": [frame(PING, 0, 1, Array(8).fill(0)), PROTOCOL],
  "PING of seven bytes": [frame(PING, 0, 0, Array(7).fill(0)), SIZE],
  "GOAWAY of a stream": [frame(GOAWAY, 0, 1, Array(8).fill(0)), PROTOCOL],
  "GOAWAY of seven bytes": [frame(GOAWAY, 0, 0, Array(7).fill(0)), SIZE],
  "GOAWAY with a text": [frame(GOAWAY, 0, 0, [...four(5), ...four(0), ...text("bye")]), []],
  "WINDOW_UPDATE of three bytes": [frame(WINDOW_UPDATE, 0, 0, [0, 0, 1]), SIZE],
  "WINDOW_UPDATE by nothing": [frame(WINDOW_UPDATE, 0, 0, four(0)), PROTOCOL],
  "WINDOW_UPDATE of a stream by nothing": [frame(WINDOW_UPDATE, 0, 5, four(0)), ["RST_STREAM 5 1"]],
  "WINDOW_UPDATE up to 2^31 - 1": [frame(WINDOW_UPDATE, 0, 0, four(0x7fffffff - 65535)), []],
  "WINDOW_UPDATE above 2^31 - 1": [frame(WINDOW_UPDATE, 0, 0, four(0x7fffffff - 65534)), FLOW],
  "WINDOW_UPDATE of a stream up to 2^31 - 1": [frame(WINDOW_UPDATE, 0, 5, four(0x7fffffff - 65535)), []],
  "WINDOW_UPDATE of a stream above 2^31 - 1": [frame(WINDOW_UPDATE, 0, 5, four(0x7fffffff - 65534)), ["RST_STREAM 5 3"]],
  "WINDOW_UPDATE with the reserved bit": [frame(WINDOW_UPDATE, 0, 0, four(0x80000001)), []],
  "WINDOW_UPDATE of a stream that was not opened": [frame(WINDOW_UPDATE, 0, 7, four(1)), PROTOCOL],
  "WINDOW_UPDATE of a closed stream": [[...data(3, [], END_STREAM), ...frame(WINDOW_UPDATE, 0, 3, four(1))], []],
  "a window that settings make too large": [[...frame(WINDOW_UPDATE, 0, 5, four(1000)), ...settings([4, 0x7fffffff])], FLOW],
};

describe("a gateway that sends", () => {
  for (const [name, [bytes, expected]] of Object.entries(rows)) {
    const isEnd = typeof expected === "number";
    test(`a gateway that sends ${name} ${isEnd ? "ends the connection" : expected.some((text) => /RST/.test(text)) ? "ends the stream" : "is understood"}`, () => {
      for (const inPieces of bytes.length < 3000 ? [false, true] : [false]) {
        const client = connected();
        const streams = [client.request(), client.request(), client.request("POST", true)];
        client.say(ok(3)).sent();
        client.say(bytes, inPieces);
        assert.deepEqual(client.shown().slice(0, 9), isEnd ? [`GOAWAY 0 ${expected}`] : expected);
        assert.equal(client.failure?.code, isEnd ? "protocol" : undefined, client.failure?.message);
        const isReset = (stream) => !isEnd && expected.some((text) => text.startsWith(`RST_STREAM ${stream.id} `));
        for (const stream of streams) assert.equal(stream.error?.code === "protocol", isReset(stream));
        if (isEnd) {
          // Nothing more is heard or begun.
          assert.equal(client.say(frame(PING, 0, 0, Array(8).fill(0))).sent().length, 0);
          assert.equal(client.request(), null);
        } else {
          client.say(frame(PING, 0, 0, Array(8).fill(1)));
          assert.deepEqual(client.shown(), ["PING 0 8 1"]);
        }
      }
    });
  }

  for (const [name, bytes] of Object.entries({
    "HTTP/1.1": text("HTTP/1.1 400 Bad Request\r\n\r\n"), "PING first": frame(PING, 0, 0, Array(8).fill(0)),
    "an acknowledgement first": frame(SETTINGS, ACK, 0), "a response first": ok(1),
  })) {
    test(`a gateway that sends ${name} ends the connection`, () => {
      const client = new Client();
      client.request();
      client.say(bytes);
      assert.equal(client.failure?.code, "protocol");
      assert.equal(client.hasSettings, false);
    });
  }
});

describe("frames without content", () => {
  const floods = {
    "PING": frame(PING, 0, 0, Array(8).fill(0)),
    "answers to PING": frame(PING, ACK, 0, Array(8).fill(0)),
    "SETTINGS": settings(),
    "PRIORITY": frame(PRIORITY, 0, 1, [0, 0, 0, 0, 1]),
    "unknown ones": frame(99, 0, 0),
    "DATA without bytes": data(3, []),
    "DATA of padding": data(3, [2, 0, 0], PADDED),
    "WINDOW_UPDATE": frame(WINDOW_UPDATE, 0, 0, four(1)),
    "RST_STREAM of a closed stream": frame(RST_STREAM, 0, 1, four(8)),
    "GOAWAY": frame(GOAWAY, 0, 0, [...four(3), ...four(0)]),
    "HEADERS of a stream that was reset": head(5, [["a", "b"]]),
  };
  for (const [name, bytes] of Object.entries(floods)) {
    test(`more than 500 frames without content at once end the connection: ${name}`, () => {
      const start = () => {
        const client = connected();
        const streams = [client.request(), client.request(), client.request()];
        client.say(ok(3)).say(ok(1, [], END_STREAM));
        streams[2].abort();
        client.sent();
        return client;
      };
      const client = start();
      let count = 0;
      for (; !client.failure && count < 1000; count++) {
        client.say(bytes);
        client.sent();
      }
      // Requests have allowed some more, and SETTINGS came before.
      assert.ok(count > 490 && count < 515, `${count}`);
      assert.match(client.failure.message, /without content/);
      const patient = start();
      for (let count = 0; count < 3000; count++) {
        patient.now += 50;
        patient.say(bytes);
        patient.sent();
      }
      assert.equal(patient.failure, null);
    });
  }

  test("500 frames without content are allowed at once, and 20 more in each second", () => {
    const client = connected();
    const ping = () => client.say(frame(PING, ACK, 0, Array(8).fill(0))).failure === null;
    const count = () => {
      let taken = 0;
      while (ping()) taken++;
      return taken;
    };
    // SETTINGS were one of them.
    assert.equal(count(), 499);
    const later = connected();
    for (let round = 0; round < 499; round++) later.say(frame(PING, ACK, 0, Array(8).fill(0)));
    later.now = 1000;
    for (let round = 0; round < 20; round++) later.say(frame(PING, ACK, 0, Array(8).fill(0)));
    assert.equal(later.failure, null);
    later.say(frame(PING, ACK, 0, Array(8).fill(0)));
    assert.match(later.failure.message, /without content/);
  });

  test("frames without content are allowed for each request", () => {
    const client = connected();
    for (let count = 0; count < 300; count++) {
      const { id } = client.request();
      client.say([...ok(id, [], END_STREAM), ...Array(4).fill(frame(PING, ACK, 0, Array(8).fill(0))).flat()]).sent();
    }
    assert.equal(client.failure, null);
  });

  test("frames without content are allowed among the frames of a request", () => {
    const client = connected();
    const stream = client.request("POST", true);
    for (let count = 0; count < 1000; count++) {
      stream.write(new Uint8Array(10), false);
      client.sent();
      client.say([...frame(WINDOW_UPDATE, 0, 0, four(10)), ...frame(WINDOW_UPDATE, 0, 1, four(10))]);
    }
    assert.equal(client.failure, null);
  });

  test("frames that need an answer are limited while nothing can be sent", () => {
    const client = connected();
    for (let count = 0; !client.failure && count < 2000; count++) {
      client.now += 60;
      client.say(frame(PING, 0, 0, Array(8).fill(0)));
    }
    assert.match(client.failure.message, /too many answers/);
    assert.ok(client.sent().length < 520);
  });
});

describe("windows", () => {
  test("windows of the gateway limit the bytes of a stream and of all streams", () => {
    const client = connected([4, 100]);
    const [one, other] = [client.request("POST", true), client.request("POST", true)];
    client.sent();
    one.write(bytesFor(70000), true);
    assert.deepEqual(client.shown(), ["DATA 1 100"]);
    client.say(frame(WINDOW_UPDATE, 0, 1, four(50)));
    assert.deepEqual(client.shown(), ["DATA 1 50"]);
    client.say(settings([4, 40]));
    client.say(frame(WINDOW_UPDATE, 0, 1, four(60)));
    assert.deepEqual(client.shown(), ["SETTINGS 0 0 1"]);
    client.say(frame(WINDOW_UPDATE, 0, 1, four(1)));
    assert.deepEqual(client.shown(), ["DATA 1 1"]);
    client.say(settings([4, 70000]));
    const sent = client.sent().slice(1);
    assert.equal(sent.reduce((sum, { payload }) => sum + payload.length, 0), 65535 - 151);
    assert.ok(sent.every(({ payload }) => payload.length <= 1024));
    other.write(bytesFor(3), true);
    assert.deepEqual(client.shown(), []);
    client.say(frame(WINDOW_UPDATE, 0, 0, four(2)));
    assert.deepEqual(client.shown(), ["DATA 3 2"]);
    client.say(frame(WINDOW_UPDATE, 0, 0, four(10000)));
    const rest = client.shown();
    assert.ok(rest.includes("DATA 3 1 1") && rest.at(-1).endsWith(" 1"), `${rest}`);
    assert.ok(one.isWritten && other.isWritten && one.isSent);
  });

  test("a window does not delay the end of a request without more bytes", () => {
    const client = connected([4, 0]);
    const stream = client.request("POST", true);
    client.sent();
    stream.write(new Uint8Array(0), true);
    assert.deepEqual(client.shown(), ["DATA 1 0 1"]);
    assert.ok(stream.isWritten);
  });

  test("windows of this end are widened when half was read, and not before", () => {
    const client = connected();
    const stream = client.request();
    client.say(ok(1)).sent();
    for (let count = 0; count < 4; count++) client.say(data(1, Array(16380).fill(65)));
    // The connection's window is widened when bytes arrive, that of the stream when they are read.
    assert.deepEqual(client.shown(), ["WINDOW_UPDATE 0 49140"]);
    assert.equal(stream.take().length, 16380);
    assert.deepEqual(client.shown(), []);
    assert.equal(stream.take().length, 16380);
    assert.deepEqual(client.shown(), []);
    assert.equal(stream.take().length, 16380);
    assert.deepEqual(client.shown(), ["WINDOW_UPDATE 1 49140"]);
    for (let count = 0; count < 3; count++) client.say(data(1, Array(16380).fill(65)));
    assert.deepEqual(client.shown(), ["WINDOW_UPDATE 0 49140"]);
    client.say(data(1, Array(15).fill(65)));
    assert.equal(client.failure, null);
    client.say(data(1, [65]));
    assert.deepEqual(client.shown(), ["GOAWAY 0 3"]);
  });

  test("windows are widened by the bytes that were read since the last time", () => {
    const client = connected();
    const stream = client.request();
    client.say(ok(1)).sent();
    for (const size of [16384, 16384, 16000, 16384, 16384]) {
      client.say(data(1, Array(size).fill(65)));
      stream.take();
    }
    assert.deepEqual(client.shown(), ["WINDOW_UPDATE 0 32768", "WINDOW_UPDATE 1 32768", "WINDOW_UPDATE 0 48768", "WINDOW_UPDATE 1 48768"]);
  });

  test("the window of the connection limits all streams together", () => {
    const client = connected();
    const streams = [...Array(4)].map(() => client.request());
    // 32,767 bytes are not half of the window, so it is not widened.
    for (const { id } of streams) client.say(ok(id));
    client.sent();
    client.say(data(1, Array(16384).fill(0)));
    client.say(data(3, Array(16383).fill(0)));
    assert.deepEqual(client.shown(), []);
    client.say(data(5, [0]));
    assert.deepEqual(client.shown(), ["WINDOW_UPDATE 0 32768"]);
  });

  test("windows count padding as read, and are not widened after the end", () => {
    const client = connected();
    const stream = client.request();
    client.say(ok(1)).sent();
    for (let count = 0; count < 129; count++) client.say(data(1, [253, ...text("ab"), ...Array(253).fill(0)], PADDED));
    assert.deepEqual(client.shown(), ["WINDOW_UPDATE 0 32768"]);
    assert.equal(stream.take().length, 258);
    assert.deepEqual(client.shown(), ["WINDOW_UPDATE 1 33024"]);
    client.say(data(1, Array(16384).fill(65))).say(data(1, Array(16384).fill(65), END_STREAM)).sent();
    assert.equal(read(stream).length, 32768);
    assert.deepEqual(client.shown(), []);
  });

  test("windows hold few objects for many small parts", () => {
    const client = connected();
    const stream = client.request();
    client.say(ok(1));
    for (let count = 0; count < 5000; count++) client.say(data(1, [count & 255]));
    let parts = 0;
    const bytes = [];
    for (let part; (part = stream.take()).length > 0; parts++) bytes.push(...part);
    assert.ok(parts <= 6, `${parts}`);
    assert.deepEqual(bytes, [...Array(5000).keys()].map((count) => count & 255));
  });
});

describe("a body", () => {
  test("a body of a request takes turns with those of others, in short frames", () => {
    const client = connected();
    const streams = [...Array(3)].map(() => client.request("POST", true));
    client.sent();
    for (const stream of streams) stream.write(bytesFor(2500), true);
    const sent = client.sent();
    assert.deepEqual(sent.map(({ stream, payload, flags }) => [stream, payload.length, flags]),
      [[1, 1024, 0], [3, 1024, 0], [5, 1024, 0], [1, 1024, 0], [3, 1024, 0], [5, 1024, 0], [1, 452, 1], [3, 452, 1], [5, 452, 1]]);
    assert.deepEqual(sent.filter(({ stream }) => stream === 3).flatMap(({ payload }) => payload), [...bytesFor(2500)]);
  });

  test("a body of a request waits for other frames, for room, and for its turn on the line", () => {
    const client = connected();
    const stream = client.request("POST", true);
    stream.write(bytesFor(2000), false);
    client.say(frame(PING, 0, 0, Array(8).fill(0)));
    assert.equal(client.sent(4096, false).length, 2);
    assert.equal(client.output(63, true).length, 0);
    assert.ok(client.output(64, true).length > 9);
    const part = client.output(100, true);
    assert.ok(part.length > 64 && part.length <= 100);
    client.output(4096, true);
    assert.ok(!stream.isWritten);
    client.output(4096, true);
    assert.ok(stream.isWritten && !stream.isSent);
  });

  test("a body of a response comes without its padding, however its bytes arrive", () => {
    for (const inPieces of [false, true]) {
      const client = connected();
      const stream = client.request();
      client.say([...ok(1), ...data(1, [2, 65, 66, 0, 0], PADDED), ...data(1, [0, 67], PADDED), ...data(1, [1, 0], PADDED | END_STREAM)], inPieces);
      assert.equal(outcome(stream), "200 ABC.");
    }
  });

  test("a body of a response can be read as its bytes arrive, not when its frame is complete", () => {
    const client = connected();
    const stream = client.request();
    client.say(ok(1)).say(data(1, text("abcdef"), END_STREAM).slice(0, 12));
    assert.equal(outcome(stream), "200 abc");
    client.say(text("def"));
    assert.equal(outcome(stream), "200 def.");
  });

  test("a body of a response that is not read takes as much memory as it has bytes", () => {
    const client = connected();
    const stream = client.request();
    client.say(ok(1));
    for (let part = 0; part < 10; part++) client.say([...data(1, Array(600).fill(65)), ...frame(PING, 0, 0, Array(8).fill(0))]);
    for (let part; (part = stream.take()).length > 0; ) assert.equal(part.buffer.byteLength, part.length);
  });

  test("a body of a response to HEAD is dropped, and its length is not expected", () => {
    const client = connected();
    const stream = client.request("HEAD");
    client.say(ok(1, [["content-length", "5"]], END_STREAM));
    assert.equal(outcome(stream), "200 .");
    assert.equal(stream.head.length, 0);
  });
});

describe("a stream", () => {
  test("a stream that is aborted takes no more, and its frames do no harm up to its window", () => {
    const client = connected();
    const stream = client.request();
    client.say(ok(1)).say(data(1, text("abc")));
    client.sent();
    stream.abort();
    stream.abort();
    assert.deepEqual(client.shown(), ["RST_STREAM 1 8"]);
    assert.ok(stream.isOver && client.isIdle);
    client.say([...data(1, Array(16384).fill(0)), ...head(1, [["a", "b"]])]);
    for (let count = 0; count < 2; count++) client.say(data(1, Array(16384).fill(0)));
    client.say(data(1, Array(16380).fill(0)));
    assert.equal(client.failure, null);
    client.sent();
    client.say(data(1, [0]));
    assert.deepEqual(client.shown(), ["GOAWAY 0 3"]);
  });

  test("a stream that is aborted is closed after the end of its response", () => {
    for (const end of [data(1, [], END_STREAM), head(1, [["a", "b"]], END_STREAM), frame(RST_STREAM, 0, 1, four(8))]) {
      const client = connected();
      client.request().abort();
      client.say(end);
      assert.equal(client.failure, null);
      client.say(data(1, [0]));
      assert.match(client.failure.message, /behind the end/);
    }
  });

  test("a stream that is aborted within a frame ignores the rest of it", () => {
    const client = connected();
    const stream = client.request();
    const bytes = [...data(1, text("abcdef"), END_STREAM), ...frame(PING, 0, 0, Array(8).fill(0))];
    client.say(ok(1)).say(bytes.slice(0, 11)).sent();
    stream.abort();
    client.say(bytes.slice(11));
    assert.deepEqual(client.shown(), ["RST_STREAM 1 8", "PING 0 8 1"]);
  });

  test("a stream that is aborted keeps the tables of both ends equal", () => {
    const client = connected();
    const [stream, other] = [client.request(), client.request()];
    stream.abort();
    client.say(frame(HEADERS, END_HEADERS, 1, [0x88, 0x40, 1, 97, 1, 98]));
    client.say(frame(HEADERS, END_HEADERS, 3, [0x88, 0xbe]));
    assert.deepEqual(other.head.fields, [["a", "b"]]);
  });

  test("a stream that was aborted is remembered, among the last 256", () => {
    const client = connected();
    for (let count = 0; count < 257; count++) {
      client.request().abort();
      client.sent();
    }
    client.say(data(3, [0]));
    assert.equal(client.failure, null);
    client.say(data(1, [0]));
    assert.match(client.failure.message, /behind the end/);
  });

  test("a stream that the gateway ends has its bytes, and the reason", () => {
    for (const [code, message, isUnprocessed] of [[7, /REFUSED_STREAM/, true], [2, /INTERNAL_ERROR/, false], [99, /99/, false]]) {
      const client = connected();
      const stream = client.request();
      client.say(ok(1)).say(data(1, text("abc"))).say(frame(RST_STREAM, 0, 1, four(code)));
      assert.equal(outcome(stream), "200 abc! reset");
      assert.match(stream.error.message, message);
      assert.equal(stream.isUnprocessed, isUnprocessed);
      assert.ok(client.isIdle && stream.isOver);
    }
  });

  test("a stream that has ended widens no window when its bytes are read", () => {
    for (const isOwn of [false, true]) {
      const client = connected();
      const stream = client.request();
      client.say(ok(1));
      for (let count = 0; count < 3; count++) client.say(data(1, Array(16384).fill(65)));
      if (isOwn) stream.abort();
      else client.say(frame(RST_STREAM, 0, 1, four(8)));
      client.sent();
      assert.equal(read(stream).length, 49152);
      assert.deepEqual(client.shown(), []);
    }
  });

  test("a stream whose response is complete stops its request without an error", () => {
    for (const code of [0, 8]) {
      const client = connected();
      const stream = client.request("POST", true);
      client.sent();
      stream.write(bytesFor(100), false);
      client.say(ok(1, [], END_STREAM));
      assert.ok(!stream.isOver && stream.hasEnded);
      client.say(frame(RST_STREAM, 0, 1, four(code)));
      assert.ok(stream.isOver && client.isIdle);
      assert.equal(stream.error, null);
      assert.deepEqual(client.shown(), []);
    }
  });

  test("a stream whose response is complete ends when its request is complete", () => {
    const client = connected();
    const stream = client.request("POST", true);
    client.sent();
    client.say(ok(1, [], END_STREAM));
    assert.ok(!client.isIdle);
    stream.write(bytesFor(10), true);
    assert.deepEqual(client.shown(), ["DATA 1 10 1"]);
    assert.ok(client.isIdle && stream.isOver);
    stream.abort();
    assert.deepEqual(client.shown(), []);
  });

  test("a stream whose request is stopped after its response sends RST_STREAM, and nothing may follow", () => {
    const client = connected();
    const stream = client.request("POST", true);
    client.say(ok(1, [], END_STREAM)).sent();
    stream.abort();
    assert.deepEqual(client.shown(), ["RST_STREAM 1 8"]);
    client.say(data(1, [0]));
    assert.match(client.failure.message, /behind the end/);
  });
});

describe("GOAWAY", () => {
  const goaway = (last, code = 0) => frame(GOAWAY, 0, 0, [...four(last), ...four(code)]);

  test("GOAWAY lets the requests end that were taken, and fails the others as not processed", () => {
    const client = connected();
    const [one, other] = [client.request(), client.request()];
    client.say(goaway(1));
    assert.ok(client.isLeaving);
    assert.equal(client.request(), null);
    assert.equal(one.error, null);
    assert.equal(other.error.code, "reset");
    assert.ok(other.isUnprocessed);
    assert.ok(!client.isIdle);
    client.say(ok(1, [], END_STREAM));
    assert.equal(outcome(one), "200 .");
    assert.ok(client.isIdle);
    assert.equal(client.farewell, null);
  });

  test("GOAWAY can come twice, first with the highest number", () => {
    const client = connected();
    const streams = [client.request(), client.request()];
    client.say(goaway(0x7fffffff));
    assert.ok(streams.every((stream) => stream.error === null));
    client.say(goaway(1));
    assert.deepEqual(streams.map((stream) => stream.isUnprocessed), [false, true]);
  });

  test("GOAWAY tells why the gateway ended the connection", () => {
    assert.match(connected().say(goaway(0, 11)).farewell.message, /ENHANCE_YOUR_CALM/);
    assert.match(connected().say(goaway(0, 77)).farewell.message, /77/);
  });
});
