// HTTP to a device over a pair of streams, for example of a serial port: docs/browser.md.

import { Carrier } from "./byway-carrier.js";
import { Connection } from "./byway-connection.js";
import { BywayError } from "./byway-error.js";
import { Exchange, GatewaySession } from "./byway-exchange.js";
import { Session } from "./byway-streams.js";

export { BywayError };
export { serialPort, usbPort, webSocket } from "./byway-ports.js";

const DEFAULTS = {
  base: "http://device/", http: "1.1", baudRate: 0, queue: 32, queueTimeout: 60000, responseTimeout: 60000, bodyTimeout: 300000,
};
const READ_AHEAD = 64 << 10;
const MOST_REDIRECTS = 20;
const RECONNECT_DELAY = 300;
const LONGEST_TIMER = 0x7fffffff;
const NO_BODY = [204, 205, 304];
const ENCODINGS = { gzip: "gzip", "x-gzip": "gzip", deflate: "deflate" };

/**
 * Connects to a device.
 * @param streams a pair of streams, or a function that opens one and is called again when it has ended
 */
export async function connect(streams, options = {}) {
  const settings = checked(options);
  return new Device(streams, settings, await Carrier.make(settings.baudRate));
}

function checked(options) {
  const settings = { ...DEFAULTS };
  for (const [name, value] of Object.entries(options)) {
    if (name === "onstatus" ? typeof value !== "function" : typeof value !== typeof DEFAULTS[name]) {
      throw new BywayError("option", `The option ${name} is unknown or has the wrong type. docs/browser.md lists the options.`);
    }
    if (name === "http" && value !== "1.1" && value !== "2") throw new BywayError("option", 'The option http must be "1.1" or "2".');
    if (typeof value === "number" && !(value >= 0)) throw new BywayError("option", `The option ${name} must not be negative.`);
    // Longer timers end at once.
    settings[name] = typeof value === "number" ? Math.min(value, LONGEST_TIMER) : value;
  }
  settings.base = new URL(settings.base);
  return settings;
}

class Device {
  #settings;
  #carrier;
  /** Ends the requests, and then the line. */
  #ending = new AbortController();
  #releasing = new AbortController();
  #error = null;
  #running = 0;
  #waiting = [];
  #session = null;
  /** Connections that can carry another exchange. */
  #idle = [];
  #shown = "";
  #carrying;

  constructor(streams, settings, carrier) {
    this.#settings = settings;
    this.#carrier = carrier;
    carrier.onchange = () => {
      this.#session?.pump();
      this.#admit();
      this.#show();
    };
    this.fetch = this.fetch.bind(this);
    this.#carrying = this.#carry(streams);
  }

  /** The line is "up", "down" or "closed"; the session "none", "opening" or "open"; bytes are counted on the line. */
  get status() {
    return {
      line: this.#error ? "closed" : this.#carrier.isUp ? "up" : "down",
      session: this.#carrier.state,
      queue: this.#waiting.length + this.#running,
      received: this.#carrier.received,
      sent: this.#carrier.sent,
    };
  }

  #show() {
    const { line, session, queue } = this.status;
    const shown = `${line} ${session} ${queue}`;
    if (shown === this.#shown) return;
    this.#shown = shown;
    // Later, so that an error of the function does not stop the line.
    const status = this.status;
    queueMicrotask(() => this.#settings.onstatus?.(status));
  }

  /** Ends all requests and releases the streams. */
  async close(error = new BywayError("closed", "The connection to the device was closed.")) {
    if (this.#error === null) {
      this.#error = error;
      this.#ending.abort();
      this.#carrier.abort();
      await this.#carrier.flush(200);
      this.#releasing.abort();
      this.#carrier.stop();
      this.#show();
    }
    await this.#carrying;
  }

  // The line.

  async #carry(source) {
    const signal = this.#releasing.signal;
    if (typeof source !== "function") {
      await this.#carryPair(source, signal);
      this.#fail(new BywayError("gone", "The streams of the line ended. Connect again, or give connect a function that opens them."));
      return;
    }
    while (!signal.aborted) {
      let pair = null;
      try {
        pair = await source(signal);
      } catch (error) {
        if (error?.code === "streams") this.#fail(error);
        // Otherwise the device may come back.
      }
      if (pair && !signal.aborted) await this.#carryPair(pair, signal);
      try {
        await pair?.close?.();
      } catch {
        // It is closed already.
      }
      if (!signal.aborted) await pause(RECONNECT_DELAY, signal);
    }
  }

  async #carryPair(pair, signal) {
    try {
      await this.#carrier.carry(pair, signal);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error) {
    if (this.#error) return;
    this.#error = error;
    this.#ending.abort();
    this.#releasing.abort();
    this.#carrier.stop();
    this.#show();
  }

  // The queue: as many exchanges at a time as the device takes.

  get #isGateway() {
    return this.#settings.http === "2";
  }

