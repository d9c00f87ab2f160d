// An emulated line with a device at one end, and a pair of streams at the other.

import { spawn } from "node:child_process";
import { webcrypto } from "node:crypto";
import { constants, existsSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSocketServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { test } from "node:test";
import tty from "node:tty";
import { fileURLToPath } from "node:url";

// Node 18 has it in this module only.
globalThis.crypto ??= webcrypto;

export const BYWAY = process.env.BYWAY ?? "byway";
const EMULATE = fileURLToPath(new URL("../../emulate", import.meta.url));
export const DEVICE = process.env.DEVICE ?? "";
export const MINI = process.env.MINI ?? "";

/** A test that fails if it takes longer than a minute. */
export function limited(name, body) {
  test(name, { timeout: 60000 }, body);
}

/** Waits until a condition holds. */
export async function until(condition, what, seconds = 20) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`${what}: not within ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function openRaw(path) {
  const { O_RDWR, O_NOCTTY, O_NONBLOCK } = constants;
  return openSync(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
}

/** Opens a terminal as a pair of streams. */
export async function terminal(path) {
  const input = new tty.ReadStream(openRaw(path));
  input.setRawMode(true);
  const output = new tty.WriteStream(openRaw(path));
  for (const stream of [input, output]) stream.on("error", () => {});
  const close = async () => {
    input.destroy();
    output.destroy();
  };
  return { readable: Readable.toWeb(input), writable: Writable.toWeb(output), close };
}

/** The events of a response, with the blank line behind each. An event can arrive in several parts. */
export function eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return {
    async next() {
      for (;;) {
        const end = text.indexOf("\n\n") + 2;
        if (end > 1) {
          const event = text.slice(0, end);
          text = text.slice(end);
          return event;
        }
        const { value, done } = await reader.read();
        if (done) throw new Error("the events ended");
        text += value;
      }
    },
    cancel: () => reader.cancel(),
  };
}

/** Bytes that look like noise, and are the same for each call. */
export function bytesFor(count, seed = 1) {
  const bytes = new Uint8Array(count);
  let state = seed;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

async function listen(server) {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server.address().port;
}

/** A server for HTTP, whose handler is that of node. Requests may end at any time. */
export async function httpServer(handler) {
  const server = createServer(async (request, response) => {
    for (const stream of [request, response]) stream.on("error", () => {});
    try {
      await handler(request, response);
    } catch {
      response.destroy();
    }
  });
  return { port: await listen(server), close: () => (server.closeAllConnections(), server.close()) };
}

/** A server that answers each head of a request with bytes as they are. The function gets the socket and the head. */
export async function rawServer(answer) {
  const sockets = new Set();
  const server = createSocketServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    let text = "";
    socket.on("data", (data) => {
      text += data.toString("latin1");
      for (let end; (end = text.indexOf("\r\n\r\n")) >= 0; ) {
        const head = text.slice(0, end);
        text = text.slice(end + 4);
        answer(socket, head);
      }
    });
  });
  return {
    port: await listen(server),
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

export class Rig {
  #children = [];
  #servers = [];
  #printed = ""; // By the line.

  /**
   * @param faults options of byway line
   * @param board a program for the emulated board, which is the device then
   * @param streams whether the device is byway-mini, which takes streams
   * @param gateway whether the device is byway gateway, which speaks HTTP/2
   */
  static async make(server, { baud = 921600, faults = [], board, streams = false, gateway = false } = {}) {
    const rig = new Rig();
    rig.folder = mkdtempSync(join(tmpdir(), "byway-"));
    rig.a = join(rig.folder, "a");
    rig.b = join(rig.folder, "b");
    rig.#servers.push(server);
    try {
      rig.line = rig.run(BYWAY, ["line", "--baud", `${baud}`, ...faults, rig.a, rig.b]);
      rig.line.stdout.setEncoding("utf8").on("data", (text) => (rig.#printed += text));
      await until(() => existsSync(rig.a) && existsSync(rig.b), "the line appears");
      if (board) rig.device = rig.run(EMULATE, [board, rig.a]);
      else if (streams) rig.device = rig.run(MINI, ["--link", `serial:${rig.a}?baud=${baud}`, "--to", `tcp://127.0.0.1:${server.port}`]);
      else if (gateway) rig.device = rig.run(BYWAY, ["gateway", "--link", `serial:${rig.a}?baud=${baud}`, "--origin", `${server.port}`, "--log-level", "error"]);
      else rig.device = rig.run(DEVICE, [rig.a, `${baud}`, `${server.port}`]);
    } catch (error) {
      await rig.stop();
      throw error;
    }
    return rig;
  }

  run(command, options) {
    const child = spawn(command, options, { stdio: ["pipe", "pipe", "inherit"] });
    child.on("error", (error) => console.error(`${command}: ${error.message}`));
    child.stdout.resume();
    this.#children.push(child);
    return child;
  }

  /** Opens the end of the browser. */
  get open() {
    return () => terminal(this.b);
  }

  /** Ends the device, and starts it again. */
  async restart(signal = "SIGKILL") {
    this.device.kill(signal);
    if (signal !== "SIGKILL") await new Promise((resolve) => this.device.once("exit", resolve));
    this.device = this.run(this.device.spawnfile, this.device.spawnargs.slice(1));
  }

  tell(line) {
    this.line.stdin.write(`${line}\n`);
  }

  /** The bytes from the device that the line has lost. */
  async lost() {
    const reports = () => this.#printed.match(/\/a → .*\n/g) ?? [];
    const count = reports().length;
    this.tell("statistics");
    const report = await until(() => reports()[count], "the line prints its statistics");
    return Number(/(\d+) bytes lost/.exec(report)?.[1] ?? 0);
  }

  async stop() {
    for (const child of this.#children.reverse()) {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once("close", resolve));
    }
    for (const server of this.#servers) server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
