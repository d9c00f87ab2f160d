// Tests of byway.js with byway gateway, to which it speaks HTTP/2, on an emulated line.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe } from "node:test";
import { connect } from "../../../Sources/BywayBrowserFiles/Site/byway.js";
import { answerSlowly, testsOfRequestsAtOnce } from "./at-once.mjs";
import { Rig, bytesFor, eventsOf, httpServer, limited as test, until } from "./rig.mjs";

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");
const code = (expected) => (error) => (assert.equal(error.code, expected, error.stack), true);
const text = async (response) => (await response).text();
const bytes = async (response) => new Uint8Array(await (await response).arrayBuffer());

/** An origin with events, a path that waits, and others. */
function origin() {
  const seen = { events: new Set(), waiting: [], closed: [], requests: [] };
  return httpServer(async (request, response) => {
    const url = new URL(request.url, "http://x");
    seen.requests.push(`${request.method} ${url.pathname}`);
    for (const stream of [request, response]) stream.on("close", () => (response.writableFinished && request.complete) || seen.closed.push(url.pathname));
    if (answerSlowly(url, response, seen)) return;
    switch (url.pathname) {
      case "/echo":
        response.writeHead(200, { "x-fields": JSON.stringify(request.headers), trailer: "x-end" });
        for await (const part of request) response.write(part);
        response.addTrailers({ "x-end": "1" });
        response.end();
        break;
      case "/early":
        response.writeHead(413, { connection: "close" }).end("too large");
        break;
      case "/moved":
        response.writeHead(307, { location: "/echo" }).end();
        break;
      case "/status":
        response.writeHead(Number(url.search.slice(1))).end();
        break;
      default:
        response.end(url.pathname);
    }
  }).then((server) => Object.assign(server, { seen }));
}

async function using(options, body) {
  const server = await origin();
  const rig = await Rig.make(server, { gateway: true, ...options });
  const device = await connect(rig.open, { http: "2", ...options.connection });
  try {
    await body(device, rig, server.seen);
  } finally {
    await device.close();
    await rig.stop();
  }
}

async function events(device) {
  const reader = eventsOf(await device.fetch("/events"));
  assert.equal(await reader.next(), "data: 0\n\n");
  return reader;
}

