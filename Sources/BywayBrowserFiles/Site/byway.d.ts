// Types of byway.js: docs/browser.md.

/** A pair of streams that carries the bytes of a line, for example a SerialPort. */
export interface ByteStreams {
  readonly readable: ReadableStream<Uint8Array> | null;
  readonly writable: WritableStream<Uint8Array> | null;
  close?(): Promise<void>;
}

/** Opens the line. It is called again when the streams have ended, until it succeeds. */
export type Opener = (signal: AbortSignal) => Promise<ByteStreams>;

export interface Status {
  readonly line: "up" | "down" | "closed";
  readonly session: "none" | "opening" | "open";
  /** Requests that run or wait. */
  readonly queue: number;
  /** Bytes on the line since the beginning. */
  readonly received: number;
  readonly sent: number;
}

/** Times are in milliseconds. */
export interface Options {
  /** The URL of the device, which relative URLs refer to: http://device/ by default. Its host is sent as Host. */
  base?: string;
  /** "2" for a gateway of Byway, which then takes several requests at once; "1.1", the default, for firmware. */
  http?: "1.1" | "2";
  /** The line's rate in bits per second if frames shall be paced by it, or 0, the default, if the streams do that. */
  baudRate?: number;
  /** How many requests may wait: 32 by default. */
  queue?: number;
  /** How long a request may wait for others if the device takes no more at once: 60,000 by default. */
  queueTimeout?: number;
  /** How long the device may send no head of a response, after the last part of the request: 60,000 by default. */
  responseTimeout?: number;
  /** How long a body of known length may pause: 300,000 by default. */
  bodyTimeout?: number;
  /** Called when the line, the session or the queue has changed. */
  onstatus?: (status: Status) => void;
}

export interface Device {
  readonly status: Status;
  /** Like the browser's fetch, but to the device. It can be passed around as a function. */
  fetch(input: string | URL | Request, init?: RequestInit & { duplex?: "half" }): Promise<Response>;
  /** Ends all requests and releases the streams. */
  close(): Promise<void>;
}

export type ErrorCode =
  | "busy" | "closed" | "gone" | "internal" | "limit" | "option" | "protocol" | "redirect" | "reset" | "silent" | "streams" | "timeout"
  | "url" | "version";

export class BywayError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: ErrorOptions);
}

export function connect(streams: ByteStreams | Opener, options?: Options): Promise<Device>;

/** Opens a port of Web Serial, and opens it again when the device is back. The options are those of SerialPort.open. */
export function serialPort(port: object, options: { baudRate: number; bufferSize?: number; [name: string]: unknown }): Opener;

/**
 * Opens a device of WebUSB: a serial adapter of the class CDC-ACM, or the bulk endpoints of a vendor's class. Opens it again when it is back.
 * The rate of the adapter is 115,200 by default.
 */
export function usbPort(device: object, options?: { baudRate?: number }): Opener;

/** Opens a WebSocket whose binary messages are the bytes of the line. */
export function webSocket(url: string | URL): Opener;
