// Tests of the page and the service worker in Chromium, with a stand-in for Web Serial that leads to an emulated line.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, describe } from "node:test";
import { fileURLToPath } from "node:url";
import { Chromium } from "./chromium.mjs";
import { Rig, httpServer, limited as test, until } from "./rig.mjs";
import { STAND_IN, site } from "./site.mjs";

/** The folder that the command has written, or its sources. */
const FILES = process.env.SITE || fileURLToPath(new URL("../../../Sources/BywayBrowserFiles/Site", import.meta.url));
const SENSOR = process.env.SENSOR ?? "";

/** The service of a device with pages. It counts requests. */
function service(seen) {
  return httpServer(async (request, response) => {
    seen.push(`${request.method} ${request.url}`);
    const page = (text) => response.writeHead(200, { "content-type": "text/html", "x-frame-options": "DENY", "set-cookie": "a=b" }).end(text);
    switch (request.url) {
      case "/":
        page(`<!doctype html><h1 id=title>start</h1><link rel=stylesheet href=/style.css><a href=/second>next</a>
          <form method=post action=/form><input name=a value="b c"></form>`);
        break;
      case "/style.css":
        response.writeHead(200, { "content-type": "text/css" }).end("h1 { color: rgb(1, 2, 3) }");
        break;
      case "/second":
        page("<h1 id=title>second</h1>");
        break;
      case "/form":
        response.writeHead(303, { location: `http://${request.headers.host}/done?x=1#y` }).end();
        break;
      case "/done?x=1":
        page("<h1 id=title>done</h1>");
        break;
      case "/echo":
        response.writeHead(201, { "x-own": "value" });
        request.pipe(response);
        break;
      case "/events":
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("data: one\n\n");
        seen.events = response;
        break;
      case "/wait":
        seen.waiting = response;
        response.on("close", () => response.writableFinished || (seen.hasStopped = true));
        break;
      default:
        response.writeHead(404).end(`nothing at ${request.url}`);
    }
  });
}

class Page {
  /** Opens the page and connects. Expressions in the device's page run by deviceValue. */
  static async open(rig, isolated) {
    const page = new Page();
    page.rig = rig;
    page.isolated = isolated;
    page.site = await site(FILES, rig.open, isolated);
    page.browser = await Chromium.start();
    await page.browser.call("Page.addScriptToEvaluateOnNewDocument", { source: STAND_IN(page.site.port) }, page.browser.page);
    await page.browser.call("Page.navigate", { url: `http://127.0.0.1:${page.site.port}/` }, page.browser.page);
    const loaded = "document.readyState === 'complete' && !!document.getElementById('connect')";
    await until(async () => (await page.browser.value(loaded)) === true, "the page loads");
    return page;
  }

  /** @param device what the user chooses: firmware, or a gateway */
  async connect(device) {
    if (device) await this.browser.value(`document.getElementById('http').value = ${JSON.stringify(device)}`);
    await this.browser.value("document.getElementById('connect').click()");
  }

  status() {
    return this.browser.value("document.getElementById('status').textContent");
  }

  /** The value of an expression in the device's page. */
  deviceValue(expression) {
    const inner = `document.getElementById('device').contentWindow.eval(${JSON.stringify(expression)})`;
    return this.isolated ? this.browser.inFrame(inner) : this.browser.value(`frames[0].${inner}`);
  }

  title(expected) {
    const shown = "document.readyState === 'complete' && document.getElementById('title')?.textContent";
    return until(async () => (await this.deviceValue(shown)) === expected, `the page ${expected}`);
  }

  async stop() {
    await this.browser?.stop();
    this.site?.close();
    await this.rig.stop();
  }
}

