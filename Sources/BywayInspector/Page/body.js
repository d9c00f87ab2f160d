// A view of a body as a tree, text, bytes or an image, with search.

import { h, replace, setText } from "./dom.js";
import { bytes as size, count, line, plain, word } from "./format.js";
import { layOut, parse } from "./json.js";
import { isChanged } from "./secrets.js";

const EXPANDED = 16 * 1024 * 1024;
const TEXT_STEP = 200_000;
const HEX_STEP = 8 * 1024;
const TREE_STEP = 200;
const JSON_LIMIT = 4 * 1024 * 1024;

const CODINGS = { gzip: "gzip", "x-gzip": "gzip", deflate: "deflate", br: "brotli", zstd: "zstd" };

const IMAGES = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]], ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]], ["image/webp", [0x52, 0x49, 0x46, 0x46, -1, -1, -1, -1, 0x57, 0x45, 0x42, 0x50]],
];

/** The image type by the first bytes, regardless of the fields: other types could be documents. */
export function imageType(bytes) {
  return IMAGES.find(([, start]) => bytes.length >= start.length && start.every((byte, at) => byte === -1 || bytes[at] === byte))?.[0];
}

/** Content codings that the browser supports. A small body that would grow without limit is cut. */
export async function decoded(bytes, coding) {
  const format = word(CODINGS, coding?.toLowerCase());
  if (format === undefined) return { bytes, undone: false };
  const parts = [];
  let total = 0;
  let cut = false;
  try {
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      total += value.length;
      if (total > EXPANDED) {
        cut = true;
        reader.cancel();
        break;
      }
    }
  } catch {
    cut = true;
    if (total === 0) return { bytes, undone: false };
  }
  const whole = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return { bytes: whole, undone: true, cut };
}

/** The charset of a `Content-Type` (RFC 9110 §8.3.1). */
export function charsetOf(fields) {
  const type = fields?.find((field) => field.name.toLowerCase() === "content-type")?.value ?? "";
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(type)?.[1];
}

/** `{text, isText, charset, isUnknown}`: a byte order mark overrides the field (Encoding Standard §6), and UTF-8 is the default. */
export function textOf(bytes, charset) {
  const marked = bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : undefined;
  let decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let isUnknown = false;
  try { decoder = new TextDecoder(marked ?? charset ?? "utf-8", { ignoreBOM: marked === undefined }); } catch { isUnknown = true; }
  const text = decoder.decode(bytes);
  const sample = text.slice(0, 4096);
  const odd = [...sample].filter((c) => c === "\ufffd" || (c < " " && c !== "\n" && c !== "\r" && c !== "\t")).length;
  return {
    text: text.replace(/\r\n?/g, "\n"), isText: odd <= sample.length * 0.05,
    charset: decoder.encoding === "utf-8" ? undefined : decoder.encoding, isUnknown,
  };
}

/** `facts`: the API's `{kept, whole, coding}`, with the `charset` if it is known; `load` fetches the bytes. */
export class BodyView {
  constructor({ title, facts, total, load }) {
    this.title = title;
    this.element = h("section", { class: "body", "aria-label": title });
    this.facts = facts;
    if (!facts) {
      replace(
        this.element, h("h3", { text: title }),
        h("p", { class: "quiet", text: total > 0 ? `${size(total)}, not kept.` : "No body." }),
      );
      return;
    }
    this.note = h("p", { class: "quiet" });
    this.tools = h("div", { class: "tools" });
    this.content = h("div", { class: "content" });
    replace(this.element, h("h3", { text: title }), this.tools, this.note, this.content);
    setText(this.note, "Loading …");
    load().then((raw) => this.arrived(raw)).catch((error) => setText(this.note, error.message));
  }

