// Filtering and sorting of exchanges.

import { byId, h, replace } from "./dom.js";
import { line } from "./format.js";

export const EMPTY = { text: "", method: "", status: "", host: "", type: "", slower: undefined, running: false };

export const isEmpty = (filter) => Object.keys(EMPTY).every((key) => filter[key] === EMPTY[key] || filter[key] === "");

/** Makes a function that tells whether a record passes. All words of the text must occur; `-word` must not. */
export function passes(filter, now) {
  const words = filter.text.toLowerCase().split(/\s+/).filter((word) => word !== "" && word !== "-");
  const wanted = words.filter((word) => !word.startsWith("-"));
  const unwanted = words.filter((word) => word.startsWith("-")).map((word) => word.slice(1));
  return (entry) => {
    const x = entry.exchange;
    if (filter.running && x.state !== "running") return false;
    if (filter.method && x.method !== filter.method) return false;
    if (filter.status && !isOf(filter.status, x)) return false;
    if (filter.host && entry.host !== filter.host) return false;
    if (filter.type && entry.kind !== filter.type) return false;
    if (filter.slower !== undefined && entry.lasted(now) < filter.slower) return false;
    if (words.length === 0) return true;
    const text = entry.text;
    return wanted.every((word) => text.includes(word)) && !unwanted.some((word) => text.includes(word));
  };
}

function isOf(status, exchange) {
  if (status === "failed") return exchange.state === "failed";
  return exchange.status !== undefined && Math.floor(exchange.status / 100) === Number(status);
}

/** The usual name of a media type. */
export function kind(type) {
  if (type === undefined) return "none";
  const name = type.toLowerCase();
  if (name === "text/event-stream") return "events";
  if (name.startsWith("application/grpc")) return "grpc";
  if (/\bjson\b/.test(name)) return "json";
  if (name.includes("html")) return "html";
  if (name.includes("css")) return "css";
  if (/\b(java|ecma)script\b/.test(name)) return "script";
  if (name.startsWith("image/")) return "image";
  if (/^(audio|video)\//.test(name)) return "media";
  if (name.startsWith("font/")) return "font";
  if (/\bxml\b/.test(name)) return "xml";
  if (name.startsWith("text/")) return "text";
  return "other";
}

const ORDERS = {
  begun: (s) => s.id,
  method: (s) => s.exchange.method ?? "",
  path: (s) => s.host + (s.exchange.path ?? ""),
  status: (s) => (s.exchange.state === "failed" ? 1000 : s.exchange.status ?? 0),
  type: (s) => s.exchange.type ?? "",
  size: (s) => (s.exchange.responseBytes ?? 0) + (s.exchange.requestBytes ?? 0),
  time: (s, now) => s.lasted(now),
};

/** Sorts in place; equal exchanges stay in the order in which they began. */
export function sort(entries, { by, descending }, now) {
  const value = ORDERS[by];
  const keyed = entries.map((entry) => [value(entry, now), entry]);
  keyed.sort(([a, first], [b, second]) => {
    const order = a < b ? -1 : a > b ? 1 : 0;
    return (descending ? -order : order) || first.id - second.id;
  });
  return keyed.map(([, entry]) => entry);
}

/** The choices of a filter: the values that occur, most frequent first. */
export function choices(entries) {
  const methods = new Map();
  const hosts = new Map();
  const types = new Map();
  const add = (map, key) => { if (key) map.set(key, (map.get(key) ?? 0) + 1); };
  for (const entry of entries) {
    add(methods, entry.exchange.method);
    add(hosts, entry.host);
    if (entry.exchange.type !== undefined) add(types, entry.kind);
  }
  const top = (map) => [...map].sort((a, b) => b[1] - a[1]).slice(0, 100).map(([key]) => key);
  return { methods: top(methods), hosts: top(hosts), types: top(types) };
}

/** Writes the choices of the form. Returns the number of hosts. */
export function showChoices(entries) {
  const { methods, hosts, types } = choices(entries);
  choose("f-method", "Any method", methods);
  choose("f-host", "Any host", hosts);
  choose("f-type", "Any type", types);
  return hosts.length;
}

function choose(id, any, values) {
  const select = byId(id);
  const chosen = select.value;
  const all = chosen && !values.includes(chosen) ? [chosen, ...values] : values;
  const key = JSON.stringify(all);
  if (select.dataset.key === key) return;
  select.dataset.key = key;
  replace(select, h("option", { value: "", text: any }), all.map((value) => h("option", { value, text: line(value, 60) })));
  select.value = chosen;
}
