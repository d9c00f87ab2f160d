// A headless Chromium, driven through two pipes.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Chromium {
  #count = 0;
  #waiting = new Map();
  #text = "";
  /** Sessions of the page and of frames of other origins, by URL at their beginning. */
  sessions = [];

  static async start() {
    const browser = new Chromium();
    browser.profile = mkdtempSync(join(tmpdir(), "byway-"));
    const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
      "--disable-background-networking", "--disable-component-update", "--no-proxy-server", "--site-per-process", "--remote-debugging-pipe",
      `--user-data-dir=${browser.profile}`, "--window-size=900,700", "about:blank"];
    browser.process = spawn("chromium", options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], detached: true });
    browser.process.on("error", (error) => browser.#fail(error));
    browser.process.on("exit", () => browser.#fail(new Error("Chromium ended")));
    browser.process.stdio[3].on("error", () => {});
    browser.process.stdio[4].setEncoding("utf8").on("data", (text) => browser.#take(text));
    const { targetInfos } = await browser.call("Target.getTargets");
    const page = targetInfos.find((target) => target.type === "page");
    const { sessionId } = await browser.call("Target.attachToTarget", { targetId: page.targetId, flatten: true });
    browser.page = sessionId;
    await browser.call("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: true }, sessionId);
    await browser.call("Page.enable", {}, sessionId);
    return browser;
  }

  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #take(text) {
    this.#text += text;
    for (let end; (end = this.#text.indexOf("\0")) >= 0; ) {
      const message = JSON.parse(this.#text.slice(0, end));
      this.#text = this.#text.slice(end + 1);
      if (message.method === "Target.attachedToTarget") {
        this.sessions.push({ id: message.params.sessionId, type: message.params.targetInfo.type });
      }
      if (message.method === "Target.detachedFromTarget") {
        this.sessions = this.sessions.filter((session) => session.id !== message.params.sessionId);
      }
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error) waiting?.reject(new Error(message.error.message));
      else waiting?.resolve(message.result);
    }
  }

  call(method, params = {}, sessionId = undefined) {
    const id = ++this.#count;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} was not answered`)), 40000);
      const settle = (next) => (value) => (clearTimeout(timer), next(value));
      this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
      this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** The value of an expression in the page or in another session, or the text of its error. Undefined if the session is gone. */
  async value(expression, session = this.page) {
    try {
      const { result, exceptionDetails } = await this.call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true }, session);
      return exceptionDetails ? `failed: ${result.description ?? exceptionDetails.text}` : result.value;
    } catch {
      return undefined;
    }
  }

  /** The value of an expression in the frame page, if that has another origin than the page. */
  async inFrame(expression) {
    const frame = this.sessions.find((session) => session.type === "iframe");
    return frame && this.value(expression, frame.id);
  }

  async stop() {
    try {
      process.kill(-this.process.pid, "SIGKILL"); // The group of its own.
    } catch {}
    if (this.process.exitCode === null && this.process.signalCode === null) {
      await new Promise((resolve) => this.process.once("exit", resolve));
    }
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
