// JSON as text. It is not parsed into values, because that would change long numbers and lose members with the same name.
// No function is recursive, because the sender chooses the depth of a document.

const LITERAL = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\n\r]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
/** The maximum number of indented levels. */
const INDENTED = 20;

const skip = (pattern, text, at) => {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
};

/** The position after a string that begins there; -1 if there is none. */
function endOfString(text, from) {
  let at = from + 1;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at + 1;
    if (code === 0x5c) {
      at = skip(ESCAPE, text, at);
      if (at < 0) return -1;
    } else if (code >= 0x20) at += 1;
    else return -1;
  }
}

/** Visits the parts in order (RFC 8259 §2): brackets, commas, colons, strings and other values, as `visit(from, to)`. Returns whether the text is JSON. */
function tokens(text, visit) {
  const open = [];
  let at = skip(SPACE, text, 0);
  // The expected part: a value, a value or the end, a name, a name or the end, a colon, or the part after a value.
  let next = "value";
  while (at < text.length) {
    const character = text[at];
    let to = at + 1;
    if (next.startsWith("value") && (character === "{" || character === "[")) {
      open.push(character);
      next = character === "{" ? "name or end" : "value or end";
    } else if ((next === "after" || next.endsWith("or end")) && open.length > 0 && character === (open.at(-1) === "{" ? "}" : "]")) {
      open.pop();
      next = "after";
    } else if (next === "after" && open.length > 0 && character === ",") next = open.at(-1) === "{" ? "name" : "value";
    else if (next === "colon" && character === ":") next = "value";
    else if (next.startsWith("name") && character === '"') {
      to = endOfString(text, at);
      next = "colon";
    } else if (next.startsWith("value")) {
      to = character === '"' ? endOfString(text, at) : skip(LITERAL, text, at);
      next = "after";
    } else return false;
    if (to < 0) return false;
    visit(at, to, open.length);
    at = skip(SPACE, text, to);
  }
  return next === "after" && open.length === 0;
}

/** Lays JSON out in lines, with each value as written; `undefined` if it is not JSON. */
export function layOut(text) {
  const out = [];
  let last = "";
  const line = (depth) => out.push("\n", "  ".repeat(Math.min(depth, INDENTED)));
  const isJSON = tokens(text, (from, to, depth) => {
    const token = text.slice(from, to);
    const closes = token === "}" || token === "]";
    const empty = last === "{" || last === "[";
    if (closes ? !empty : empty) line(depth - (token === "{" || token === "[" ? 1 : 0));
    else if (last === ",") line(depth - (token === "{" || token === "[" ? 1 : 0));
    out.push(token === ":" ? ": " : token);
    last = token;
  });
  return isJSON ? out.join("") : undefined;
}

/** A value: `{kind: "object" | "array" | "string" | "number" | "boolean" | "null", text, entries: [[name, value]]}`; names are decoded,
    what is no object or array is as it was written. `undefined` where it is not JSON. */
export function parse(text) {
  const root = { entries: [] };
  const path = [root];
  let name;
  let wantsName = false;
  const isJSON = tokens(text, (from, to) => {
    const character = text[from];
    const inside = path.at(-1);
    if (character === "," || character === ":") {
      wantsName = character === "," && inside.kind === "object";
    } else if (character === "}" || character === "]") {
      path.pop();
      wantsName = false;
    } else if (wantsName) {
      name = JSON.parse(text.slice(from, to));
    } else {
      const value = { kind: kindOf(character), text: "" };
      inside.entries.push([inside.kind === "object" ? name : inside.entries.length, value]);
      if (character === "{" || character === "[") {
        value.entries = [];
        path.push(value);
        wantsName = character === "{";
      } else value.text = text.slice(from, to);
    }
  });
  return isJSON ? root.entries[0][1] : undefined;
}

function kindOf(character) {
  return { "{": "object", "[": "array", '"': "string", t: "boolean", f: "boolean", n: "null" }[character] ?? "number";
}
