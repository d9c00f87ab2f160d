// Random responses to the parser of byway-http.js, without a line.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Input, bytesOf, readBody, readHead } from "../../../Sources/BywayBrowserFiles/Site/byway-http.js";

/** Numbers that look random, and are the same for each seed. */
function numbers(seed) {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
}

const PARTS = [
  "HTTP/1.1 200 OK\r\n", "HTTP/1.0 404\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 204 No\r\n", "Content-Length: 5\r\n",
  "content-length: 0\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "a: b\r\n", "\r\n", "\r\n", "5\r\nhello\r\n", "0\r\n\r\n",
  "hello", "\r", "\n", "\0", " ", ":", "-1", "ffffffff\r\n", "a;b\r\n",
];

function response(random) {
  let text = random(4) ? PARTS[random(2)] : "";
  for (let count = random(12); count > 0; count--) text += PARTS[random(PARTS.length)];
  return bytesOf(text);
}

/** The outcome of parsing as text. Bytes come in parts of the size that the function returns. */
async function outcome(bytes, size) {
  let at = 0;
  const input = new Input(async () => {
    if (at >= bytes.length) return null;
    const part = bytes.slice(at, at + size());
    at += part.length;
    return part;
  });
  let text = "";
  try {
    const head = await readHead(input, "GET");
    text = JSON.stringify(head);
    for await (const part of readBody(input, head.framing)) text += String.fromCharCode(...part);
    return `${text} ends`;
  } catch (error) {
    assert.equal(error.code, "protocol", error.stack);
    return `${text} ${error.message}`;
  }
}

test("a response has the same meaning however its bytes arrive, for 5,000 random ones", async () => {
  const outcomes = new Set();
  for (let seed = 0; seed < 5000; seed++) {
    const random = numbers(seed);
    const bytes = response(random);
    const whole = await outcome(bytes, () => bytes.length);
    assert.equal(await outcome(bytes, () => 1), whole, `seed ${seed}`);
    assert.equal(await outcome(bytes, () => 1 + random(7)), whole, `seed ${seed}`);
    outcomes.add(whole);
  }
  assert.ok(outcomes.size > 300, `${outcomes.size}`);
  assert.ok([...outcomes].filter((text) => text.endsWith("ends")).length > 50);
});
