// Tests of several requests at once: the client's end of streams on a line that is a list of bytes, and byway.js with byway-mini, which
// serves streams, on an emulated line.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe } from "node:test";
import { connect } from "../../../Sources/BywayBrowserFiles/Site/byway.js";
import { Session } from "../../../Sources/BywayBrowserFiles/Site/byway-streams.js";
import { answerSlowly, testsOfRequestsAtOnce } from "./at-once.mjs";
import { Rig, bytesFor, eventsOf, httpServer, limited as test, until } from "./rig.mjs";

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");
const code = (expected) => (error) => (assert.equal(error.code, expected, error.stack), true);
const text = (string) => [...string].map((letter) => letter.charCodeAt(0));
const data = (stream, bytes) => [0x10 | stream, bytes.length, ...bytes];

/** A line between a session and a device that the test plays. */
class Line {
  sent = [];
  arriving = [];
  session = 0;
  sessionsBegun = 0;
  isKnown = true;
  streams = 4;
  peerCredit = 128;
  room = 4096;
  unsent = 0;
  hasEnded = false;
  failure = new Error("over");

  open() {
    return (this.session = ++this.sessionsBegun);
  }

  abort() {
    this.session = 0;
  }

  take() {
    return Uint8Array.from(this.arriving.splice(0));
  }

  put(bytes) {
    if (bytes.length > this.room) return 0;
    this.sent.push(...bytes);
    return bytes.length;
  }

  /** The device says something. */
  say(session, bytes) {
    this.arriving.push(...bytes);
    session.pump();
  }
}

