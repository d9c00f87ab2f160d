// Tests of several requests at once, which hold over the streams of a line and over HTTP/2 alike.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { bytesFor, eventsOf, limited as test, until } from "./rig.mjs";

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");
const text = async (response) => (await response).text();
const bytes = async (response) => new Uint8Array(await (await response).arrayBuffer());

/** Answers the paths that take their time: events, a path that waits, and bytes. Returns whether it was one of these. */
export function answerSlowly(url, response, seen) {
  switch (url.pathname) {
    case "/events":
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 0\n\n");
      response.on("close", () => seen.events.delete(response));
      seen.events.add(response);
      return true;
    case "/wait":
      seen.waiting.push(response);
      return true;
    case "/bytes":
      response.end(bytesFor(Number(url.search.slice(1))));
      return true;
    case "/endless":
      response.write(bytesFor(100000));
      return true;
    default:
      return false;
  }
}

/** @param parts returns the device, and what its web server has seen */
export function testsOfRequestsAtOnce(parts) {
  test("small requests are answered while events, a download, an upload and a slow path are under way", async () => {
    const { device, seen } = parts();
    const events = eventsOf(await device.fetch("/events"));
    assert.equal(await events.next(), "data: 0\n\n");
    let isLoaded = false;
    const slow = text(device.fetch("/wait"));
    const sent = bytesFor(30000, 5);
    const up = bytes(device.fetch("/echo", { method: "PUT", body: sent }));
    const down = bytes(device.fetch("/bytes?200000")).finally(() => (isLoaded = true));
    await until(() => seen.waiting.length === 1, "the slow path is asked for");
    let count = 0;
    while (!isLoaded) {
      assert.equal(await text(device.fetch(`/small${count}`)), `/small${count}`);
      count++;
      for (const response of seen.events) response.write(`data: ${count}\n\n`);
      assert.equal(await events.next(), `data: ${count}\n\n`);
    }
    assert.ok(count >= 5, `${count}`);
    assert.equal(hash(await down), hash(bytesFor(200000)));
    assert.equal(hash(await up), hash(sent));
    seen.waiting.pop().end("slow");
    assert.equal(await slow, "slow");
    await events.cancel();
    await until(() => seen.closed.includes("/events"), "the events end at the web server");
    assert.equal(device.status.queue, 0);
  });

  test("16 requests run at once, and the others in turn", async () => {
    const { device, seen } = parts();
    const texts = await Promise.all([...Array(40).keys()].map((i) => text(device.fetch(`/n${i}`))));
    assert.deepEqual(texts, [...Array(40).keys()].map((i) => `/n${i}`));
    const waiting = [...Array(20).keys()].map(() => text(device.fetch("/wait")));
    await until(() => seen.waiting.length === 16, "sixteen requests arrive");
    assert.equal(device.status.queue, 20);
    for (let count = 0; count < 20; count++) {
      await until(() => seen.waiting.length > 0, "another arrives");
      seen.waiting.shift().end("done");
    }
    assert.deepEqual(await Promise.all(waiting), Array(20).fill("done"));
  });
}