  async arrived(raw) {
    this.raw = raw;
    const { bytes, undone, cut } = await decoded(raw, this.facts.coding);
    this.bytes = bytes;
    if (raw.length === 0) return setText(this.note, `${size(this.facts.kept)} with secrets, not shown.`);
    const { text, isText, charset, isUnknown } = textOf(bytes, this.facts.charset);
    this.text = text;
    const notes = [size(raw.length) + (undone ? ` in ${this.facts.coding}, ${size(bytes.length)} without` : "")];
    if (this.facts.coding && !undone) notes.push(`in ${plain(this.facts.coding, 40)}, which this browser cannot decode`);
    if (charset && isText) notes.push(`text in ${charset}`);
    if (isUnknown) notes.push(`declared as ${line(this.facts.charset, 40)}, which this browser does not support`);
    if (!this.facts.whole) notes.push(this.facts.dropped ? "only its latest messages were kept" : "only its beginning was kept");
    else if (isChanged(this.facts, raw)) notes.push("secrets in it were redacted");
    if (cut) notes.push("cut short");
    this.notes = notes;
    if (isText && /^\s*[[{]/.test(text) && bytes.length <= JSON_LIMIT) this.json = parse(text);
    this.image = imageType(bytes);
    const modes = [this.json && "Tree", "Text", "Hex", this.image && "Image"].filter(Boolean);
    this.buttons = modes.map((mode) => h(
      "button", { type: "button", "aria-pressed": "false", onclick: () => this.show(mode), text: mode },
    ));
    this.found = h("span", { class: "found", "aria-live": "polite" });
    this.search = h("input", {
      type: "search", placeholder: "Search in it", "aria-label": `Search in: ${this.title}`, oninput: () => this.seek(true),
      onkeydown: (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        this.seek(false, event.shiftKey ? -1 : 1);
      },
    });
    replace(this.tools, h(
      "div", { class: "segments", role: "group", "aria-label": "Show as" }, this.buttons,
    ), this.search, this.found,
      h("button", { type: "button", class: "quiet", onclick: () => this.save(), text: "Save" }));
    this.show(this.image ? "Hex" : modes[0] === "Tree" ? "Tree" : isText ? "Text" : "Hex");
  }

  show(mode) {
    this.mode = mode;
    for (const button of this.buttons) button.setAttribute("aria-pressed", String(button.textContent === mode));
    this.release();
    // JSON in one line is laid out in lines; JSON with line breaks is left unchanged.
    const isLaidOut = mode === "Text" && this.json && !this.text.trim().includes("\n");
    setText(this.note, `${[...this.notes, isLaidOut && "received in one line"].filter(Boolean).join("; ")}.`);
    if (mode === "Tree") replace(this.content, h("div", { class: "tree" }, branch(undefined, this.json, 0)));
    else if (mode === "Text") this.showText(isLaidOut ? layOut(this.text) : this.text);
    else if (mode === "Hex") this.showHex(HEX_STEP);
    else this.showImage();
    if (this.search.value && mode !== "Image" && mode !== "Tree") this.seek(true);
  }

  showText(text) {
    this.shownText = text;
    this.shownTo = 0;
    this.pre = h("pre", { tabindex: 0, "aria-label": `${this.title} as text` });
    this.more = h("button", { type: "button", onclick: () => this.extend(this.shownTo + TEXT_STEP) });
    replace(this.content, this.pre, this.more);
    this.extend(TEXT_STEP);
  }

  extend(to) {
    this.shownTo = Math.min(this.shownText.length, to);
    // One text node, because matches are marked by their offset in it.
    this.pre.replaceChildren(plain(this.shownText.slice(0, this.shownTo), Infinity));
    // Browsers search for the end of a word from each of its letters; very long words may be broken anywhere.
    this.pre.classList.toggle("unbroken", /\S{4000}/.test(this.pre.textContent));
    this.more.hidden = this.shownTo >= this.shownText.length;
    setText(this.more, `Show more: ${count(this.shownText.length - this.shownTo, "character")} left`);
  }

  showHex(to) {
    const bytes = this.bytes.subarray(0, to);
    const lines = [];
    for (let at = 0; at < bytes.length; at += 16) {
      const row = [...bytes.subarray(at, at + 16)];
      const hex = row.map((byte, index) => (index === 8 ? " " : "") + byte.toString(16).padStart(2, "0")).join(" ");
      const text = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·")).join("");
      lines.push(`${at.toString(16).padStart(6, "0")}  ${hex.padEnd(49)} ${text}`);
    }
    this.hexTo = bytes.length;
    this.pre = h("pre", { class: "hex", tabindex: 0, "aria-label": `${this.title} as bytes` }, lines.join("\n"));
    const left = this.bytes.length - bytes.length;
    replace(this.content, this.pre,
      left > 0 && h("button", { type: "button", onclick: () => this.showHex(to * 4), text: `Show more: ${size(left)} left` }));
  }

  showImage() {
    this.url = URL.createObjectURL(new Blob([this.bytes], { type: this.image }));
    const image = h("img", { alt: `${this.title}, ${this.image}`, src: this.url, onload: () => setText(
      caption, `${image.naturalWidth} × ${image.naturalHeight}, ${this.image}`,
    ),
      onerror: () => setText(caption, "The browser cannot display it.") });
    const caption = h("figcaption", { class: "quiet" });
    replace(this.content, h("figure", {}, image, caption));
  }

  /** Finds text, or bytes in the hex view (`0x0d0a`), and marks the matches without changing the document. */
  seek(fresh, step = 1) {
    globalThis.CSS?.highlights?.delete("found");
    const wanted = this.search.value;
    if (wanted === "") return setText(this.found, "");
    if (this.mode === "Tree" || this.mode === "Image") this.show("Text");
    if (this.mode === "Hex") return this.seekBytes(wanted, fresh, step);
    const text = this.shownText.toLowerCase();
    const needle = wanted.toLowerCase();
    const places = [];
    for (let at = text.indexOf(needle); at >= 0 && places.length < 10_000; at = text.indexOf(needle, at + needle.length)) places.push(at);
    if (places.length === 0) return setText(this.found, "Not found");
    this.at = fresh ? 0 : (this.at + step + places.length) % places.length;
    const place = places[this.at];
    if (place + needle.length > this.shownTo) this.extend(place + TEXT_STEP);
    setText(this.found, `${this.at + 1} of ${count(places.length, "match", "matches")}`);
    this.mark(
      this.pre.firstChild, plain(this.shownText.slice(0, place), Infinity).length,
      plain(this.shownText.slice(place, place + needle.length), Infinity).length,
    );
  }

  seekBytes(wanted, fresh, step) {
    const hex = /^0x((?:[0-9a-f]{2})+)$/i.exec(wanted.replaceAll(" ", ""));
    const needle = hex ? Uint8Array.from(hex[1].match(/../g), (pair) => parseInt(pair, 16)) : new TextEncoder().encode(wanted);
    const places = [];
    for (let at = this.bytes.indexOf(needle[0]); at >= 0 && places.length < 10_000; at = this.bytes.indexOf(needle[0], at + 1)) {
      if (needle.every((byte, index) => this.bytes[at + index] === byte)) places.push(at);
    }
    if (places.length === 0) return setText(this.found, "Not found");
    this.at = fresh ? 0 : (this.at + step + places.length) % places.length;
    const place = places[this.at];
    if (place + 16 > this.hexTo) this.showHex(Math.min(this.bytes.length, place + HEX_STEP));
    setText(this.found, `${this.at + 1} of ${count(places.length, "match", "matches")}, at 0x${place.toString(16)}`);
    const column = place % 16;
    const first = this.pre.textContent.indexOf("\n") + 1 || this.pre.textContent.length + 1;
    const start = Math.floor(place / 16) * first;
    this.mark(this.pre.firstChild, start + 58 + column, Math.min(needle.length, 16 - column));
  }

  mark(node, start, length) {
    if (!node || !globalThis.Highlight) return;
    const range = new Range();
    range.setStart(node, Math.min(start, node.length));
    range.setEnd(node, Math.min(start + length, node.length));
    CSS.highlights.set("found", new Highlight(range));
    const box = range.getBoundingClientRect();
    const frame = this.pre.getBoundingClientRect();
    this.pre.scrollTop += box.top - frame.top - frame.height / 3;
    this.pre.scrollLeft += Math.max(0, box.right - frame.right + 40) + Math.min(0, box.left - frame.left - 40);
    if (frame.top < 0 || frame.bottom > innerHeight) this.pre.scrollIntoView({ block: "nearest" });
  }

  save() {
    download(
      new Blob([this.bytes], { type: "application/octet-stream" }), `${this.title.toLowerCase().replaceAll(/\W+/g, "-")}.bin`,
    );
  }

  release() {
    if (this.url) URL.revokeObjectURL(this.url);
    this.url = undefined;
    globalThis.CSS?.highlights?.delete("found");
  }
}

/** A member of a JSON document; its content is built when it is opened. */
function branch(key, { kind, text, entries }, depth) {
  const label = key === undefined ? [] : [h("span", { class: "key", text: plain(String(key), 200) }), ": "];
  if (entries === undefined) {
    const shown = kind === "string" ? JSON.stringify(plain(JSON.parse(text), 20_000)) : plain(text, 1000);
    return h("div", { class: "leaf" }, label, h("span", { class: `v-${kind}`, text: shown }));
  }
  const summary = kind === "array" ? `[${count(entries.length, "item")}]` : `{${count(entries.length, "member")}}`;
  const inside = h("div", { class: "inside" });
  const details = h("details", {}, h("summary", {}, label, h("span", { class: "quiet", text: summary })), inside);
  const fill = (from) => {
    for (const [name, item] of entries.slice(from, from + TREE_STEP)) inside.append(branch(name, item, depth + 1));
    if (entries.length > from + TREE_STEP) {
      const more = h(
        "button",
        {
          type: "button", text: `Show more: ${entries.length - from - TREE_STEP} left`,
          onclick: () => { more.remove(); fill(from + TREE_STEP); },
        },
      );
      inside.append(more);
    }
  };
  details.addEventListener("toggle", () => { if (details.open && !inside.hasChildNodes()) fill(0); });
  if (depth < 2 && entries.length <= 50) {
    fill(0);
    details.open = true;
  }
  return details;
}

export function download(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