describe("a session with streams", () => {
  // The pieces of a device while streams 0 and 1 are in use, and the bytes of stream 0 that are read then: null if they break the session.
  const rows = {
    "a kind of 0": [[0x00], null],
    "a kind of 5": [[0x50], null],
    "a kind of 15": [[0xff], null],
    "DATA of a free stream": [[0x12, 1, 65], null],
    "END of a free stream": [[0x22], null],
    "ABORT of a stream above the last": [[0x3f], null],
    "CREDIT of a free stream": [[0x42, 1], null],
    "DATA without bytes": [[0x10, 0], null],
    "CREDIT without units": [[0x40, 0], null],
    "CREDIT without limit": [[...Array(5)].flatMap(() => [0x40, 255]), null],
    "more than its credit": [[...Array(65)].flatMap(() => data(0, Array(255).fill(65))), null],
    "DATA behind END": [[0x20, 0x10, 1, 65], null],
    "END behind END": [[0x20, 0x20], null],
    "CREDIT behind END": [[0x20, 0x40, 1], null],
    "ABORT behind ABORT": [[0x30, 0x30], null],
    "bytes in pieces": [[...data(0, text("ab")), ...data(1, text("x")), ...data(0, text("c"))], "abc"],
    "the most credit": [[...Array(4)].flatMap(() => [0x40, 255]), ""],
    "bytes and an end": [[...data(0, text("abc")), 0x20], "abc."],
    "bytes and an abort": [[...data(0, text("abc")), 0x30], "abc!"],
  };
  for (const [name, [bytes, expected]] of Object.entries(rows)) {
    test(`a session with streams ${expected === null ? "ends at" : "takes"} ${name}, cut anywhere`, () => {
      for (let cut = 0; cut < bytes.length; cut += bytes.length > 100 ? 97 : 1) {
        const line = new Line();
        const session = new Session(line);
        const [stream, other] = [session.connect(), session.connect()];
        line.say(session, bytes.slice(0, cut));
        line.say(session, bytes.slice(cut));
        assert.equal(session.isOver, expected === null, `cut at ${cut}`);
        if (expected === null) {
          assert.equal(session.failure.code, "protocol");
          assert.ok(!stream.isOpen && !other.isOpen);
          continue;
        }
        let read = "";
        for (let part; (part = stream.take()).length > 0; ) read += String.fromCharCode(...part);
        assert.equal(read + (stream.hasEnded ? "." : stream.isOpen ? "" : "!"), expected, `cut at ${cut}`);
        assert.ok(other.isOpen);
      }
    });
  }

  test("a session with streams sends no more than the credit of each stream, and continues with more credit", () => {
    const line = new Line();
    const session = new Session(line);
    const stream = session.connect();
    const bytes = bytesFor(300);
    assert.equal(stream.put(bytes), 128);
    assert.equal(stream.put(bytes), 0);
    assert.equal(session.connect().put(bytes), 128);
    line.say(session, [0x40, 1]);
    line.sent = [];
    assert.equal(stream.put(bytes), 64);
    assert.deepEqual(line.sent, data(0, [...bytes.subarray(0, 64)]));
  });

  test("a session with streams grants the bytes that are read, and none before", () => {
    const line = new Line();
    const session = new Session(line);
    const stream = session.connect();
    for (let count = 0; count < 64; count++) line.say(session, data(0, Array(255).fill(1)));
    assert.deepEqual(line.sent, []);
    while (stream.take().length > 0);
    assert.deepEqual(line.sent, [0x40, 127, 0x40, 128]);
    for (let count = 0; count < 64; count++) line.say(session, data(0, Array(255).fill(1)));
    assert.ok(!session.isOver);
  });

  test("a session with streams grants read bytes later if there is no room for the credit", () => {
    const line = new Line();
    const session = new Session(line);
    const stream = session.connect();
    for (let count = 0; count < 64; count++) line.say(session, data(0, Array(255).fill(1)));
    line.room = 0;
    while (stream.take().length > 0);
    line.room = 4096;
    session.pump();
    assert.deepEqual(line.sent, [0x40, 255]);
    for (let count = 0; count < 64; count++) line.say(session, data(0, Array(255).fill(1)));
    assert.ok(!session.isOver);
  });

  test("a session with streams lets the streams take turns, and keeps room for ends and credit", () => {
    const line = new Line();
    const session = new Session(line);
    const stream = session.connect();
    line.unsent = 512;
    assert.equal(stream.put(bytesFor(100)), 0);
    line.unsent = 0;
    line.room = 30;
    assert.equal(stream.put(bytesFor(100)), 0);
    stream.abort();
    assert.deepEqual(line.sent, [0x30]);
  });

  test("a session with streams uses a stream again only when both ends have ended it", () => {
    const line = new Line();
    line.streams = 2;
    const session = new Session(line);
    const [first, second] = [session.connect(), session.connect()];
    assert.equal(session.connect(), null);
    first.abort();
    assert.deepEqual(line.sent, [0x30]);
    assert.equal(session.connect(), null);
    line.say(session, [...data(0, text("late")), 0x40, 255, 0x40, 255, 0x40, 255, 0x40, 255, 0x40, 255]);
    assert.equal(session.connect(), null);
    line.say(session, [0x30]);
    const again = session.connect();
    assert.ok(again?.isOpen);
    assert.equal(again.take().length, 0);
    assert.ok(second.isOpen);
    line.say(session, [0x21]);
    second.abort();
    assert.deepEqual(line.sent.slice(1), [0x21]);
    assert.ok(session.connect());
  });

  test("a session with streams keeps no more memory than the bytes of a response that is not read", () => {
    const line = new Line();
    const session = new Session(line);
    const [stream, other] = [session.connect(), session.connect()];
    const count = 2000;
    for (let piece = 0; piece < count; piece++) {
      line.say(session, [...data(0, [65]), ...data(1, Array(200).fill(66))]);
      while (other.take().length > 0);
    }
    const parts = [];
    for (let part; (part = stream.take()).length > 0; ) parts.push(part);
    assert.equal(parts.reduce((sum, part) => sum + part.length, 0), count);
    assert.equal(new Set(parts.map((part) => part.buffer)).size, 2);
    assert.equal(parts.reduce((sum, part) => sum + part.buffer.byteLength, 0), count);
  });

  test("a session with streams sends an end later if there is no room for it", () => {
    const line = new Line();
    const session = new Session(line);
    const stream = session.connect();
    line.room = 0;
    stream.abort();
    line.room = 10;
    line.say(session, [0x30]);
    assert.deepEqual(line.sent, [0x30]);
    assert.ok(!stream.isInUse);
  });

  test("a session that is over takes nothing of the next one", () => {
    const line = new Line();
    const first = new Session(line);
    first.connect();
    line.abort();
    const stream = new Session(line).connect();
    line.arriving.push(...data(0, text("new")));
    first.pump();
    assert.deepEqual([...stream.take()], text("new"));
  });

  test("a session with a device without streams is one connection", () => {
    const line = new Line();
    line.streams = 0;
    const session = new Session(line);
    const whole = session.connect();
    assert.equal(session.limit, 1);
    assert.equal(session.connect(), null);
    line.say(session, [0x00, 0x50]);
    assert.deepEqual([...whole.take()], [0x00, 0x50]);
  });

  test("a session with streams sends nothing until the device is known", () => {
    const line = new Line();
    line.isKnown = false;
    const session = new Session(line);
    assert.equal(session.connect(), null);
    assert.equal(session.limit, 1);
    line.isKnown = true;
    session.pump();
    assert.equal(session.limit, 4);
    assert.ok(session.connect());
  });
});