describe("a gateway", () => {
  let rig, device, seen;
  before(async () => {
    const server = await origin();
    seen = server.seen;
    rig = await Rig.make(server, { gateway: true, baud: 3000000 });
    device = await connect(rig.open, { http: "2", responseTimeout: 20000 });
  });
  after(async () => {
    await device.close();
    await rig.stop();
  });

  testsOfRequestsAtOnce(() => ({ device, seen }));

  test("a gateway loses only the request that is aborted, in each state", async () => {
    const reader = await events(device);
    const reason = new Error("enough");
    seen.closed.length = 0;
    const stops = [1, 2, 3].map(() => new AbortController());
    const waiting = assert.rejects(device.fetch("/wait", { signal: stops[0].signal }), reason);
    const response = await device.fetch("/endless", { signal: stops[1].signal });
    let isCancelled = false;
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(bytesFor(1000)), cancel: () => (isCancelled = true) });
    const upload = assert.rejects(device.fetch("/echo", { method: "POST", body, duplex: "half", signal: stops[2].signal }).then((echo) => echo.text()), reason);
    await until(() => seen.waiting.length === 1 && seen.requests.includes("POST /echo"), "the requests arrive");
    for (const stop of stops) stop.abort(reason);
    await Promise.all([waiting, upload]);
    await assert.rejects(response.arrayBuffer(), reason);
    await until(() => ["/wait", "/endless", "/echo"].every((path) => seen.closed.includes(path)), "all end at the origin");
    await until(() => isCancelled, "the body is cancelled");
    seen.waiting.pop();
    for (const response of seen.events) response.write("data: more\n\n");
    assert.equal(await reader.next(), "data: more\n\n");
    await reader.cancel();
    assert.equal(device.status.queue, 0);
  });

  test("a gateway is not delayed by a response that the page does not read", async () => {
    const response = await device.fetch("/bytes?400000");
    assert.equal(await text(device.fetch("/other")), "/other");
    await until(async () => {
      const now = device.status.received;
      // Real time: no bytes come for so long.
      await new Promise((resolve) => setTimeout(resolve, 300));
      return device.status.received - now < 200;
    }, "the gateway stops");
    assert.equal(await text(device.fetch("/another")), "/another");
    assert.equal(hash(await bytes(response)), hash(bytesFor(400000)));
  });

  test("a gateway gets bodies with a length and streams, and its trailers are dropped", async () => {
    for (const [body, length] of [[bytesFor(20000), "20000"], ["text", "4"], ["", "0"]]) {
      const response = await device.fetch("/echo", { method: "PUT", body });
      const fields = JSON.parse(response.headers.get("x-fields"));
      assert.equal(fields["content-length"], length);
      assert.equal(fields.host, "device");
      assert.equal(hash(await bytes(response)), hash(body));
    }
    const body = bytesFor(20000);
    const response = await device.fetch("/echo", { method: "POST", body: new Blob([body]).stream(), duplex: "half", headers: { connection: "close", "x-own": "é" } });
    const fields = JSON.parse(response.headers.get("x-fields"));
    assert.equal(fields["transfer-encoding"], "chunked");
    assert.equal(fields["x-own"], "é");
    assert.equal(response.headers.get("x-end"), null);
    assert.equal(hash(await bytes(response)), hash(body));
    await text(device.fetch("/echo", { method: "POST" }));
  });

  test("a response of a gateway has its status, fields and URL, also without a body", async () => {
    const response = await device.fetch("a?b#c");
    assert.equal(response.status, 200);
    assert.equal(response.url, "http://device/a?b");
    assert.equal(response.headers.get("content-length"), "2");
    assert.equal(await response.text(), "/a");
    const head = await device.fetch("/bytes?1000", { method: "HEAD" });
    assert.equal(await head.text(), "");
    for (const status of [204, 304]) {
      const response = await device.fetch(`/status?${status}`);
      assert.equal(response.status, status);
      assert.equal(response.body, null);
    }
    for (const status of [200, 404, 421]) {
      const response = await device.fetch(`/status?${status}`);
      assert.equal(response.status, status);
      assert.equal(await response.text(), "");
    }
    assert.equal(seen.requests.filter((request) => request === "GET /status").length, 5);
    assert.equal(device.status.queue, 0);
  });

  test("redirects of a gateway are followed with the body, and it can answer before the end of an upload", async () => {
    const response = await device.fetch("/moved", { method: "PUT", body: "again" });
    assert.equal(await response.text(), "again");
    assert.ok(response.redirected);
    let isCancelled = false;
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(bytesFor(1000)), cancel: () => (isCancelled = true) });
    const early = await device.fetch("/early", { method: "POST", body, duplex: "half" });
    assert.equal(early.status, 413);
    assert.equal(await early.text(), "too large");
    await until(() => isCancelled, "the rest of the upload is given up");
    assert.equal(await text(device.fetch("/text")), "/text");
  });

  test("a gateway learns that a body has failed, and sees no end of it", async () => {
    const reason = new Error("disk");
    for (const fail of [(controller) => controller.error(reason), (controller) => controller.enqueue("text")]) {
      seen.closed.length = 0;
      let count = 0;
      const body = new ReadableStream({ pull: (controller) => (count++ ? fail(controller) : controller.enqueue(bytesFor(10))) });
      await assert.rejects(device.fetch("/count", { method: "POST", body, duplex: "half" }).then(text), (error) => error === reason || error instanceof TypeError);
    }
    const long = { headers: { "x-long": "x".repeat(17000) } };
    await assert.rejects(device.fetch("/", long), code("limit"));
    assert.equal(await text(device.fetch("/text")), "/text");
    assert.equal(device.status.queue, 0);
  });

  test("a gateway whose cable is unplugged continues its responses when the cable is back", async () => {
    const reader = await events(device);
    const response = await device.fetch("/bytes?100000");
    rig.tell("cut hang-up b");
    await until(() => device.status.line === "down", "the line is down");
    const late = text(device.fetch("/late"));
    rig.tell("restore");
    assert.equal(hash(await bytes(response)), hash(bytesFor(100000)));
    assert.equal(await late, "/late");
    for (const response of seen.events) response.write("data: more\n\n");
    assert.equal(await reader.next(), "data: more\n\n");
    await reader.cancel();
  });

  test("a gateway that restarts fails the requests that it had, and answers others without notice", async () => {
    assert.equal(await text(device.fetch("/text")), "/text");
    const waiting = [1, 2, 3].map(() => assert.rejects(device.fetch("/wait", { method: "POST" }), code("reset")));
    await until(() => seen.waiting.length === 3, "three requests arrive");
    await rig.restart();
    await Promise.all(waiting);
    assert.deepEqual(await Promise.all(["/a", "/b", "/c"].map((path) => text(device.fetch(path)))), ["/a", "/b", "/c"]);
    await rig.restart();
    assert.deepEqual(await Promise.all(["/a", "/b", "/c"].map((path) => text(device.fetch(path)))), ["/a", "/b", "/c"]);
    seen.waiting.length = 0;
  });

  test("a gateway that stops answers the request that it has, and the next one goes to its successor", async () => {
    const slow = text(device.fetch("/wait"));
    await until(() => seen.waiting.length === 1, "the slow path is asked for");
    const before = device.status.received;
    const restarted = rig.restart("SIGTERM");
    await until(() => device.status.received > before, "the gateway says that it stops");
    const next = text(device.fetch("/next", { method: "POST", body: "x" }));
    seen.waiting.pop().end("slow");
    assert.equal(await slow, "slow");
    await restarted;
    assert.equal(await next, "/next");
    assert.equal(seen.requests.filter((request) => request === "POST /next").length, 1);
  });
});

describe("with another device", { concurrency: 3 }, () => {
  test("a gateway answers in HTTP/1.1 if the option is left out", async () => {
    await using({ connection: { http: "1.1" } }, async (device) => {
      assert.deepEqual(await Promise.all(["/a", "/b"].map((path) => text(device.fetch(path)))), ["/a", "/b"]);
    });
  });

  for (const streams of [false, true]) {
    test(`a device that ${streams ? "takes streams" : "speaks HTTP/1.1"} fails requests with the remedy`, async () => {
      await using({ gateway: false, streams }, async (device) => {
        await assert.rejects(device.fetch("/"), (error) => code("protocol")(error) && /Leave out the option http/.test(error.message));
      });
    });
  }

  test("a noisy line carries 100 KB each way intact", async () => {
    await using({ baud: 3000000, faults: ["--bit-errors", "1e-4"] }, async (device) => {
      const sent = bytesFor(100000, 7);
      assert.equal(hash(await bytes(device.fetch("/echo", { method: "POST", body: sent }))), hash(sent));
    });
  });

  test("limits of time end requests to a gateway, but no upload that makes progress", async () => {
    await using({ baud: 115200, connection: { responseTimeout: 1000 } }, async (device) => {
      await assert.rejects(device.fetch("/wait"), code("timeout"));
      assert.equal((await bytes(device.fetch("/echo", { method: "POST", body: new Uint8Array(16000) }))).length, 16000);
    });
  });
});
