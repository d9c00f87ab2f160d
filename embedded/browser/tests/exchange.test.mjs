// Tests of byway-exchange.js: requests on a line that is a list of bytes, with a gateway that the test plays.

import assert from "node:assert/strict";
import { afterEach, describe } from "node:test";
import { BywayError } from "../../../Sources/BywayBrowserFiles/Site/byway-error.js";
import { Exchange, GatewaySession } from "../../../Sources/BywayBrowserFiles/Site/byway-exchange.js";
import { Decoder } from "../../../Sources/BywayBrowserFiles/Site/byway-hpack.js";
import {
  END_STREAM, GOAWAY, HEADERS, NAMES, PING, RST_STREAM, WINDOW_UPDATE, data, four, frame, head, ok, settings, text,
} from "./frames.mjs";
import { bytesFor, limited as test, until } from "./rig.mjs";

const code = (expected) => (error) => (assert.equal(error.code, expected, error.stack), true);

/** A line, with the interface of a carrier. */
class Line {
  sent = [];
  arriving = [];
  session = 0;
  sessionsBegun = 0;
  isUp = true;
  isKnown = true;
  streams = 0;
  room = 4096;
  unsent = 0;
  hasEnded = false;
  failure = new BywayError("reset", "over");
  #waiting = [];
  current = null;

  /** Begins an exchange whose session is the current one. */
  exchange(method = "GET", body = null, headers = []) {
    const exchange = new Exchange(this, () => {
      if (!this.current || this.current.isOver) this.current = new GatewaySession(this);
      return this.current;
    });
    const url = new URL("http://device/path?a");
    exchange.progress = 0;
    exchange.begin({ method, url, headers, body }, body === null ? null : body.length, () => exchange.progress++);
    exchange.sending = exchange.send(body);
    return exchange;
  }

  open() {
    this.sent = [];
    return (this.session = ++this.sessionsBegun);
  }

  abort() {
    this.session = 0;
    this.turn();
  }

  take() {
    return Uint8Array.from(this.arriving.splice(0));
  }

  put(bytes) {
    assert.ok(bytes.length <= this.room);
    this.sent.push(...bytes);
    return bytes.length;
  }

