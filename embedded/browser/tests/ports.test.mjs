// Tests of byway-ports.js with stand-ins for WebUSB and Web Serial.

import assert from "node:assert/strict";
import { describe } from "node:test";
import { connect, serialPort, usbPort, webSocket } from "../../../Sources/BywayBrowserFiles/Site/byway.js";
import { Rig, httpServer, limited as test, until } from "./rig.mjs";

const bulk = (endpointNumber, direction) => ({ endpointNumber, direction, type: "bulk", packetSize: 64 });
const face = (interfaceNumber, interfaceClass, endpoints, alternateSetting = 0) => ({
  interfaceNumber,
  // The fields of a browser's objects are getters of their classes.
  alternates: [Object.create({ interfaceClass, endpoints, alternateSetting })],
});
const INTERRUPT = { endpointNumber: 1, direction: "in", type: "interrupt", packetSize: 16 };
/** The interfaces of a serial adapter, behind one of another class with bulk endpoints. */
const ADAPTER = [
  face(0, 8, [bulk(7, "in"), bulk(7, "out")]), face(1, 2, [INTERRUPT]), face(2, 10, [INTERRUPT, bulk(2, "in"), bulk(3, "out")]),
];

/** A USB device. The test plays what its transfers return. */
class Device {
  calls = [];
  arriving = [];
  #wake = () => {};
  vendorId = 1;
  productId = 2;
  serialNumber = "a";
  configuration = null;
  isGone = false;

  constructor(interfaces = ADAPTER) {
    this.interfaces = interfaces;
  }

