// Formatting of numbers, times and foreign text.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count) {
  let unit = 0;
  let value = count;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

export const rate = (perSecond) => `${bytes(perSecond)}/s`;

export function duration(ms) {
  if (ms < 0) return "0 ms";
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9_995 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

// Made once: making it costs a hundred times as much as using it.
const NUMBER = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });

export const number = (value) => NUMBER.format(value);

export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

export function clock(ms, fractions = true) {
  const time = new Date(ms);
  if (Number.isNaN(time.getTime())) return "?";
  const two = (n) => String(n).padStart(2, "0");
  const text = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  return fractions ? `${text}.${String(time.getMilliseconds()).padStart(3, "0")}` : text;
}

// Control characters, and invisible marks that reverse, join or hide the text around them, except joiners between two pictures.
export const UNSEEN = new RegExp([
  "(?![\\t\\n])\\p{Cc}", "(?!\\u200d)\\p{Cf}", "\\p{Cs}", "[\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u2028\\u2029\\u3164\\uffa0]",
  "(?<![\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d", "\\u200d(?!\\p{Extended_Pictographic})",
  "(?<!\\p{Extended_Pictographic})[\\ufe00-\\ufe0f]",
].join("|"), "gu");

/** Foreign text for display: without invisible characters and marks that reverse text beside it; cut if it is too long. */
export function plain(text, limit = 4096) {
  const cut = text.length > limit ? `${text.slice(0, limit)}…` : text;
  // Most text is plain, and testing it is faster than replacing.
  if (/^[\t\n\x20-\x7e]*…?$/.test(cut)) return cut;
  return cut.replace(UNSEEN, (mark) => {
    const code = mark.codePointAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    if (code >= 0xfe00 && code <= 0xfe0f) return "";
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** The same for one line: tabs and line breaks are shown as marks too. */
export const line = (text, limit = 1024) => plain(text, limit).replace(/[\t\n]/g, (mark) => (mark === "\t" ? "␉" : "␊"));

/** Looks a foreign word up in a table, without properties that all objects have, such as `constructor`. */
export const word = (table, key) => (key !== undefined && Object.hasOwn(table, key) ? table[key] : undefined);
