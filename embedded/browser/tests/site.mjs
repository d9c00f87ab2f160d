// A site with the files of this folder, and a WebSocket server whose connections are the end of a line.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css" };

/** The stand-in for Web Serial in the page: ports are WebSockets. */
export const STAND_IN = (port) => `if (window === top) {
  class Port {
    readable = null;
    writable = null;
    getInfo() { return { usbVendorId: 1, usbProductId: 2 }; }
    async open() {
      const socket = new WebSocket("ws://127.0.0.1:${port}/line");
      socket.binaryType = "arraybuffer";
      let controller;
      this.readable = new ReadableStream({ start: (given) => (controller = given) });
      this.writable = new WritableStream({ write: (bytes) => socket.send(bytes) });
      await new Promise((resolve, reject) => {
        socket.onopen = resolve;
        socket.onclose = () => reject(new DOMException("no device", "NetworkError"));
      });
      this.socket = socket;
      socket.onmessage = ({ data }) => controller.enqueue(new Uint8Array(data));
      socket.onclose = () => {
        controller.error(new DOMException("The device has been lost.", "NetworkError"));
        this.readable = this.writable = null;
      };
    }
    async close() {
      this.readable = this.writable = null;
      this.socket.onclose = null;
      this.socket.close();
    }
  }
  const port = new Port();
  Object.defineProperty(navigator, "serial", { value: { requestPort: async () => port, getPorts: async () => [port] } });
}`;

/**
 * Serves the files at localhost and 127.0.0.1.
 * @param open opens the line as a pair of streams
 * @param isolated whether the device's pages get the origin at localhost, and the page that at 127.0.0.1
 */
export async function site(folder, open, isolated) {
  const server = createServer((request, response) => {
    const name = request.url === "/" ? "index.html" : request.url.slice(1);
    const type = TYPES[name.split(".").pop()];
    let text;
    try {
      text = readFileSync(join(folder, /^[a-z0-9-]+\.[a-z]+$/.test(name) ? name : "none"), "utf8");
    } catch {
      response.writeHead(404).end("not on this site");
      return;
    }
    if (isolated) {
      text = text.replace('name="byway-device" content=""', `name="byway-device" content="http://localhost:${server.address().port}"`)
        .replace("frame-src 'self'", `frame-src 'self' http://localhost:${server.address().port}`);
      text = text.replace('name="byway-page" content=""', `name="byway-page" content="http://127.0.0.1:${server.address().port}"`);
    }
    // The stand-in's socket.
    if (name === "index.html") text = text.replace("default-src 'none'", "default-src 'none'; connect-src ws://127.0.0.1:*");
    response.writeHead(200, { "content-type": type }).end(text);
  });
  const sockets = new Set();
  server.on("upgrade", async (request, socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    let pair;
    try {
      pair = await open();
    } catch {
      socket.end("HTTP/1.1 503 No device\r\n\r\n");
      return;
    }
    const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    const writer = pair.writable.getWriter();
    writer.closed.catch(() => socket.destroy());
    let rest = Buffer.alloc(0);
    socket.on("data", (data) => {
      rest = Buffer.concat([rest, data]);
      for (let message; (message = frameIn(rest)); rest = rest.subarray(message.size)) {
        if (message.code === 8) socket.destroy();
        else if (message.code === 2) writer.write(message.bytes).catch(() => {});
      }
    });
    socket.on("close", () => {
      writer.abort().catch(() => {});
      pair.close();
    });
    try {
      for await (const bytes of pair.readable) {
        const size = bytes.length;
        socket.write(Buffer.from(size < 126 ? [0x82, size] : [0x82, 126, size >> 8, size & 255]));
        socket.write(bytes);
      }
    } catch {}
    socket.destroy();
  });
  await new Promise((resolve) => server.listen(0, resolve));
  return {
    port: server.address().port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The first frame of a client in the bytes. Frames of the line are short. */
function frameIn(bytes) {
  if (bytes.length < 6) return null;
  const short = bytes[1] & 127;
  const head = short < 126 ? 6 : 8;
  if (bytes.length < head) return null;
  const length = short < 126 ? short : bytes.readUInt16BE(2);
  if (bytes.length < head + length) return null;
  const mask = bytes.subarray(head - 4, head);
  return { code: bytes[0] & 15, size: head + length, bytes: Uint8Array.from(bytes.subarray(head, head + length), (byte, i) => byte ^ mask[i & 3]) };
}