  #check() {
    if (this.isGone) throw new DOMException("The device was disconnected.", "NotFoundError");
  }

  async open() {
    this.#check();
    this.calls.push("open");
  }

  async close() {
    this.calls.push("close");
    this.arriving = [new DOMException("closed", "AbortError")];
    this.#wake();
  }

  async selectConfiguration(number) {
    this.calls.push(`configuration ${number}`);
    this.configuration = { interfaces: this.interfaces };
  }

  async claimInterface(number) {
    if (this.refuses === number) throw new DOMException("Unable to claim interface.", "NetworkError");
    this.calls.push(`claim ${number}`);
  }

  async selectAlternateInterface(number, setting) {
    this.calls.push(`alternate ${number} ${setting}`);
  }

  async controlTransferOut({ requestType, recipient, request, value, index }, data = []) {
    this.#check();
    assert.deepEqual([requestType, recipient], ["class", "interface"]);
    this.calls.push(`control ${request.toString(16)} ${value} ${index} ${[...data]}`.trim());
  }

  async clearHalt(direction, number) {
    this.calls.push(`clear ${direction} ${number}`);
  }

  async transferIn(number, length) {
    assert.deepEqual([number, length % 64], [2, 0]);
    while (this.arriving.length === 0) {
      this.#check();
      await new Promise((resolve) => (this.#wake = resolve));
    }
    const next = this.arriving.shift();
    if (next instanceof Error) throw next;
    return next;
  }

  async transferOut(number, bytes) {
    this.#check();
    this.calls.push(`out ${number} ${[...bytes]}`);
    return this.results?.shift() ?? { status: "ok", bytesWritten: bytes.length };
  }

  /** Lets a transfer to the computer end. */
  say(result) {
    // The bytes are a part of their buffer.
    const data = Uint8Array.of(99, ...(result.bytes ?? []), 99);
    this.arriving.push(result instanceof Error ? result : { status: "ok", data: new DataView(data.buffer, 1, data.length - 2), ...result });
    this.#wake();
  }

  unplug() {
    this.isGone = true;
    this.say(new DOMException("The transfer was cancelled.", "NetworkError"));
  }
}

function plugged(...devices) {
  Object.defineProperty(globalThis, "navigator", { value: { usb: { getDevices: async () => devices } }, configurable: true });
}

describe("a device of WebUSB", () => {
  const opened = async (device, options) => {
    plugged(device);
    const pair = await usbPort(device, options)();
    return { ...pair, reader: pair.readable.getReader(), writer: pair.writable.getWriter() };
  };

  test("a WebUSB device that is an adapter is opened with its rate and its lines, and closed", async () => {
    const device = new Device();
    const { close } = await opened(device, { baudRate: 921600 });
    const lines = ["control 20 0 1 0,16,14,0,0,0,8", "control 22 3 1"];
    assert.deepEqual(device.calls, ["open", "configuration 1", "claim 1", "claim 2", ...lines]);
    device.calls = [];
    await close();
    assert.deepEqual(device.calls, ["control 22 0 1", "close"]);
    const other = new Device();
    other.configuration = { interfaces: ADAPTER };
    await opened(other);
    assert.deepEqual(other.calls.slice(0, 4), ["open", "claim 1", "claim 2", "control 20 0 1 0,194,1,0,0,0,8"]);
    // All bytes of a rate.
    const fast = new Device();
    await opened(fast, { baudRate: 0x01020304 });
    assert.equal(fast.calls[4], "control 20 0 1 4,3,2,1,0,0,8");
  });

  test("a WebUSB device of a vendor's class has no lines, and its alternate setting is selected", async () => {
    const device = new Device([face(0, 255, [bulk(4, "in")]), face(5, 255, [bulk(2, "in"), bulk(3, "out")], 1)]);
    const { close, writer } = await opened(device);
    await writer.write(Uint8Array.of(1));
    await close();
    assert.deepEqual(device.calls, ["open", "configuration 1", "claim 5", "alternate 5 1", "out 3 1", "close"]);
  });

  test("a WebUSB device delivers the bytes that arrive, also after empty transfers", async () => {
    const device = new Device();
    const { reader } = await opened(device);
    device.say({ bytes: [] });
    device.say({ bytes: [1, 2] });
    device.say({ bytes: [3] });
    assert.deepEqual([...(await reader.read()).value], [1, 2]);
    assert.deepEqual([...(await reader.read()).value], [3]);
  });

  test("a WebUSB device gets all bytes, also if it takes them in parts", async () => {
    const device = new Device();
    const { writer } = await opened(device);
    device.calls = [];
    device.results = [{ status: "ok", bytesWritten: 2 }];
    await writer.write(Uint8Array.of(1, 2, 3));
    assert.deepEqual(device.calls, ["out 3 1,2,3", "out 3 3"]);
    device.results = [{ status: "ok", bytesWritten: 0 }];
    await assert.rejects(writer.write(Uint8Array.of(1)), /takes no bytes/);
  });

  test("a WebUSB device that stalls is cleared and asked again, three times", async () => {
    const device = new Device();
    const { reader, writer } = await opened(device);
    device.calls = [];
    for (let count = 0; count < 3; count++) device.say({ status: "stall" });
    device.say({ bytes: [1] });
    assert.deepEqual([...(await reader.read()).value], [1]);
    assert.deepEqual(device.calls, Array(3).fill("clear in 2"));
    device.calls = [];
    device.results = [{ status: "stall", bytesWritten: 0 }];
    await writer.write(Uint8Array.of(5));
    assert.deepEqual(device.calls, ["out 3 5", "clear out 3", "out 3 5"]);
    for (let count = 0; count < 4; count++) device.say({ status: "stall" });
    await assert.rejects(reader.read(), /stall/);
  });

  test("a WebUSB device that sends too much ends the stream", async () => {
    const device = new Device();
    const { reader } = await opened(device);
    device.say({ status: "babble" });
    await assert.rejects(reader.read(), /babble/);
  });

  test("a WebUSB device that cannot be claimed is closed again, and the error names the reason", async () => {
    const device = new Device();
    device.refuses = 2;
    plugged(device);
    await assert.rejects(usbPort(device)(), /Unable to claim/);
    assert.equal(device.calls.at(-1), "close");
  });

  test("a WebUSB device without bulk endpoints fails requests with the reason", async () => {
    for (const interfaces of [[face(0, 3, [INTERRUPT])], [face(0, 10, [bulk(2, "in")])], [face(0, 8, [bulk(2, "in"), bulk(3, "out")])]]) {
      const device = new Device(interfaces);
      plugged(device);
      const connection = await connect(usbPort(device));
      await assert.rejects(connection.fetch("/"), (error) => error.code === "streams" && /bulk endpoints/.test(error.message));
      assert.equal(device.calls.at(-1), "close");
      await connection.close();
    }
  });

  test("a WebUSB device that is gone is replaced by one with the same numbers, and by no other", async () => {
    const device = new Device();
    const other = Object.assign(new Device(), { serialNumber: "b" });
    const again = new Device();
    plugged(device, other);
    const open = usbPort(device);
    const { readable, close } = await open();
    const reader = readable.getReader();
    device.unplug();
    await assert.rejects(reader.read(), { name: "NetworkError" });
    await close();
    assert.equal(device.calls.at(-1), "close");
    plugged(other);
    await assert.rejects(open(), { name: "NotFoundError" });
    plugged(other, again);
    await open();
    assert.equal(again.calls[0], "open");
    // From now on it is the first one to try.
    again.calls = [];
    device.calls = [];
    device.isGone = false;
    await open();
    assert.equal(again.calls[0], "open");
    assert.deepEqual(device.calls, []);
    assert.deepEqual(other.calls, []);
  });

  test("a WebUSB device carries requests to a gateway, and continues when it is plugged in again", async () => {
    const rig = await Rig.make(await httpServer((request, response) => response.end(request.url)), { gateway: true });
    /** A device whose bytes are those of the line. */
    const bridged = async () => {
      const device = new Device();
      const pair = await rig.open();
      const writer = pair.writable.getWriter();
      device.transferOut = async (number, bytes) => (await writer.write(bytes), { status: "ok", bytesWritten: bytes.length });
      (async () => {
        for await (const bytes of pair.readable) device.say({ bytes });
      })().catch(() => {});
      const close = device.close.bind(device);
      device.close = async () => (await pair.close(), close());
      return device;
    };
    const first = await bridged();
    plugged(first);
    const device = await connect(usbPort(first), { http: "2" });
    assert.equal(await (await device.fetch("/one")).text(), "/one");
    first.unplug();
    await until(() => device.status.line === "down", "the line is down");
    const late = device.fetch("/two");
    plugged(await bridged());
    assert.equal(await (await late).text(), "/two");
    await device.close();
    await rig.stop();
  });
});

describe("a port of Web Serial", () => {
  class Port {
    calls = [];
    readable = null;
    writable = null;

    constructor(vendor, product) {
      this.getInfo = () => ({ usbVendorId: vendor, usbProductId: product });
    }

    async open(options) {
      if (this.isGone) throw new DOMException("gone", "NetworkError");
      this.calls.push(`open ${JSON.stringify(options)}`);
      this.readable = this.writable = {};
    }

    async close() {
      this.calls.push("close");
      this.readable = this.writable = null;
    }
  }

  test("a port of Web Serial is opened again, or one with the same numbers in its place", async () => {
    const [port, otherVendor, otherProduct, again] = [new Port(1, 2), new Port(2, 2), new Port(1, 3), new Port(1, 2)];
    const serial = { getPorts: async () => [port, otherVendor, otherProduct] };
    Object.defineProperty(globalThis, "navigator", { value: { serial }, configurable: true });
    const open = serialPort(port, { baudRate: 9600 });
    const opening = 'open {"bufferSize":4096,"baudRate":9600}';
    assert.equal(await open(), port);
    assert.equal(await open(), port);
    assert.deepEqual(port.calls, [opening, "close", opening]);
    port.isGone = true;
    await assert.rejects(open(), { name: "NetworkError" });
    serial.getPorts = async () => [port, otherVendor, otherProduct, again];
    assert.equal(await open(), again);
    port.isGone = false;
    assert.equal(await open(), again);
    assert.deepEqual([otherVendor.calls, otherProduct.calls], [[], []]);
  });
});

describe("a WebSocket", () => {
  class Socket {
    readyState = 1;
    bufferedAmount = 0;
    sent = [];

    constructor(url) {
      this.url = url;
      Socket.last = this;
    }

    send(bytes) {
      this.sent.push([...bytes]);
    }

    close() {
      if (this.readyState === 3) return;
      this.readyState = 3;
      this.onclose();
    }
  }
  const opened = async () => {
    globalThis.WebSocket = Socket;
    const opening = webSocket("ws://127.0.0.1/line")();
    Socket.last.onopen();
    const pair = await opening;
    return { ...pair, socket: Socket.last, reader: pair.readable.getReader(), writer: pair.writable.getWriter() };
  };

  test("a WebSocket carries binary messages in both directions, and ignores texts", async () => {
    const { socket, reader, writer } = await opened();
    assert.deepEqual([socket.url, socket.binaryType], ["ws://127.0.0.1/line", "arraybuffer"]);
    socket.onmessage({ data: "text" });
    socket.onmessage({ data: Uint8Array.of(1, 2).buffer });
    assert.deepEqual([...(await reader.read()).value], [1, 2]);
    await writer.write(Uint8Array.of(3));
    assert.deepEqual(socket.sent, [[3]]);
  });

  test("a WebSocket takes no more bytes while more than 8 KiB wait, and none when it is closed", async () => {
    const { socket, writer, reader } = await opened();
    let looks = 0;
    Object.defineProperty(socket, "bufferedAmount", { get: () => ((looks += 1), 8193), configurable: true });
    const writing = writer.write(Uint8Array.of(1));
    await until(() => looks > 2, "the writer looks again and again");
    assert.deepEqual(socket.sent, []);
    Object.defineProperty(socket, "bufferedAmount", { value: 8192, writable: true });
    await writing;
    assert.deepEqual(socket.sent, [[1]]);
    socket.bufferedAmount = 8193;
    const late = assert.rejects(writer.write(Uint8Array.of(2)), (error) => error.code === "gone");
    socket.close();
    await late;
    assert.ok((await reader.read()).done);
    assert.deepEqual(socket.sent, [[1]]);
  });

  test("a WebSocket that does not open fails requests with the reason", async () => {
    globalThis.WebSocket = Socket;
    const opening = assert.rejects(webSocket("ws://127.0.0.1/line")(), (error) => error.code === "gone" && /127\.0\.0\.1/.test(error.message));
    Socket.last.close();
    await opening;
  });

  test("a WebSocket is closed with each of its streams, and by its owner", async () => {
    for (const end of [({ reader }) => reader.cancel(), ({ writer }) => writer.close(), ({ writer }) => writer.abort(), ({ close }) => close()]) {
      const pair = await opened();
      await end(pair);
      assert.equal(pair.socket.readyState, 3);
    }
  });
});
