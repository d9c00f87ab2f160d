// Tests of what connect returns, on a line whose other end is silent.

import assert from "node:assert/strict";
import { connect } from "../../../Sources/BywayBrowserFiles/Site/byway.js";
import { limited as test, until } from "./rig.mjs";

/** A pair of streams, and what its owner does with them. */
function pair() {
  const calls = [];
  const input = new TransformStream();
  const writable = new WritableStream({ write: () => void calls.push("write"), abort: () => void calls.push("abort") });
  const close = async () => {
    // Real time: closing a port takes a while.
    await new Promise((resolve) => setTimeout(resolve, 20));
    calls.push("close");
  };
  return { readable: input.readable, writable, close, calls, end: () => input.writable.close() };
}

test("onstatus is told of each state of the line, the session and the queue, and only of changes", async () => {
  const line = pair();
  const seen = [];
  let isPlugged = false;
  const open = async () => {
    if (!isPlugged) throw new Error("unplugged");
    return line;
  };
  const device = await connect(open, { onstatus: ({ line, session, queue }) => seen.push(`${line} ${session} ${queue}`) });
  const request = assert.rejects(device.fetch("/"), (error) => error.code === "closed");
  await until(() => seen.includes("down none 1"), "the request waits");
  isPlugged = true;
  await until(() => seen.includes("up opening 1"), "the session opens");
  isPlugged = false;
  await line.end();
  await until(() => seen.includes("down opening 1"), "the line is down");
  await device.close();
  await request;
  await until(() => seen.at(-1).startsWith("closed"), "the connection is closed");
  assert.ok(seen.every((state, index) => state !== seen[index - 1]), `${seen}`);
});

test("close resolves after the streams are released and closed", async () => {
  const line = pair();
  const device = await connect(async () => line);
  await until(() => device.status.line === "up", "the line is up");
  await device.close();
  assert.equal(line.calls.at(-1), "close");
  assert.ok(line.calls.includes("abort"));
  assert.ok(!line.readable.locked && !line.writable.locked);
  await device.close();
});

test("fetch can be passed around as a function", async () => {
  const device = await connect(async () => pair(), { queue: 0 });
  const { fetch } = device;
  await assert.rejects(fetch("/"), (error) => error.code === "busy" && /0 requests/.test(error.message));
  await device.close();
});