/** A server with events, a path that waits, and others. */
function service() {
  const seen = { events: new Set(), waiting: [], closed: [], sockets: new Set() };
  return httpServer(async (request, response) => {
    seen.sockets.add(request.socket);
    const url = new URL(request.url, "http://x");
    response.on("close", () => response.writableFinished || seen.closed.push(url.pathname));
    if (answerSlowly(url, response, seen)) return;
    if (url.pathname === "/echo") request.pipe(response);
    else response.end(url.pathname);
  }).then((server) => Object.assign(server, { seen }));
}

describe("a device that takes streams", () => {
  let rig, device, seen;
  before(async () => {
    const server = await service();
    seen = server.seen;
    rig = await Rig.make(server, { streams: true });
    device = await connect(rig.open, { responseTimeout: 20000 });
    await (await device.fetch("/first")).text();
  });
  after(async () => {
    await device.close();
    await rig.stop();
  });

  testsOfRequestsAtOnce(() => ({ device, seen }));

  test("a device with streams loses only the request that is aborted, in each state", async () => {
    const session = device.status.session;
    const events = eventsOf(await device.fetch("/events"));
    assert.equal(await events.next(), "data: 0\n\n");
    const reason = new Error("enough");
    const before = seen.sockets.size;
    const stops = [1, 2].map(() => new AbortController());
    const waiting = assert.rejects(device.fetch("/wait", { signal: stops[0].signal }), reason);
    const response = await device.fetch("/endless", { signal: stops[1].signal });
    await until(() => seen.waiting.length === 1, "the request arrives");
    for (const stop of stops) stop.abort(reason);
    await waiting;
    await assert.rejects(response.arrayBuffer(), reason);
    await until(() => seen.closed.includes("/wait") && seen.closed.includes("/endless"), "both end at the device");
    seen.waiting.pop();
    for (const response of seen.events) response.write("data: more\n\n");
    assert.equal(await events.next(), "data: more\n\n");
    assert.equal(device.status.session, session);
    assert.ok(seen.sockets.size <= before + 2);
    await events.cancel();
  });

  test("a device with streams is not delayed by a response that the page does not read", async () => {
    const response = await device.fetch("/bytes?400000");
    assert.equal(await (await device.fetch("/other")).text(), "/other");
    await until(async () => {
      const now = device.status.received;
      // Real time: no bytes come for so long.
      await new Promise((resolve) => setTimeout(resolve, 300));
      return device.status.received - now < 200;
    }, "the device stops");
    assert.equal(await (await device.fetch("/another")).text(), "/another");
    assert.equal((await response.arrayBuffer()).byteLength, 400000);
  });

  test("a device with streams that restarts fails all requests, and answers the next ones", async () => {
    const waiting = [1, 2, 3].map(() => assert.rejects(device.fetch("/wait", { method: "POST" }), code("reset")));
    await until(() => seen.waiting.length === 3, "three requests arrive");
    rig.device.kill("SIGKILL");
    rig.device = rig.run(rig.device.spawnfile, rig.device.spawnargs.slice(1));
    await Promise.all(waiting);
    seen.waiting = [];
    const texts = await Promise.all(["/a", "/b", "/c"].map(async (path) => (await device.fetch(path)).text()));
    assert.deepEqual(texts, ["/a", "/b", "/c"]);
  });
});
