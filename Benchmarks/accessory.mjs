// Measures byway.js in node as accessory.py wants it: small requests, a download and an upload, in seconds.
//
//     node Benchmarks/accessory.mjs TERMINAL SIZE REQUESTS
//
// The device at the line's other end serves GET /N, and answers an upload with its SHA-256.

import { createHash } from "node:crypto";
import { bytesFor, terminal } from "../embedded/browser/tests/rig.mjs";
import { connect } from "../Sources/BywayBrowserFiles/Site/byway.js";

const [path, size, requests] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const device = await connect(() => terminal(path));
const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");

async function exchange(target, options, check) {
  const began = performance.now();
  const response = await device.fetch(target, options);
  const body = Buffer.from(await response.arrayBuffer());
  const seconds = (performance.now() - began) / 1000;
  if (response.status !== 200 || !check(body, response)) throw new Error(`${target}: the response is not the expected one`);
  return seconds;
}

const get = (count) => exchange(`/${count}`, {}, (body, response) => body.length === count && hash(body) === response.headers.get("x-sha256"));
const small = [];
for (let i = 0; i < requests; i++) small.push(await get(100));
const down = await get(size);
const body = bytesFor(size);
const up = await exchange("/", { method: "PUT", body }, (answer) => answer.toString() === hash(body));
console.log(JSON.stringify({ small, down, up }));
await device.close();
process.exit(0);
