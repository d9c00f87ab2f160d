// Tests of byway.js on an emulated line: node --test. tests/rig.mjs has what they need.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { getEventListeners } from "node:events";
import { existsSync } from "node:fs";
import { after, before, describe } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { connect } from "../../../Sources/BywayBrowserFiles/Site/byway.js";
import { Rig, bytesFor, eventsOf, httpServer, limited as test, rawServer, until } from "./rig.mjs";

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");
const code = (expected) => (error) => (assert.equal(error.code, expected, error.stack), true);

/** Runs a test with a rig and a connection, and ends both. */
async function using(server, options, body) {
  const rig = await Rig.make(await server, options);
  const device = await connect(rig.open, options.connection);
  try {
    await body(device, rig);
  } finally {
    await device.close();
    await rig.stop();
  }
}

async function collect(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

/** The service of most tests. It counts connections. */
function service() {
  const seen = { sockets: new Set(), requests: [], closed: 0 };
  const made = httpServer(async (request, response) => {
    seen.sockets.add(request.socket);
    seen.requests.push(`${request.method} ${request.url}`);
    const url = new URL(request.url, "http://x");
    response.on("close", () => response.writableFinished || seen.closed++);
    switch (url.pathname) {
      case "/echo":
        response.writeHead(200, { "x-fields": JSON.stringify(request.headers) });
        request.pipe(response);
        break;
      case "/bytes":
        response.end(bytesFor(Number(url.search.slice(1))));
        break;
      case "/count":
        response.end(`${(await collect(request)).length}`);
        break;
      case "/events":
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("data: first\n\n");
        seen.events = response;
        break;
      case "/wait":
        seen.waiting = response;
        break;
      case "/zip":
        response.writeHead(200, { "content-encoding": "gzip" });
        response.end(gzipSync("plain text ".repeat(1000)));
        break;
      case "/moved":
        response.writeHead(302, { location: "/text" }).end("moved");
        break;
      case "/kept":
        response.writeHead(307, { location: "/echo" }).end();
        break;
      case "/away":
        response.writeHead(302, { location: "http://elsewhere.example/" }).end();
        break;
      case "/round":
        response.writeHead(302, { location: "/round" }).end();
        break;
      case "/nothing":
        response.writeHead(204).end();
        break;
      case "/close":
        response.writeHead(200, { connection: "close" });
        response.end("last");
        break;
      default:
        response.end(`${request.method} ${url.pathname}`);
    }
  });
  return made.then((server) => Object.assign(server, { seen }));
}

describe("a line", { concurrency: 3 }, () => {
  test("a line carries 1 MB each way intact at a bit error rate of 1e-4", async () => {
    await using(service(), { baud: 3000000, faults: ["--bit-errors", "1e-4"] }, async (device) => {
      const sent = bytesFor(1 << 20, 7);
      const began = performance.now();
      const response = await device.fetch("/echo", { method: "POST", body: sent });
      const received = new Uint8Array(await response.arrayBuffer());
      console.log(`1 MB each way at once: ${((performance.now() - began) / 1000).toFixed(1)} s`);
      assert.equal(hash(received), hash(sent));
    });
  });

  for (const errors of ["1e-5", "1e-3"]) {
    test(`a line carries 100 KB each way intact at a bit error rate of ${errors}, with a boot log and a cut`, async () => {
      const faults = ["--bit-errors", errors, "--log-line-every", "200ms", "--cut", "lose@1s+1s"];
      await using(service(), { baud: 921600, faults }, async (device) => {
        const sent = bytesFor(100000, 5);
        const response = await device.fetch("/echo", { method: "POST", body: sent });
        assert.equal(hash(new Uint8Array(await response.arrayBuffer())), hash(sent));
      });
    });
  }

  test("a line that is paced carries both directions at the same time", async () => {
    await using(service(), { baud: 230400, connection: { baudRate: 230400 } }, async (device) => {
      const body = bytesFor(40000, 3);
      const response = await device.fetch("/echo", { method: "POST", body });
      assert.equal(hash(new Uint8Array(await response.arrayBuffer())), hash(body));
    });
  });

  test("a line continues a transfer after a cut that loses bytes, and after one that removes the terminal", async () => {
    await using(service(), { baud: 921600 }, async (device, rig) => {
      for (const [cut, isGone] of [["cut lose", false], ["cut hang-up b", true]]) {
        const response = await device.fetch("/bytes?200000");
        rig.tell(cut);
        if (isGone) await until(() => device.status.line === "down" && !existsSync(rig.b), "the line is down");
        else await until(async () => (await rig.lost()) > 2000, "bytes are lost");
        rig.tell("restore");
        const body = new Uint8Array(await response.arrayBuffer());
        assert.equal(hash(body), hash(bytesFor(200000)), cut);
      }
    });
  });

  test("a line survives foreign, lost and duplicate bytes", async () => {
    const faults = ["--log-line-every", "100ms", "--insert", "0.0005", "--drop", "0.0005", "--duplicate", "0.0005"];
    await using(service(), { baud: 921600, faults }, async (device) => {
      const response = await device.fetch("/bytes?100000");
      assert.equal(hash(new Uint8Array(await response.arrayBuffer())), hash(bytesFor(100000)));
    });
  });

  test("a line that is unplugged fails the running request, and carries the next one when it is back", async () => {
    await using(service(), { connection: { responseTimeout: 1500 } }, async (device, rig) => {
      await (await device.fetch("/text")).text();
      rig.tell("cut hang-up b");
      await until(() => device.status.line === "down", "the line is down");
      await assert.rejects(device.fetch("/text"), code("gone"));
      rig.tell("restore");
      await until(() => device.status.line === "up", "the line is back");
      assert.equal(await (await device.fetch("/text")).text(), "GET /text");
    });
  });

  test("a line whose byte streams end fails its requests", async () => {
    const rig = await Rig.make(await service());
    const pair = await rig.open();
    const device = await connect({ readable: pair.readable, writable: pair.writable });
    const waiting = assert.rejects(device.fetch("/wait"), code("gone"));
    await until(() => device.status.session === "open", "the session opens");
    rig.tell("cut hang-up b");
    await waiting;
    await assert.rejects(device.fetch("/text"), code("gone"));
    assert.equal(device.status.line, "closed");
    await device.close();
    await pair.close();
    await rig.stop();
  });

  test("a line whose stream has values other than bytes is refused, also from a function that opens streams", async () => {
    const pair = () => ({ readable: new ReadableStream({ start: (stream) => stream.enqueue("text") }), writable: new WritableStream() });
    for (const source of [pair(), async () => pair()]) {
      const device = await connect(source);
      await assert.rejects(device.fetch("/"), code("streams"));
      await device.close();
    }
  });

  test("a line that cannot be opened is tried again without growing lists", async () => {
    const counts = [];
    const device = await connect(async (signal) => {
      counts.push(getEventListeners(signal, "abort").length);
      throw new Error("unplugged");
    });
    await until(() => counts.length === 4, "four attempts");
    assert.ok(counts[3] <= counts[1], `${counts}`);
    await device.close();
  });

  test("a request over a line without a device fails after some seconds", async () => {
    const { readable } = new TransformStream();
    const device = await connect({ readable, writable: new WritableStream() });
    await assert.rejects(device.fetch("/"), code("silent"));
    await device.close();
  });

  test("a line survives random bytes and invalid frames", async () => {
    const way = new TransformStream();
    const device = await connect({ readable: way.readable, writable: new WritableStream() });
    const request = assert.rejects(device.fetch("/"), code("silent"));
    const writer = way.writable.getWriter();
    for (let round = 0; round < 200; round++) {
      const bytes = bytesFor(1000, round);
      if (round % 2) for (let i = 0; i < bytes.length; i += 1 + (bytes[i] >> 2)) bytes[i] = 0;
      await writer.write(bytes);
    }
    await request;
    await device.close();
  });
});

describe("a request", () => {
  let rig, device, seen;
  before(async () => {
    const server = await service();
    seen = server.seen;
    rig = await Rig.make(server);
    device = await connect(rig.open);
  });
  after(async () => {
    await device.close();
    await rig.stop();
  });

  test("a request shares one connection with those before it, and all are answered in order", async () => {
    await (await device.fetch("/text")).text();
    const before = seen.sockets.size;
    const texts = await Promise.all([1, 2, 3, 4, 5].map(async (i) => (await device.fetch(`/text${i}`)).text()));
    assert.deepEqual(texts, [1, 2, 3, 4, 5].map((i) => `GET /text${i}`));
    assert.deepEqual(seen.requests.slice(-5), [1, 2, 3, 4, 5].map((i) => `GET /text${i}`));
    assert.equal(seen.sockets.size, before);
    assert.equal(device.status.queue, 0);
  });

  test("a request gets its own bytes, among a hundred in a row", async () => {
    for (let count = 1; count <= 100; count++) {
      const response = await device.fetch(`/bytes?${count * 7}`);
      assert.equal(hash(new Uint8Array(await response.arrayBuffer())), hash(bytesFor(count * 7)), `${count}`);
    }
  });

  test("a response has its status, fields and URL", async () => {
    const response = await device.fetch("text?a=b#c");
    assert.equal(response.status, 200);
    assert.equal(response.url, "http://device/text?a=b");
    assert.equal(response.redirected, false);
    assert.equal(response.headers.get("connection"), "keep-alive");
    await response.text();
  });

  test("a request sends bodies with a length, and streams as chunks", async () => {
    const bytes = bytesFor(20000);
    for (const body of [bytes, "text", new URLSearchParams({ a: "b" }), new Blob([bytes])]) {
      const response = await device.fetch("/echo", { method: "PUT", body });
      const fields = JSON.parse(response.headers.get("x-fields"));
      const expected = new Uint8Array(await new Response(body).arrayBuffer());
      assert.equal(fields["content-length"], `${expected.length}`);
      assert.equal(hash(new Uint8Array(await response.arrayBuffer())), hash(expected));
    }
    const stream = new Blob([bytes]).stream();
    const response = await device.fetch("/echo", { method: "POST", body: stream, duplex: "half" });
    assert.equal(JSON.parse(response.headers.get("x-fields"))["transfer-encoding"], "chunked");
    assert.equal(hash(new Uint8Array(await response.arrayBuffer())), hash(bytes));
    const empty = await device.fetch("/count", { method: "POST" });
    assert.equal(await empty.text(), "0");
  });

  test("a request does not send fields of the connection that a page sets", async () => {
    const headers = { connection: "close", "transfer-encoding": "chunked", "content-length": "7", host: "other", "x-own": "1" };
    const response = await device.fetch("/echo", { method: "POST", body: "abc", headers });
    const fields = JSON.parse(response.headers.get("x-fields"));
    assert.equal(fields.host, "device");
    assert.equal(fields["content-length"], "3");
    assert.equal(fields["x-own"], "1");
    assert.equal(fields["transfer-encoding"], undefined);
    assert.equal(await response.text(), "abc");
  });

  test("a request whose response has no body ends at once, and its connection stays open", async () => {
    const before = seen.sockets.size;
    const head = await device.fetch("/bytes?1000", { method: "HEAD" });
    assert.equal(await head.text(), "");
    const nothing = await device.fetch("/nothing");
    assert.equal(nothing.status, 204);
    assert.equal(nothing.body, null);
    assert.equal(await (await device.fetch("/text")).text(), "GET /text");
    assert.equal(seen.sockets.size, before);
  });

  test("a request after one that closes its connection gets another connection", async () => {
    assert.equal(await (await device.fetch("/close")).text(), "last");
    assert.equal(await (await device.fetch("/text")).text(), "GET /text");
  });

  test("a request decodes compressed responses", async () => {
    const response = await device.fetch("/zip");
    assert.equal(response.headers.get("content-encoding"), null);
    assert.equal(await response.text(), "plain text ".repeat(1000));
  });

  test("a request receives server-sent events as they are sent, and ends the stream when it is cancelled", async () => {
    const events = eventsOf(await device.fetch("/events"));
    assert.equal(await events.next(), "data: first\n\n");
    seen.events.write("data: second\n\n");
    assert.equal(await events.next(), "data: second\n\n");
    const before = seen.closed;
    await events.cancel();
    assert.equal(await (await device.fetch("/text")).text(), "GET /text");
    await until(() => seen.closed > before, "the device's connection ends");
  });

  test("a request that is aborted rejects at once, in each state", async () => {
    const reason = new Error("enough");
    const early = new AbortController();
    early.abort(reason);
    await assert.rejects(device.fetch("/text", { signal: early.signal }), reason);

    seen.waiting = null;
    const first = new AbortController();
    const waiting = assert.rejects(device.fetch("/wait", { signal: first.signal }), reason);
    await until(() => seen.waiting, "the request arrives");
    const second = new AbortController();
    const queued = assert.rejects(device.fetch("/never", { signal: second.signal }), reason);
    await until(() => device.status.queue === 2, "the second request waits");
    second.abort(reason);
    await queued;
    assert.equal(device.status.queue, 1);
    first.abort(reason);
    await waiting;

    const third = new AbortController();
    const response = await device.fetch("/bytes?10000000", { signal: third.signal });
    third.abort(reason);
    await assert.rejects(response.arrayBuffer(), reason);
    assert.equal(await (await device.fetch("/text")).text(), "GET /text");
    assert.ok(!seen.requests.includes("GET /never"));
  });

  test("a request follows redirects to the device only", async () => {
    const response = await device.fetch("/moved", { method: "POST", body: "x" });
    assert.equal(await response.text(), "GET /text");
    assert.equal(response.redirected, true);
    assert.equal(response.url, "http://device/text");
    assert.equal(await (await device.fetch("/kept", { method: "PUT", body: "again" })).text(), "again");
    assert.equal((await device.fetch("/moved", { redirect: "manual" })).status, 302);
    await assert.rejects(device.fetch("/moved", { redirect: "error" }), code("redirect"));
    await assert.rejects(device.fetch("/away"), code("redirect"));
    await assert.rejects(device.fetch("/round"), code("redirect"));
  });

  test("a request to another server, or with a head above 16 KiB, is refused", async () => {
    await assert.rejects(device.fetch("http://elsewhere.example/"), code("url"));
    await assert.rejects(device.fetch("//elsewhere.example/"), code("url"));
    await assert.rejects(device.fetch("/", { headers: { "x-long": "x".repeat(17000) } }), code("limit"));
    assert.throws(() => new Headers({ "x-a": "a\r\nx-b: c" }));
    assert.equal(await (await device.fetch("/text")).text(), "GET /text");
  });

  test("a request with empty parts in the stream of its body arrives whole", async () => {
    const body = new ReadableStream({
      start(controller) {
        for (const part of ["", "one ", "", "two", ""]) controller.enqueue(new TextEncoder().encode(part));
        controller.close();
      },
    });
    const response = await device.fetch("/echo", { method: "POST", body, duplex: "half" });
    assert.equal(await response.text(), "one two");
  });

  test("a request with a body that fails is not completed", async () => {
    const reason = new Error("disk");
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(10));
        controller.error(reason);
      },
    });
    await assert.rejects(device.fetch("/count", { method: "POST", body, duplex: "half" }), reason);
    assert.equal(await (await device.fetch("/text")).text(), "GET /text");
  });
});

