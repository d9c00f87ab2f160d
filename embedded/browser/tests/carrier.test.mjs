// Tests of byway-carrier.js with a stand-in for the WebAssembly.

import assert from "node:assert/strict";
import { test } from "node:test";
import "./rig.mjs";
import { Carrier } from "../../../Sources/BywayBrowserFiles/Site/byway-carrier.js";

/** A line with bytes to read, which owes a frame as soon as they were read. */
function stand(changes = {}) {
  const memory = { buffer: new ArrayBuffer(65536) };
  const bytes = new Uint8Array(memory.buffer, 1024, 4096);
  const line = { owed: 0, sent: 0 };
  const nothing = () => 0;
  return Object.assign(line, {
    memory, buffer: () => 1024, start: nothing, lost: nothing, back: nothing, run: nothing, abort: nothing, deadline: () => 0xffffffff | 0,
    state: () => 3, sessions: () => 1, ended: nothing, reason: nothing, receive: nothing, write: (count) => count,
    read() {
      bytes.fill(1, 0, 5);
      line.owed = 1;
      return 5;
    },
    output() {
      if (!line.owed) return 0;
      line.owed = 0;
      bytes.fill(9, 0, 3);
      return 3;
    },
  }, changes);
}

function carry(carrier) {
  const frames = [];
  const ending = new AbortController();
  const readable = new ReadableStream({});
  const writable = new WritableStream({ write: (bytes) => void frames.push(...bytes) });
  const carrying = carrier.carry({ readable, writable }, ending.signal);
  return { frames, end: async () => (ending.abort(), carrying) };
}

test("the carrier keeps bytes that were read when a frame becomes due", async () => {
  const carrier = new Carrier(stand(), 0);
  const { frames, end } = carry(carrier);
  assert.deepEqual([...carrier.take()], [1, 1, 1, 1, 1]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(frames, [9, 9, 9]);
  await end();
  assert.equal(carrier.isUp, false);
});

test("the carrier refuses a length outside the buffer", () => {
  for (const count of [4097, -1, NaN]) {
    assert.throws(() => new Carrier(stand({ read: () => count }), 0).take(), (error) => error.code === "internal");
    assert.throws(() => new Carrier(stand({ write: () => count }), 0).put(new Uint8Array(3)), (error) => error.code === "internal");
  }
  assert.throws(() => new Carrier(stand({ buffer: () => 65000 }), 0), RangeError);
});