for (const isolated of [false, true]) {
  const place = isolated ? "a device with its own origin" : "a device in the origin of the connection";
  describe(`a page of ${place}`, () => {
    const seen = [];
    let page;
    before(async () => {
      page = await Page.open(await Rig.make(await service(seen)), isolated);
      await page.connect();
    });
    after(() => page.stop());

    test(`a page of ${place} appears with its style, and follows links and forms`, async () => {
      await page.title("start");
      const color = "getComputedStyle(document.getElementById('title')).color";
      await until(async () => (await page.deviceValue(color)) === "rgb(1, 2, 3)", "the style is there");
      assert.equal(await page.status(), "Connected.");
      assert.equal(await page.browser.value("document.getElementById('connect').textContent"), "Disconnect");
      await page.deviceValue("document.querySelector('form').submit()");
      await page.title("done");
      assert.equal(await page.deviceValue("location.pathname + location.search + location.hash"), "/done?x=1#y");
      await page.deviceValue("location = '/'");
      await page.title("start");
      await page.deviceValue("document.querySelector('a').click()");
      await page.title("second");
    });

    test(`a page of ${place} fetches with a body, receives events, and is told of missing files`, async () => {
      const echo = "fetch('/echo', { method: 'PUT', body: 'x'.repeat(5000) })";
      const text = `${echo}.then(async (r) => [r.status, r.headers.get('x-own'), r.headers.get('set-cookie'), (await r.text()).length].join())`;
      assert.equal(await page.deviceValue(text), "201,value,,5000");
      const event = "new Promise((ok) => { const s = new EventSource('/events'); s.onmessage = (m) => { s.close(); ok(m.data) } })";
      assert.equal(await page.deviceValue(event), "one");
      assert.equal(await page.deviceValue("fetch('/missing').then(async (r) => r.status + await r.text())"), "404nothing at /missing");
      assert.equal(await page.deviceValue("document.cookie"), "");
      const policy = "fetch('/').then((r) => r.headers.get('content-security-policy'))";
      assert.match(await page.deviceValue(policy), /^default-src 'self' /);
    });

    test(`a page of ${place} cannot reach other servers, and with its own origin not the connection`, async () => {
      const outside = await httpServer((_, response) => response.writeHead(200, { "access-control-allow-origin": "*" }).end("outside"));
      const get = `fetch('http://127.0.0.1:${outside.port}/').then((r) => r.text(), (error) => error.name)`;
      assert.equal(await page.deviceValue(get), "TypeError");
      outside.close();
      const serial = "(() => { try { return !!top.navigator.serial } catch (error) { return error.name } })()";
      assert.equal(await page.deviceValue(serial), isolated ? "SecurityError" : true);
      const forged = "(top.postMessage({ type: 'byway-request', method: 'GET', path: '/forged', headers: [] }, '*', [new MessageChannel().port1]), 1)";
      assert.equal(await page.deviceValue(forged), 1);
      assert.equal(await page.deviceValue("fetch('/missing').then((r) => r.status)"), 404);
      assert.ok(!seen.includes("GET /forged"));
    });

    test(`a page of ${place} is told that the page is open twice, until the other one is closed`, async () => {
      const status = async () => page.deviceValue("fetch('/style.css').then((r) => r.status)");
      const url = `http://${isolated ? "localhost" : "127.0.0.1"}:${page.site.port}/byway-frame.html`;
      const { targetId } = await page.browser.call("Target.createTarget", { url });
      // A browser may give the storage of a frame in a page of another site no part in that of a tab.
      if (!isolated) await until(async () => (await status()) === 503, "the requests are refused");
      await page.browser.call("Target.closeTarget", { targetId });
      await until(async () => (await status()) === 200, "the requests are answered");
    });

    test(`a page of ${place} continues when the device is unplugged and plugged in again`, async () => {
      page.rig.tell("cut hang-up b");
      await until(async () => /unplugged/.test(await page.status()), "the page tells that the device is unplugged");
      assert.equal(await page.deviceValue("(window.late = fetch('/style.css').then((r) => r.text()), 1)"), 1);
      page.rig.tell("restore");
      await until(async () => (await page.status()) === "Connected.", "the page tells that it is connected");
      assert.match(await page.deviceValue("window.late"), /^h1/);
    });

    test(`a page of ${place} goes away when the user disconnects`, async () => {
      await page.connect();
      await until(async () => (await page.status()) === "Disconnected.", "the page disconnects");
      assert.equal(await page.browser.value("frames.length"), 0);
    });

    test("the module works without a page of the device, here over a WebSocket", async () => {
      const text = await page.browser.value(`import("./byway.js").then(async ({ connect, webSocket }) => {
        const device = await connect(webSocket("ws://127.0.0.1:${page.site.port}/line"));
        const text = await (await device.fetch("/second")).text();
        await device.close();
        return text;
      })`);
      assert.equal(text, "<h1 id=title>second</h1>");
    });
  });
}

