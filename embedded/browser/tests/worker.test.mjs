// Tests of the service worker in a place where the test is the browser: its page, the frame page, and the page with the connection.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe } from "node:test";
import { runInNewContext } from "node:vm";
import { limited as test, until } from "./rig.mjs";

const WORKER = readFileSync(new URL("../../../Sources/BywayBrowserFiles/Site/byway-worker.js", import.meta.url), "utf8");

/** A worker at a scope. It keeps the messages for the frame page, whose ports have the answers. */
class Worker {
  messages = [];
  #listeners = {};

  constructor(scope) {
    const frame = { url: `${scope}byway-frame.html`, postMessage: (message, [port]) => this.messages.push({ ...message, port }) };
    this.scope = scope;
    const self = {
      location: new URL("byway-worker.js", scope),
      registration: { scope },
      clients: { matchAll: async () => [frame, { url: scope }] },
      addEventListener: (type, listener) => (this.#listeners[type] = listener),
    };
    runInNewContext(WORKER, { self, URL, Headers, Response, MessageChannel, Promise, setTimeout, clearTimeout });
  }

  /** Asks for a path in the scope, and returns the response as a promise. */
  fetch(path, init) {
    let response;
    this.#listeners.fetch({ request: new Request(new URL(path, this.scope), init), respondWith: (given) => (response = given) });
    return response;
  }

  /** The next message for the frame page. */
  async message() {
    while (this.messages.length === 0) await new Promise(setImmediate);
    return this.messages.shift();
  }

  /** Answers the next message, and returns it. */
  async answer(response) {
    const message = await this.message();
    message.port.postMessage("taken");
    message.port.postMessage({ status: 200, statusText: "", headers: [], body: null, ...response });
    message.port.close();
    return message;
  }
}

describe("the service worker", () => {
  for (const scope of ["https://example.com/", "https://example.com/a/device/"]) {
    test(`the service worker asks for the path that the device knows, and keeps redirects below ${scope}`, async () => {
      const worker = new Worker(scope);
      const response = worker.fetch("status/now?all=1");
      const { type, path } = await worker.answer({ status: 302, location: "/login?from=1#top" });
      assert.deepEqual([type, path], ["byway-request", "/status/now?all=1"]);
      assert.equal((await response).headers.get("location"), `${scope}login?from=1#top`);
    });
  }

  test("the service worker passes the end of a request on", async (context) => {
    const worker = new Worker("https://example.com/");
    const stop = new AbortController();
    const response = worker.fetch("slow", { signal: stop.signal });
    const { port } = await worker.message();
    // An open port would keep the process after a failure.
    context.after(() => port.close());
    const told = [];
    port.onmessage = ({ data }) => told.push(data);
    stop.abort();
    await until(() => told.length > 0, "the page is not told of the end", 10);
    assert.deepEqual(told, ["abort"]);
    port.postMessage({ error: "The request is over." });
    assert.equal((await response).status, 502);
  });
});
