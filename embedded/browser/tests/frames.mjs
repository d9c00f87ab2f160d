// Frames of HTTP/2 as a gateway sends them.

import { encode } from "../../../Sources/BywayBrowserFiles/Site/byway-hpack.js";

export const [DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION] = Array(10).keys();
export const NAMES = ["DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE", "CONTINUATION"];
export const [END_STREAM, END_HEADERS, PADDED, WITH_PRIORITY, ACK] = [1, 4, 8, 0x20, 1];
export const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

export const four = (value) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
export const text = (string) => [...string].map((letter) => letter.charCodeAt(0));
/** The bytes of a frame. */
export const frame = (type, flags, stream, payload = []) => [...four(payload.length).slice(1), type, flags, ...four(stream), ...payload];
/** HEADERS with fields. */
export const head = (stream, fields, flags = 0) => frame(HEADERS, END_HEADERS | flags, stream, [...encode(fields)]);
export const ok = (stream, more = [], flags = 0) => head(stream, [[":status", "200"], ...more], flags);
export const data = (stream, payload, flags = 0) => frame(DATA, flags, stream, payload);
export const settings = (...pairs) => frame(SETTINGS, 0, 0, pairs.flatMap(([name, value]) => [0, name, ...four(value)]));
export const GET = [[":method", "GET"], [":scheme", "http"], [":authority", "device"], [":path", "/"]];