  change() {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  turn() {
    for (const wake of this.#waiting.splice(0)) wake();
    this.current?.pump();
  }

  /** The gateway sends bytes. Those that wait go on before this returns. */
  async say(...bytes) {
    this.arriving.push(...bytes.flat());
    this.turn();
    await this.settle();
  }

  async settle() {
    for (let count = 0; count < 20; count++) await null;
    this.turn();
    for (let count = 0; count < 20; count++) await null;
  }

  /** @returns the frames that were sent since the last call, as text */
  shown() {
    const bytes = this.sent.splice(0);
    if (bytes[0] === 80) bytes.splice(0, 24);
    const frames = [];
    while (bytes.length > 0) {
      const [a, b, c, type, flags, , , , stream, ...rest] = bytes.splice(0, 9 + (bytes[0] << 16) + (bytes[1] << 8) + bytes[2]);
      frames.push(`${NAMES[type]} ${stream} ${type === RST_STREAM || type === GOAWAY ? rest.at(-1) : (a << 16) + (b << 8) + c}${flags ? ` ${flags}` : ""}`);
    }
    return frames;
  }
}

/** A line with a session whose gateway has sent its settings. */
async function connected(...pairs) {
  const line = new Line();
  const first = line.exchange();
  await line.say(settings(...pairs));
  await line.say(ok(1, [], END_STREAM));
  assert.equal((await first.readHead()).status, 200);
  line.shown();
  return line;
}

async function read(exchange) {
  const bytes = [];
  for await (const part of exchange.readBody()) bytes.push(...part);
  return String.fromCharCode(...bytes);
}

describe("a session", () => {
  test("a session sends its preface when the device is known, and a request when the gateway has sent its settings", async () => {
    const line = new Line();
    line.isUp = line.isKnown = false;
    const exchange = line.exchange();
    await line.settle();
    assert.equal(line.sessionsBegun, 0);
    line.isUp = true;
    await line.settle();
    assert.equal(line.sessionsBegun, 1);
    assert.deepEqual(line.sent, []);
    line.isKnown = true;
    await line.settle();
    assert.deepEqual(line.shown(), ["SETTINGS 0 12"]);
    await line.say(settings());
    const [acknowledgement, request] = line.shown();
    assert.equal(acknowledgement, "SETTINGS 0 0 1");
    assert.match(request, /^HEADERS 1 \d+ 5$/);
    await line.say(ok(1, [["a", "b"], ["content-length", "2"]]), data(1, text("hi"), END_STREAM));
    assert.deepEqual(await exchange.readHead(), { status: 200, statusText: "", fields: [["a", "b"], ["content-length", "2"]], framing: 2, keeps: false });
    assert.equal(await read(exchange), "hi");
  });

  test("a session tells how a body ends: at once, by its length, or with the stream", async () => {
    const line = await connected();
    for (const [id, bytes, framing] of [
      [3, ok(3, [], END_STREAM), 0], [5, ok(5, [["content-length", "7"]]), 7], [7, ok(7), "stream"], [9, ok(9, [["content-length", "0"]]), "stream"],
      [11, [...ok(11), ...data(11, text("x"), END_STREAM)], "stream"], [13, [...ok(13), ...data(13, [], END_STREAM)], 0],
    ]) {
      const exchange = line.exchange();
      await line.settle();
      await line.say(bytes);
      assert.equal((await exchange.readHead()).framing, framing, `stream ${id}`);
    }
  });

  test("a session with a device that takes streams, or answers in HTTP/1.1, fails with the remedy", async () => {
    for (const isOld of [false, true]) {
      const line = new Line();
      line.streams = isOld ? 0 : 4;
      const exchange = line.exchange();
      await line.settle();
      if (isOld) await line.say(text("HTTP/1.1 400 Bad Request\r\n\r\n"));
      assert.equal(line.session, 0);
      await assert.rejects(exchange.readHead(), (error) => code("protocol")(error) && /Leave out the option http/.test(error.message));
      assert.equal(line.sessionsBegun, 1);
      if (!isOld) assert.deepEqual(line.sent, []);
    }
  });

  test("a session that ends before a request was sent is followed by another, at most four times", async () => {
    const line = new Line();
    const exchange = line.exchange();
    for (let count = 1; count <= 5; count++) {
      await until(() => (line.turn(), line.sessionsBegun === count), `session ${count}`);
      await line.settle();
      line.abort();
    }
    await assert.rejects(exchange.readHead(), code("reset"));
    await line.settle();
    assert.equal(line.sessionsBegun, 5);
  });

  test("a session that ends before a request was sent, because the device is silent, fails the request", async () => {
    const line = new Line();
    line.failure = new BywayError("silent", "silence");
    const exchange = line.exchange();
    await line.settle();
    line.abort();
    await assert.rejects(exchange.readHead(), code("silent"));
    assert.equal(line.sessionsBegun, 1);
  });

  test("a session that ends fails the sent requests after the bytes that have arrived", async () => {
    const line = await connected();
    const [one, other] = [line.exchange(), line.exchange()];
    await line.settle();
    await line.say(ok(3), data(3, text("abc")));
    await one.readHead();
    line.abort();
    await assert.rejects(other.readHead(), code("reset"));
    const parts = one.readBody();
    assert.equal(String.fromCharCode(...(await parts.next()).value), "abc");
    await assert.rejects(parts.next(), code("reset"));
  });

  test("a session is given up when the gateway has sent its last byte", async () => {
    const line = await connected();
    const exchange = line.exchange();
    await line.settle();
    line.hasEnded = true;
    await line.settle();
    assert.equal(line.session, 0);
    await assert.rejects(exchange.readHead(), code("reset"));
  });

  test("a session in which the gateway breaks the protocol sends GOAWAY, and fails all requests", async () => {
    const line = await connected();
    const exchanges = [line.exchange(), line.exchange()];
    await line.settle();
    line.shown();
    await line.say(frame(PING, 0, 1, Array(8).fill(0)));
    assert.deepEqual(line.shown(), ["GOAWAY 0 1"]);
    assert.equal(line.session, 0);
    for (const exchange of exchanges) await assert.rejects(exchange.readHead(), (error) => code("protocol")(error) && /PING/.test(error.message));
  });

  test("a session fails its requests with the reason that the gateway gave", async () => {
    const line = await connected();
    const exchange = line.exchange();
    await line.settle();
    await line.say(frame(GOAWAY, 0, 0, [...four(3), ...four(11)]));
    line.hasEnded = true;
    await line.settle();
    await assert.rejects(exchange.readHead(), (error) => code("reset")(error) && /ENHANCE_YOUR_CALM/.test(error.message));
  });

  test("a session sends no DATA while the line has many bytes to send, and none without room", async () => {
    const line = await connected();
    line.unsent = 1024;
    const exchange = line.exchange("PUT", bytesFor(3000));
    await line.settle();
    assert.deepEqual(line.shown().map((shown) => shown.split(" ")[0]), ["HEADERS"]);
    line.unsent = 1023;
    line.room = 20;
    await line.settle();
    assert.deepEqual(line.shown(), []);
    line.room = 4096;
    await line.settle();
    assert.deepEqual(line.shown(), ["DATA 3 1024", "DATA 3 1024", "DATA 3 952 1"]);
    await exchange.sending;
    assert.ok(exchange.isSent);
  });
});

describe("a gateway that stops", () => {
  const now = performance.now;
  afterEach(() => (performance.now = now));
  const goaway = (last) => frame(GOAWAY, 0, 0, [...four(last), ...four(0)]);

  test("a gateway that stops ends the requests that it has taken, and later requests wait for its end", async () => {
    const line = await connected();
    const one = line.exchange();
    await line.settle();
    await line.say(goaway(3));
    const next = line.exchange();
    await line.settle();
    await line.say(ok(3, [], END_STREAM));
    assert.equal((await one.readHead()).status, 200);
    assert.equal(line.sessionsBegun, 1);
    line.hasEnded = true;
    await line.settle();
    line.hasEnded = false;
    await until(() => (line.turn(), line.sessionsBegun === 2), "another session");
    await line.say(settings());
    await line.say(ok(1, [], END_STREAM));
    assert.equal((await next.readHead()).status, 200);
  });

  test("a gateway that stops and does not end its session is given up 5 s after its last request", async () => {
    const line = await connected();
    const one = line.exchange();
    await line.settle();
    let time = 1000;
    performance.now = () => time;
    await line.say(goaway(3));
    time += 60000;
    await line.settle();
    assert.equal(line.session, 1);
    await line.say(ok(3, [], END_STREAM));
    assert.equal((await one.readHead()).status, 200);
    time += 4999;
    await line.settle();
    assert.equal(line.session, 1);
    time += 2;
    await line.settle();
    assert.equal(line.session, 0);
  });
});

describe("a request", () => {
  test("a request can be sent again if the gateway has not taken it, or if it is safe and its session was an old one", async () => {
    const reset = new BywayError("reset", "");
    const cases = [
      // The frames of the gateway; whether the request is GET, HEAD or OPTIONS without a body; whether it can be sent again.
      [frame(RST_STREAM, 0, 3, four(7)), false, bytesFor(3), true],
      [frame(RST_STREAM, 0, 3, four(7)), false, new ReadableStream({}), false],
      [frame(RST_STREAM, 0, 3, four(8)), false, null, false],
      [frame(RST_STREAM, 0, 3, four(8)), true, null, true],
      [frame(GOAWAY, 0, 0, [...four(1), ...four(0)]), false, null, true],
      [[...ok(3), ...frame(RST_STREAM, 0, 3, four(8))], true, null, false],
      [[...head(3, [[":status", "103"]]), ...frame(RST_STREAM, 0, 3, four(8))], true, null, true],
    ];
    for (const [index, [bytes, isRepeatable, body, expected]] of cases.entries()) {
      const line = await connected();
      const exchange = line.exchange("POST", body);
      await line.settle();
      await line.say(bytes);
      assert.equal(exchange.mayRepeat(reset, isRepeatable, 0), expected, `case ${index}`);
      assert.equal(exchange.mayRepeat(reset, isRepeatable, 1), false);
      if (index === 3) assert.equal(exchange.mayRepeat(new BywayError("timeout", ""), isRepeatable, 0), false);
    }
    const line = new Line();
    const first = line.exchange();
    assert.equal(first.mayRepeat(reset, true, 0), false);
    await line.say(settings());
    await line.say(frame(RST_STREAM, 0, 1, four(8)));
    await assert.rejects(first.readHead(), code("reset"));
    assert.equal(first.mayRepeat(reset, true, 0), false);
  });

  test("a request reports progress, and ends with the last byte", async () => {
    const line = await connected([4, 100]);
    const exchange = line.exchange("PUT", bytesFor(250));
    await line.settle();
    assert.match(line.shown().join(), /^HEADERS 3 \d+ 4,DATA 3 100$/);
    assert.equal(exchange.progress, 1);
    await line.settle();
    assert.equal(exchange.progress, 1);
    await line.say(frame(WINDOW_UPDATE, 0, 3, four(50)));
    assert.deepEqual(line.shown(), ["DATA 3 50"]);
    assert.equal(exchange.progress, 2);
    assert.ok(!exchange.isSent);
    await line.say(frame(WINDOW_UPDATE, 0, 3, four(500)));
    assert.deepEqual(line.shown(), ["DATA 3 100 1"]);
    assert.equal(exchange.progress, 3);
    await exchange.sending;
    assert.ok(exchange.isSent);
  });

  test("a request has the fields of a request, without those of a connection", async () => {
    const line = await connected();
    line.sent = [];
    line.exchange("POST", bytesFor(3), [["x-own", "1"], ["connection", "close"], ["host", "other"], ["te", "trailers"], ["content-length", "9"]]);
    line.exchange("GET", null);
    line.exchange("POST", new ReadableStream({}));
    await line.settle();
    const lists = [];
    for (let at = 0; at < line.sent.length; ) {
      const length = line.sent[at + 1] * 256 + line.sent[at + 2];
      if (line.sent[at + 3] === HEADERS) lists.push(new Decoder().decode(Uint8Array.from(line.sent.slice(at + 9, at + 9 + length)), 10000));
      at += 9 + length;
    }
    const rest = [[":scheme", "http"], [":authority", "device"], [":path", "/path?a"]];
    assert.deepEqual(lists, [
      [[":method", "POST"], ...rest, ["x-own", "1"], ["content-length", "3"]], [[":method", "GET"], ...rest], [[":method", "POST"], ...rest],
    ]);
  });

  test("a request with an empty body has a length and no DATA", async () => {
    const line = await connected();
    line.exchange("POST", new Uint8Array(0));
    await line.settle();
    assert.match(line.shown().join(), /^HEADERS 3 \d+ 5$/);
  });

  test("a request with a stream as its body ends when the stream ends, and skips empty parts", async () => {
    const line = await connected();
    const body = new ReadableStream({
      start(controller) {
        for (const size of [0, 3, 0, 2]) controller.enqueue(bytesFor(size));
        controller.close();
      },
    });
    const exchange = line.exchange("POST", body);
    await line.settle();
    await exchange.sending;
    assert.match(line.shown().join(), /^HEADERS 3 \d+ 4,DATA 3 3,DATA 3 2,DATA 3 0 1$/);
    assert.ok(exchange.isSent);
  });

  test("a request is reset and fails if the stream of its body fails, or has values other than bytes", async () => {
    for (const [part, expected] of [[new Error("disk"), /disk/], ["text", /stream of Uint8Array/]]) {
      const line = await connected();
      let isCancelled = false;
      const body = new ReadableStream({
        start: (controller) => (part instanceof Error ? controller.error(part) : controller.enqueue(part)),
        cancel: () => (isCancelled = true),
      });
      const exchange = line.exchange("POST", body);
      await line.settle();
      await assert.rejects(exchange.readHead(), expected);
      exchange.abort();
      assert.match(line.shown().join(), /^HEADERS 3 \d+ 4,RST_STREAM 3 8$/);
      assert.equal(isCancelled, part === "text");
    }
  });

  test("a request that is stopped tells its owner once, rejects, resets its stream, and cancels its body", async () => {
    const line = await connected();
    let isCancelled = false;
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(bytesFor(70000)), cancel: () => (isCancelled = true) });
    const exchange = line.exchange("POST", body);
    const stops = [];
    exchange.onstop = (error) => stops.push(error);
    await line.settle();
    line.shown();
    const reason = new Error("enough");
    const reading = assert.rejects(exchange.readHead(), reason);
    exchange.stop(reason);
    exchange.stop(new Error("again"));
    await reading;
    exchange.abort();
    exchange.abort();
    assert.deepEqual(line.shown(), ["RST_STREAM 3 8"]);
    assert.deepEqual(stops, [reason]);
    await line.settle();
    assert.ok(isCancelled);
  });

  test("a request that is stopped before it was sent is never sent", async () => {
    const line = new Line();
    const exchange = line.exchange();
    await line.settle();
    exchange.stop(new Error("enough"));
    await line.say(settings());
    assert.ok(!line.shown().some((shown) => shown.startsWith("HEADERS")));
    await assert.rejects(exchange.readHead(), /enough/);
    const down = new Line();
    down.isUp = false;
    const late = down.exchange();
    late.stop(new Error("enough"));
    down.isUp = true;
    await down.settle();
    assert.equal(down.sessionsBegun, 0);
  });

  test("a request whose response is complete stops, and its body is cancelled", async () => {
    const line = await connected([4, 10]);
    let isCancelled = false;
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(bytesFor(100)), cancel: () => (isCancelled = true) });
    const exchange = line.exchange("POST", body);
    await line.settle();
    line.shown();
    await line.say(ok(3), data(3, text("no"), END_STREAM), frame(RST_STREAM, 0, 3, four(0)));
    assert.equal((await exchange.readHead()).status, 200);
    assert.equal(await read(exchange), "no");
    await exchange.sending;
    assert.ok(isCancelled);
    exchange.abort();
    assert.deepEqual(line.shown(), []);
  });

  test("a request that the gateway ends fails after the bytes that have arrived", async () => {
    const line = await connected();
    const exchange = line.exchange();
    await line.settle();
    await line.say(ok(3), data(3, text("abc")), frame(RST_STREAM, 0, 3, four(2)));
    await exchange.readHead();
    const parts = exchange.readBody();
    assert.equal((await parts.next()).value.length, 3);
    await assert.rejects(parts.next(), (error) => code("reset")(error) && /INTERNAL_ERROR/.test(error.message));
  });

  test("a request gets a response that arrives in single bytes", async () => {
    const line = await connected();
    const exchange = line.exchange();
    await line.settle();
    await line.say(ok(3), data(3, text("x")));
    await exchange.readHead();
    const parts = exchange.readBody();
    assert.equal(String.fromCharCode(...(await parts.next()).value), "x");
    await line.say(data(3, text("y"), END_STREAM));
    assert.equal(String.fromCharCode(...(await parts.next()).value), "y");
    assert.ok((await parts.next()).done);
  });

  test("a request grants credit for bytes at once when they are read", async () => {
    const line = await connected();
    const exchange = line.exchange();
    await line.settle();
    await line.say(ok(3), ...[1, 2, 3].map(() => data(3, Array(16000).fill(65))));
    await exchange.readHead();
    line.shown();
    const parts = exchange.readBody();
    for (let count = 0; count < 3; count++) await parts.next();
    assert.deepEqual(line.shown(), ["WINDOW_UPDATE 3 4"]);
  });

  test("a request waits while the gateway takes no more, and its head is checked", async () => {
    const line = await connected([3, 1]);
    const [one, other] = [line.exchange(), line.exchange()];
    await line.settle();
    assert.equal(line.shown().length, 1);
    assert.equal(line.current.limit, 1);
    await line.say(ok(3, [], END_STREAM));
    await one.readHead();
    assert.match(line.shown().join(), /^HEADERS 5 /);
    await line.say(ok(5, [], END_STREAM));
    await other.readHead();
    const long = line.exchange("GET", null, [["x", "y".repeat(17000)]]);
    await assert.rejects(long.readHead(), code("limit"));
  });
});