describe("limits", { concurrency: 3 }, () => {
  test("limits of the queue and of times end requests with an error that names the cause", async () => {
    const connection = { queue: 1, queueTimeout: 300, responseTimeout: 1500 };
    await using(service(), { connection }, async (device) => {
      const first = assert.rejects(device.fetch("/wait"), code("timeout"));
      const second = assert.rejects(device.fetch("/text"), (error) => code("busy")(error) && /too long/.test(error.message));
      await until(() => device.status.queue === 2, "two requests are there");
      await assert.rejects(device.fetch("/text"), (error) => code("busy")(error) && /already wait/.test(error.message));
      await Promise.all([first, second]);
      assert.equal(await (await device.fetch("/text")).text(), "GET /text");
    });
  });

  test("infinite limits of time end no request", async () => {
    await using(service(), { connection: { queueTimeout: Infinity, responseTimeout: Infinity, bodyTimeout: Infinity } }, async (device) => {
      const texts = await Promise.all(["/text", "/text"].map(async (path) => (await device.fetch(path)).text()));
      assert.deepEqual(texts, ["GET /text", "GET /text"]);
    });
  });

  test("a limit of time does not end an upload that makes progress", async () => {
    await using(service(), { baud: 115200, connection: { responseTimeout: 1200 } }, async (device) => {
      const response = await device.fetch("/count", { method: "POST", body: new Uint8Array(40000) });
      assert.equal(await response.text(), "40000");
    });
  });

  test("the limit for a pause ends a body of known length", async () => {
    const server = rawServer((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
    await using(server, { connection: { bodyTimeout: 400 } }, async (device) => {
      await assert.rejects((await device.fetch("/")).text(), code("timeout"));
    });
  });

  test("the limit of read-ahead stops a device whose response is not read", async () => {
    await using(service(), { baud: 3000000 }, async (device) => {
      const response = await device.fetch("/bytes?600000");
      let before = -1;
      await until(async () => {
        const now = device.status.received;
        // Real time: no bytes come for so long.
        await delay(300);
        return now > 64 << 10 && device.status.received - now < 200 && (before = now);
      }, "the device stops");
      assert.ok(before < 300000, `${before}`);
      assert.equal((await response.arrayBuffer()).byteLength, 600000);
    });
  });

  test("unknown or invalid options are refused", async () => {
    for (const options of [{ baudrate: 9600 }, { queue: -1 }, { queue: "1" }, { onstatus: 1 }, { queueTimeout: NaN }]) {
      await assert.rejects(connect({}, options), code("option"));
    }
  });
});

describe("a device", () => {
  test("a device that restarts during a request fails it, and an idle connection is replaced without notice", async () => {
    await using(service(), {}, async (device, rig) => {
      const restart = () => {
        rig.device.kill("SIGKILL");
        rig.device = rig.run(rig.device.spawnfile, rig.device.spawnargs.slice(1));
      };
      const waiting = assert.rejects(device.fetch("/wait"), code("reset"));
      await until(() => device.status.session === "open", "the session opens");
      restart();
      await waiting;
      assert.equal(await (await device.fetch("/text")).text(), "GET /text");
      restart();
      assert.equal(await (await device.fetch("/text")).text(), "GET /text");
    });
  });

  test("a device that has ended an idle connection gets a POST on another one", async () => {
    const ended = [];
    const server = rawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
      ended.push(() => socket.end());
    });
    await using(server, {}, async (device) => {
      await (await device.fetch("/")).text();
      const before = device.status.received;
      ended[0]();
      await until(() => device.status.received > before, "the end arrives");
      assert.equal((await device.fetch("/", { method: "POST", body: "" })).status, 200);
      assert.equal(ended.length, 2);
    });
  });

  test("a device that closes just after a request has begun ends the request at once", async () => {
    for (let turns = 0; turns < 16; turns++) {
      const rig = await Rig.make(await service());
      const device = await connect(rig.open);
      const stop = new AbortController();
      const first = assert.rejects(device.fetch("/wait", { signal: stop.signal }));
      const second = assert.rejects(device.fetch("/text"), code("closed"));
      await until(() => device.status.session === "open" && device.status.queue === 2, "the session opens");
      stop.abort();
      for (let turn = 0; turn < turns; turn++) await null;
      const closing = device.close();
      const start = performance.now();
      await Promise.all([first, second, closing]);
      assert.ok(performance.now() - start < 3000, `${turns} turns`);
      await rig.stop();
    }
  });

  test("a device connection that is closed keeps no request, and refuses others", async () => {
    const rig = await Rig.make(await service());
    const device = await connect(rig.open);
    const first = assert.rejects(device.fetch("/wait"), code("closed"));
    const second = assert.rejects(device.fetch("/text"), code("closed"));
    await until(() => device.status.session === "open" && device.status.queue === 2, "the session opens");
    await device.close();
    await Promise.all([first, second]);
    await assert.rejects(device.fetch("/text"), code("closed"));
    await rig.stop();
  });
});

