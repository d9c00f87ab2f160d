// One end of the line as WebAssembly on a terminal, for `byway line --conform`. It dials, and returns what it receives.
//
//     node tests/conform.mjs TERMINAL

import { existsSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import program from "../../../Sources/BywayBrowserFiles/Site/byway-line.js";
import { terminal, until } from "./rig.mjs";

const NONE = 0;
const PAUSE = 150; // Between sessions.
const LINGER = 40; // The tester also sends frames behind its last one.

const { instance } = await WebAssembly.instantiate(gunzipSync(Buffer.from(program, "base64")), {});
const line = instance.exports;
const buffer = new Uint8Array(line.memory.buffer, line.buffer(), 4096);
const now = () => Math.floor(performance.now()) >>> 0;
const random = () => crypto.getRandomValues(new Uint32Array(1))[0];

let writer = null;
let isWriting = false;
let session = 0;
let pending = new Uint8Array(0);
let overSince = now();
let endedAt = now();

function echo() {
  if (line.sessions() !== session) {
    session = line.sessions();
    pending = new Uint8Array(0);
  }
  for (;;) {
    if (pending.length === 0) pending = buffer.slice(0, line.read(buffer.length));
    if (pending.length === 0) break;
    buffer.set(pending);
    const count = line.write(pending.length);
    if (count === 0) break;
    pending = pending.slice(count);
  }
  if (pending.length || !line.ended()) endedAt = now();
  else if (now() - endedAt >= LINGER) line.finish();
}

async function send() {
  isWriting = true;
  try {
    for (let count; writer && (count = line.output(now())) > 0; ) await writer.write(buffer.slice(0, count));
  } catch {
    // The reader ends as well.
  }
  isWriting = false;
}

function turn() {
  line.run(now());
  if (line.state() !== NONE) overSince = now();
  else if (writer && now() - overSince >= PAUSE) line.open(random(), now());
  echo();
  if (!isWriting) send();
}

async function open() {
  const path = process.argv[2];
  return until(async () => existsSync(path) && (await terminal(path).catch(() => null)), "the terminal appears", 120);
}

line.start(0, 0, 0, now());
line.lost(now());
setInterval(turn, 4);
for (;;) {
  const pair = await open();
  writer = pair.writable.getWriter();
  writer.closed.catch(() => {});
  line.back(now());
  try {
    for await (const bytes of pair.readable) {
      for (let at = 0; at < bytes.length; at += 256) {
        const part = bytes.subarray(at, at + 256);
        buffer.set(part);
        line.receive(part.length, now());
        turn();
      }
    }
  } catch {}
  writer = null;
  line.lost(now());
  await pair.close();
}
