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

const CDC_CONTROL = 2;
const CDC_DATA = 10;
const VENDOR = 255;
const SET_LINE_CODING = 0x20;
const SET_CONTROL_LINE_STATE = 0x22;
const MOST_STALLS = 3;

/**
 * Returns a function for connect that opens a device of WebUSB, and opens it again when it is back: a serial adapter of the class CDC-ACM, or
 * the two bulk endpoints of a vendor's class.
 * @param options baudRate of the adapter
 */
export function usbPort(device, { baudRate = 115200 } = {}) {
  let current = device;
  return async () => {
    const alike = (other) => ["vendorId", "productId", "serialNumber"].every((name) => other[name] === device[name]);
    const others = (await navigator.usb.getDevices()).filter((other) => other !== current && alike(other));
    return firstOf([current, ...others], async (candidate) => {
      const pair = await openUSB(candidate, baudRate);
      current = candidate;
      return pair;
    });
  };
}

function endpoint({ endpoints }, direction) {
  return endpoints.find((other) => other.type === "bulk" && other.direction === direction);
}

async function openUSB(device, baudRate) {
  await device.open();
  try {
    if (!device.configuration) await device.selectConfiguration(1);
    const all = device.configuration.interfaces.flatMap(({ interfaceNumber, alternates }) =>
      // Objects of the browser have no fields of their own to copy.
      alternates.map(({ interfaceClass, alternateSetting, endpoints }) => ({ interfaceNumber, interfaceClass, alternateSetting, endpoints })));
    const isData = (face) => endpoint(face, "in") && endpoint(face, "out");
    const find = (number, also = () => true) => all.find((face) => face.interfaceClass === number && also(face));
    const data = find(CDC_DATA, isData) ?? find(VENDOR, isData);
    if (!data) throw new BywayError("streams", "The USB device has no bulk endpoints of CDC-ACM or of a vendor's class. Choose another device.");
    const control = data.interfaceClass === CDC_DATA ? find(CDC_CONTROL) : undefined;
    for (const { interfaceNumber } of control ? [control, data] : [data]) await device.claimInterface(interfaceNumber);
    if (data.alternateSetting) await device.selectAlternateInterface(data.interfaceNumber, data.alternateSetting);
    const tell = async (request, value, bytes) => {
      const setup = { requestType: "class", recipient: "interface", request, value, index: control?.interfaceNumber };
      if (control) await device.controlTransferOut(setup, bytes);
    };
    // One stop bit, no parity, 8 bits.
    await tell(SET_LINE_CODING, 0, Uint8Array.of(baudRate, baudRate >> 8, baudRate >> 16, baudRate >> 24, 0, 0, 8));
    await tell(SET_CONTROL_LINE_STATE, 3);
    const close = async () => {
      // A device that was unplugged answers nothing.
      await tell(SET_CONTROL_LINE_STATE, 0).catch(() => {});
      await device.close();
    };
    return { ...usbStreams(device, endpoint(data, "in").endpointNumber, endpoint(data, "out").endpointNumber), close };
  } catch (error) {
    await device.close().catch(() => {});
    throw error;
  }
}

function usbStreams(device, input, output) {
  /** Repeats a transfer that stalls. */
  const transfer = async (direction, number, start) => {
    for (let stalls = 0; ; stalls++) {
      const result = await start();
      if (result.status === "ok") return result;
      if (result.status !== "stall" || stalls === MOST_STALLS) throw new Error(`A USB transfer ended with ${result.status}.`);
      await device.clearHalt(direction, number);
    }
  };
  const readable = new ReadableStream({
    async pull(controller) {
      for (;;) {
        const { data } = await transfer("in", input, () => device.transferIn(input, 4096));
        // A stream that gets nothing is not asked again.
        if (data.byteLength > 0) return controller.enqueue(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
      }
    },
  });
  const writable = new WritableStream({
    async write(bytes) {
      for (let left = bytes; left.length > 0; ) {
        const { bytesWritten } = await transfer("out", output, () => device.transferOut(output, left));
        if (bytesWritten === 0) throw new Error("The USB device takes no bytes.");
        left = left.subarray(bytesWritten);
      }
    },
  });
  return { readable, writable };
}
