// Functions for connect that open a line.

import { BywayError } from "./byway-error.js";

/** Opens the first candidate that can be opened. */
async function firstOf(candidates, open) {
  let failure;
  for (const candidate of candidates) {
    try {
      return await open(candidate);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/**
 * Returns a function for connect that opens a port of Web Serial, and opens it again when the device is back.
 * @param options those of SerialPort.open, at least baudRate
 */
export function serialPort(port, options) {
  let current = port;
  return async () => {
    const { usbVendorId, usbProductId } = port.getInfo?.() ?? {};
    const alike = (other) => other.getInfo?.().usbVendorId === usbVendorId && other.getInfo?.().usbProductId === usbProductId;
    const others = (await navigator.serial.getPorts()).filter((other) => other !== current && alike(other));
    return firstOf([current, ...others], async (candidate) => {
      if (candidate.readable || candidate.writable) await candidate.close();
      await candidate.open({ bufferSize: 4096, ...options });
      return (current = candidate);
    });
  };
}

/** Returns a function for connect that opens a WebSocket whose binary messages are the bytes of the line. */
export function webSocket(url) {
  return () =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(url);
      socket.binaryType = "arraybuffer";
      let controller;
      const readable = new ReadableStream({ start: (given) => (controller = given), cancel: () => socket.close() });
      const writable = new WritableStream({
        async write(bytes) {
          while (socket.bufferedAmount > 8192 && socket.readyState === 1) await new Promise((wake) => setTimeout(wake, 10));
          if (socket.readyState !== 1) throw new BywayError("gone", "The WebSocket was closed.");
          socket.send(bytes);
        },
        close: () => socket.close(),
        abort: () => socket.close(),
      });
      socket.onmessage = ({ data }) => {
        if (data instanceof ArrayBuffer) controller.enqueue(new Uint8Array(data));
      };
      socket.onopen = () => resolve({ readable, writable, close: async () => socket.close() });
      socket.onclose = () => {
        reject(new BywayError("gone", `The WebSocket ${url} was closed.`));
        try {
          controller.close();
        } catch {}
      };
    });
}