  get #limit() {
    return this.#session && !this.#session.isOver ? this.#session.limit : 1;
  }

  async #enter(signal) {
    if (this.#waiting.length >= this.#settings.queue) {
      throw new BywayError("busy", `${this.#settings.queue} requests already wait for the device. Wait for their responses.`);
    }
    if (this.#running < this.#limit && this.#waiting.length === 0) {
      this.#running++;
      this.#show();
      return;
    }
    await new Promise((resolve, reject) => {
      const leave = (error) => {
        this.#waiting = this.#waiting.filter((other) => other !== next);
        settle();
        reject(error);
      };
      const onabort = () => leave(signal.reason);
      const onend = () => leave(this.#error);
      const timer = setTimeout(
        () => leave(new BywayError("busy", "The device was busy with another request for too long. Read or cancel the body of that response.")),
        this.#settings.queueTimeout);
      const settle = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onabort);
        this.#ending.signal.removeEventListener("abort", onend);
      };
      const next = () => {
        settle();
        resolve();
      };
      signal.addEventListener("abort", onabort);
      this.#ending.signal.addEventListener("abort", onend);
      this.#waiting.push(next);
      this.#show();
    });
  }

  #leave() {
    this.#running--;
    this.#admit();
    this.#show();
  }

  #admit() {
    while (this.#waiting.length > 0 && this.#running < this.#limit) {
      this.#running++;
      this.#waiting.shift()();
    }
  }

  #open() {
    if (!this.#session || this.#session.isOver) {
      this.#session = this.#isGateway ? new GatewaySession(this.#carrier) : new Session(this.#carrier);
    }
    return this.#session;
  }

  /** Returns a connection that is not in use, or null. Ends those that are of no use any more. */
  #takeIdle() {
    while (this.#idle.length > 0) {
      const connection = this.#idle.pop();
      if (connection.isUsable) return connection;
      connection.abort();
    }
    return null;
  }

  #keep(connection) {
    // The limit is lower if the device was replaced.
    if (this.#running > this.#limit) connection.abort();
    else this.#idle.push(connection);
  }

  // Requests.

  /** Like the browser's fetch, but to the device. */
  async fetch(input, init = {}) {
    let request = await prepare(input, init, this.#settings.base);
    for (let redirects = 0; ; redirects++) {
      const response = await this.#exchange(request);
      const next = redirected(request, response, redirects, this.#settings.base);
      if (!next) {
        Object.defineProperty(response, "url", { value: request.url.href });
        Object.defineProperty(response, "redirected", { value: redirects > 0 });
        return response;
      }
      await response.body?.cancel();
      if (next instanceof Error) throw next;
      request = next;
    }
  }

  async #exchange(request) {
    request.signal.throwIfAborted();
    if (this.#error) throw this.#error;
    await this.#enter(request.signal);
    try {
      // The connection may have been closed since this request got its turn.
      if (this.#error) throw this.#error;
      const repeatable = request.body === null && ["GET", "HEAD", "OPTIONS"].includes(request.method);
      for (let times = 0; ; times++) {
        const connection = this.#takeIdle() ?? new (this.#isGateway ? Exchange : Connection)(this.#carrier, () => this.#open());
        try {
          return await this.#respond(connection, request);
        } catch (error) {
          connection.abort();
          if (!connection.mayRepeat(error, repeatable, times)) throw error;
        }
      }
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  /** Sends the request and returns the response, whose body leaves the queue at its end. */
  async #respond(connection, request) {
    const { responseTimeout, bodyTimeout } = this.#settings;
    let timer;
    const restart = () => {
      clearTimeout(timer);
      timer = setTimeout(() => connection.stop(this.#lateness(responseTimeout)), responseTimeout);
    };
    const onabort = () => connection.stop(request.signal.reason);
    const onend = () => connection.stop(this.#error);
    request.signal.addEventListener("abort", onabort);
    this.#ending.signal.addEventListener("abort", onend);
    const settle = () => {
      clearTimeout(timer);
      request.signal.removeEventListener("abort", onabort);
      this.#ending.signal.removeEventListener("abort", onend);
    };
    try {
      request.signal.throwIfAborted();
      const length = request.body === null ? (request.needsLength ? 0 : null) : request.body.length;
      connection.begin(request, length, restart);
      restart();
      connection.send(request.body);
      const head = await connection.readHead();
      connection.onprogress = () => {};
      clearTimeout(timer);
      return this.#response(connection, head, bodyTimeout, settle);
    } catch (error) {
      settle();
      throw error;
    }
  }

  #lateness(time) {
    if (!this.#carrier.isUp) return new BywayError("gone", "The line is down. Plug the device in, and try again.");
    return new BywayError("timeout", `The device sent no response within ${time / 1000} s.`);
  }

  #response(connection, head, bodyTimeout, settle) {
    const headers = new Headers();
    for (const [name, value] of head.fields) headers.append(name, value);
    let isDone = false;
    const done = (keeps) => {
      if (isDone) return;
      isDone = true;
      settle();
      connection.onstop = () => {};
      if (keeps && head.keeps && connection.isSent) this.#keep(connection);
      else connection.abort();
      this.#leave();
    };
    const { status, statusText } = head;
    if (NO_BODY.includes(status) || head.framing === 0) {
      done(head.framing === 0);
      return new Response(NO_BODY.includes(status) ? null : new Uint8Array(0), { status, statusText, headers });
    }
    const parts = connection.readBody(head.framing);
    const limit = typeof head.framing === "number" ? bodyTimeout : Infinity;
    let body = new ReadableStream(
      {
        start: (controller) => {
          connection.onstop = (error) => {
            done(false);
            controller.error(error);
          };
        },
        pull: async (controller) => {
          const timer =
            limit < 0x7fffffff
              ? setTimeout(() => connection.stop(new BywayError("timeout", `The body paused for ${limit / 1000} s.`)), limit)
              : undefined;
          try {
            const { value, done: isEnd } = await parts.next();
            if (isEnd) {
              done(true);
              controller.close();
            } else {
              controller.enqueue(value.slice());
            }
          } catch (error) {
            done(false);
            controller.error(error);
          } finally {
            clearTimeout(timer);
          }
        },
        cancel: () => done(false),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: READ_AHEAD }));
    const encoding = ENCODINGS[(headers.get("content-encoding") ?? "").trim().toLowerCase()];
    if (encoding) {
      headers.delete("content-encoding");
      headers.delete("content-length");
      body = body.pipeThrough(new DecompressionStream(encoding));
    }
    return new Response(body, { status, statusText, headers });
  }
}

/** Checks a request as the browser does, and returns its parts. */
async function prepare(input, init, base) {
  const isRequest = typeof Request !== "undefined" && input instanceof Request;
  const url = new URL(isRequest ? input.url : input, base);
  if (url.origin !== base.origin) {
    throw new BywayError("url", `${url.origin} is not the device. Its URLs begin with ${base.origin}/.`);
  }
  const body = init.body;
  const isStream = body instanceof ReadableStream;
  const request = new Request(isRequest ? input : url, isStream ? { ...init, body: undefined } : init);
  const { method, signal, redirect } = request;
  if (isStream && (method === "GET" || method === "HEAD")) throw new TypeError(`A ${method} request cannot have a body.`);
  const hasBody = isStream || (body !== undefined && body !== null) || (isRequest && !["GET", "HEAD"].includes(method));
  const headers = new Headers(request.headers);
  if (!headers.has("accept")) headers.set("accept", "*/*");
  headers.set("accept-encoding", "gzip, deflate");
  url.hash = "";
  return {
    url, method, headers, redirect, signal: init.signal ?? signal,
    body: isStream ? body : hasBody ? new Uint8Array(await request.arrayBuffer()) : null,
    needsLength: ["POST", "PUT", "PATCH"].includes(method) && !isStream,
  };
}

/** Returns the request to send next, an error, or null if the response is the last one. */
function redirected(request, response, count, base) {
  const place = response.headers.get("location");
  if (![301, 302, 303, 307, 308].includes(response.status) || request.redirect === "manual" || place === null) return null;
  if (request.redirect === "error") return new BywayError("redirect", "The device redirects, and the request does not allow that.");
  if (count >= MOST_REDIRECTS) return new BywayError("redirect", `The device redirected ${count} times.`);
  let url;
  try {
    url = new URL(place, request.url);
  } catch {
    return new BywayError("redirect", "The device redirects to an invalid URL.");
  }
  if (url.origin !== base.origin) return new BywayError("redirect", `The device redirects to ${url.origin}, which is not the device.`);
  url.hash = "";
  const { method, status } = { method: request.method, status: response.status };
  const becomesGet = (status === 303 && method !== "GET" && method !== "HEAD") || (status < 303 && method === "POST");
  if (!becomesGet && request.body instanceof ReadableStream) {
    return new BywayError("redirect", "The device redirects, and the body is a stream that cannot be sent again.");
  }
  if (!becomesGet) return { ...request, url };
  const headers = new Headers(request.headers);
  for (const name of ["content-type", "content-encoding", "content-language", "content-location"]) headers.delete(name);
  return { ...request, url, headers, method: "GET", body: null, needsLength: false };
}

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, milliseconds);
    signal.addEventListener("abort", finish);
  });
}