describe("a response", () => {
  let rig, device, answer;
  before(async () => {
    rig = await Rig.make(await rawServer((socket, head) => answer(socket, head)));
    device = await connect(rig.open, { responseTimeout: 10000 });
  });
  after(async () => {
    await device.close();
    await rig.stop();
  });
  const ok = "HTTP/1.1 200 OK\r\n";
  const answered = async (text, init) => {
    answer = (socket) => socket.end(Buffer.from(text, "latin1"));
    return device.fetch("/", init);
  };

  const refused = {
    "another protocol": "SSH-2.0-OpenSSH\r\n\r\n",
    "another version": "HTTP/2.0 200 OK\r\n\r\n",
    "a status of two digits": "HTTP/1.1 20 OK\r\n\r\n",
    "a status above 599": "HTTP/1.1 600 OK\r\n\r\n",
    "a status without a space": "HTTP/1.1 200OK\r\n\r\n",
    "a line that ends without CR": "HTTP/1.1 200 OK\n\r\n",
    "a CR within a line": `${ok}a: b\rc\r\n\r\n`,
    "a zero in a field": `${ok}a: b\0c\r\n\r\n`,
    "a folded field": `${ok}a: b\r\n c\r\n\r\n`,
    "a space before the colon": `${ok}Content-Length : 1\r\n\r\nx`,
    "a field without a colon": `${ok}nothing\r\n\r\n`,
    "a field without a name": `${ok}: x\r\n\r\n`,
    "two lengths": `${ok}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`,
    "a list of lengths": `${ok}Content-Length: 1, 1\r\n\r\nx`,
    "a negative length": `${ok}Content-Length: -1\r\n\r\n`,
    "a hexadecimal length": `${ok}Content-Length: 0x1\r\n\r\nx`,
    "an endless length": `${ok}Content-Length: ${"9".repeat(30)}\r\n\r\n`,
    "a length and chunks": `${ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    "another coding": `${ok}Transfer-Encoding: gzip\r\n\r\n`,
    "two codings": `${ok}Transfer-Encoding: chunked, chunked\r\n\r\n`,
    "chunks in HTTP/1.0": "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "an upgrade": "HTTP/1.1 101 Switching\r\n\r\n",
    "a head above 16 KiB": `${ok}${`a: ${"x".repeat(1000)}\r\n`.repeat(17)}\r\n`,
    "a line above 16 KiB": `${ok}a: ${"x".repeat(17000)}`,
    "a head that is cut off": `${ok}a: b`,
    "too many interim responses": "HTTP/1.1 100 Continue\r\n\r\n".repeat(20) + `${ok}\r\n`,
  };
  for (const [name, text] of Object.entries(refused)) {
    test(`a response with ${name} is refused`, () => assert.rejects(answered(text), code("protocol")));
  }

  const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
  const broken = {
    "a chunk size that is not a number": `${chunked}x\r\n`,
    "a negative chunk size": `${chunked}-1\r\nx\r\n`,
    "a chunk size with a prefix": `${chunked}0x1\r\nx\r\n0\r\n\r\n`,
    "an empty chunk size": `${chunked}\r\nx\r\n`,
    "a chunk size of nine digits": `${chunked}100000001\r\n`,
    "a chunk size of 1 KB of digits": `${chunked}${"0".repeat(1000)}1\r\nx\r\n0\r\n\r\n`,
    "a chunk longer than its size": `${chunked}1\r\nxy\r\n0\r\n\r\n`,
    "a chunk size that ends without CR": `${chunked}1\nx\r\n0\r\n\r\n`,
    "chunks that are cut off": `${chunked}5\r\nab`,
    "chunks without the last one": `${chunked}1\r\na\r\n`,
    "a malformed trailer": `${chunked}0\r\nbad trailer\r\n\r\n`,
    "trailers above 16 KiB": `${chunked}0\r\n${`a: ${"x".repeat(1000)}\r\n`.repeat(17)}\r\n`,
    "a body shorter than its length": `${ok}Content-Length: 5\r\n\r\nab`,
  };
  for (const [name, text] of Object.entries(broken)) {
    test(`a response with ${name} fails in its body`, async () => {
      const fails = (error) => code("protocol")(error) && (!/digits/.test(name) || /chunk's size/.test(error.message));
      await assert.rejects((await answered(text)).text(), fails);
    });
  }

  const accepted = [
    ["chunks with extensions and trailers", `${chunked}3;x=y\r\nabc\r\n2 ;a\r\nde\r\n0\r\nx-t: 1\r\n\r\n`, "abcde"],
    ["a body until the end", `${ok}\r\nuntil the end`, "until the end"],
    ["a body until the end in HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nold", "old"],
    ["no reason", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", "x"],
    ["interim responses", `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: x\r\n\r\n${ok}Content-Length: 1\r\n\r\nx`, "x"],
    ["two fields of a name", `${ok}a: 1\r\na: 2\r\nContent-Length: 0\r\n\r\n`, ""],
  ];
  for (const [name, text, body] of accepted) {
    test(`a response with ${name} is accepted`, async () => assert.equal(await (await answered(text)).text(), body));
  }

  test("bytes after the end of a response do not answer the next request", async () => {
    await answered(`${ok}Connection: close\r\nContent-Length: 0\r\n\r\n`);
    let count = 0;
    answer = (socket) => {
      count += 1;
      const more = count === 1 ? "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged" : "";
      socket.write(`${ok}Content-Length: 4\r\n\r\nreal${more}`);
    };
    assert.equal(await (await device.fetch("/")).text(), "real");
    assert.equal(count, 1);
    assert.equal(await (await device.fetch("/")).text(), "real");
    assert.equal(count, 2);
  });

  test("a POST whose response is lost is not sent twice", async () => {
    await answered(`${ok}Connection: close\r\nContent-Length: 0\r\n\r\n`);
    let count = 0;
    answer = (socket) => {
      count += 1;
      if (count === 1) socket.write(`${ok}Content-Length: 1\r\n\r\nx`);
      else socket.end();
    };
    await (await device.fetch("/")).text();
    await assert.rejects(device.fetch("/", { method: "POST", body: "act" }), code("reset"));
    assert.equal(count, 2);
  });

  test("a response that comes before the end of the upload is returned", async () => {
    answer = (socket) => socket.write(`HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n`);
    const response = await device.fetch("/", { method: "POST", body: new Uint8Array(1000000) });
    assert.equal(response.status, 413);
    let next;
    answer = (socket, head) => {
      next = head;
      socket.write(`${ok}Content-Length: 2\r\n\r\nok`);
    };
    assert.equal(await (await device.fetch("/")).text(), "ok");
    assert.match(next, /^GET \//);
  });
});