describe("a gateway", () => {
  const seen = [];
  let page;
  before(async () => {
    page = await Page.open(await Rig.make(await service(seen), { gateway: true, baud: 3000000 }), true);
  });
  after(() => page.stop());

  test("a gateway answers requests of its page while events and a slow path are under way", async () => {
    await page.connect("2");
    await page.title("start");
    assert.equal(await page.browser.value("document.getElementById('http').disabled"), true);
    await page.deviceValue("(window.slow = fetch('/wait').then((r) => r.text()), 0)");
    const event = "new Promise((ok) => { window.source = new EventSource('/events'); source.onmessage = (m) => ok(m.data) })";
    assert.equal(await page.deviceValue(event), "one");
    const echo = "fetch('/echo', { method: 'PUT', body: 'x'.repeat(5000) }).then(async (r) => (await r.text()).length)";
    assert.equal(await page.deviceValue(echo), 5000);
    seen.waiting.end("slow");
    assert.equal(await page.deviceValue("window.slow"), "slow");
    await page.deviceValue("source.close()");
    await page.connect();
    await until(async () => (await page.status()) === "Disconnected.", "the page disconnects");
    assert.equal(await page.browser.value("document.getElementById('http').disabled"), false);
  });

  test("a gateway answers the module in Chromium: two requests, events, an upload, an aborted one, and one after an unplugged cable", async () => {
    const value = (body) => page.browser.value(`(async () => { ${body} })()`);
    await value(`
      const { connect, webSocket } = await import("./byway.js");
      window.device = await connect(webSocket("ws://127.0.0.1:${page.site.port}/line"), { http: "2" });
      window.text = async (path, init) => (await device.fetch(path, init)).text();
      const events = await device.fetch("/events");
      window.reader = events.body.pipeThrough(new TextDecoderStream()).getReader();`);
    // An event can arrive in several parts.
    const event = "let text = ''; while (!text.endsWith('\\n\\n')) text += (await reader.read()).value; return text";
    assert.equal(await value(event), "data: one\n\n");
    seen.waiting = null;
    seen.hasStopped = false;
    await value("window.stop = new AbortController(); window.waiting = text('/wait', { signal: stop.signal }).catch((error) => error.name); return 0");
    await until(() => seen.waiting, "the slow path is asked for");
    assert.equal(await value("return (await Promise.all([text('/second'), text('/missing')])).map((text) => text.length).join()"), "24,19");
    const echo = "const body = new Blob(['x'.repeat(30000)]).stream(); return (await text('/echo', { method: 'PUT', body, duplex: 'half' })).length";
    assert.equal(await value(echo), 30000);
    await value("stop.abort()");
    assert.equal(await value("return waiting"), "AbortError");
    await until(() => seen.hasStopped, "the request ends at the gateway");
    page.rig.tell("cut hang-up b");
    await until(() => value("return device.status.line === 'down'"), "the line is down");
    await value("window.late = text('/second'); return 0");
    page.rig.tell("restore");
    assert.equal(await value("return late"), "<h1 id=title>second</h1>");
    seen.events.write("data: two\n\n");
    assert.equal(await value(event), "data: two\n\n");
    await value("await device.close()");
  });
});

describe("the sensor on an emulated board", { skip: SENSOR === "" }, () => {
  test("the sensor draws its chart in the page during a download and other requests", async () => {
    const rig = await Rig.make(await httpServer(() => {}), { baud: 115200, board: SENSOR });
    const page = await Page.open(rig, true);
    try {
      await page.connect();
      const samples = "document.getElementById('line')?.points.length";
      await until(async () => (await page.deviceValue(samples)) > 5, "the chart has 5 samples", 40);
      const before = await page.deviceValue(samples);
      await page.deviceValue(`Promise.all(["/file?bytes=15000", "/slow", "/reading"].map(async (path) => {
        const bytes = await (await fetch(path)).arrayBuffer();
        return [path, bytes.byteLength, ${samples}];
      })).then((results) => { window.done = results }), 0`);
      await until(() => page.deviceValue("window.done !== undefined"), "the other requests are answered", 40);
      const [file, slow, reading] = await page.deviceValue("window.done");
      assert.deepEqual([file[1], slow[1]], [15000, 5]);
      assert.ok(reading[2] < slow[2], "the reading does not wait for the slow path");
      assert.ok(slow[2] >= before + 10, "the chart goes on");
      await until(async () => (await page.deviceValue("document.getElementById('version').textContent")) === "1, slot A", "the version", 20);
      if (process.env.SCREENSHOT) {
        const { data } = await page.browser.call("Page.captureScreenshot", { format: "png" }, page.browser.page);
        writeFileSync(process.env.SCREENSHOT, Buffer.from(data, "base64"));
      }
    } finally {
      await page.stop();
    }
  });
});
