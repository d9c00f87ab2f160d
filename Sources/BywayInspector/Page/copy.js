// An exchange as a command or as code. Foreign text is quoted so that it always stays one argument.

import { word } from "./format.js";
import { CODING, isChanged, isRedacted, isRestored, REDACTED } from "./secrets.js";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Fields of the connection (RFC 9110 §7.6.1), of each hop, and fields that the sending program sets itself. */
export const OWN = new Set([
  "host", "content-length", "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "via",
  "http2-settings", "expect",
]);
const EMBEDDED = 48 * 1024;
// Characters that are invisible or control the terminal are written as bytes. Line breaks and tabs can stay in a command.
const SPECIAL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb]/;

const octal = (byte) => `\\${byte.toString(8).padStart(3, "0")}`;

/** Quotes one word for a POSIX shell. NUL cannot be in an argument and is lost; everything else is preserved. */
export function shellWord(text) {
  if (/^[A-Za-z0-9_\-./:=@%+,]+$/.test(text) && !text.startsWith("=") && !text.startsWith("~")) return text;
  if (!SPECIAL.test(text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, ""))) return `'${text.replaceAll("'", "'\\''")}'`;
  // A command substitution removes line breaks at its end.
  const [, most, ends] = /^(.*?)(\n*)$/s.exec(text);
  return `"$(printf ${printfWord(new TextEncoder().encode(most))})"${ends && `'${ends}'`}`;
}

/** Quotes text with redacted secrets: the shell requires a variable for each, and does not run the command without it. */
class ShellWords {
  constructor() { this.secrets = 0; }

  of(text) {
    const [first, ...rest] = text.split(REDACTED);
    const word = (part) => (part === "" ? "" : shellWord(part));
    return rest.reduce((all, part) => `${all}"\${SECRET${this.secrets += 1}:?was redacted}"${word(part)}`, rest.length ? word(first) : shellWord(first));
  }
}

/** Any bytes as the single argument of printf, which all shells have. */
export function printfWord(bytes) {
  let out = "";
  for (const byte of bytes) {
    // A leading minus would be read as an option.
    const plain = (byte !== 0x2d || out !== "") && byte >= 0x20 && byte < 0x7f && ![0x21, 0x25, 0x27, 0x5c].includes(byte);
    out += byte === 0x25 ? "%%" : plain ? String.fromCharCode(byte) : octal(byte);
  }
  return `'${out}'`;
}

/** A Swift literal. A redacted secret becomes a placeholder, which does not compile. */
export function swiftString(text) {
  return `"${text.split(REDACTED).map(swiftText).join("\\(<#what was redacted#>)")}"`;
}

function swiftText(text) {
  let out = "";
  for (const character of text) {
    const code = character.codePointAt(0);
    if (character === "\\" || character === '"') out += `\\${character}`;
    else if (character === "\n") out += "\\n";
    else if (character === "\t") out += "\\t";
    else if (code >= 0xd800 && code <= 0xdfff) out += "\\u{FFFD}";
    else if (SPECIAL.test(character)) out += `\\u{${code.toString(16).toUpperCase()}}`;
    else out += character;
  }
  return out;
}

/** Whether the body is too long for a command, so that it is read from `body.bin`. */
export const needsFile = (want) => want.body?.length > EMBEDDED;

/** The request to send: `{method, url, fields: [[name, value]], body, missing}`; `missing` says what is not kept or cannot be sent,
    `hidden` which fields are secret, `redacted` where a secret is to be put in, `secrets` what others should not see. */
export function wanted(detail, body, link) {
  const missing = [];
  const hidden = [];
  const secrets = [];
  const redacted = [];
  const fields = [];
  const asked = detail.requestFields ?? [];
  const own = new Set([...OWN, ...named(asked, "connection"), ...(isRestored(detail.requestBody, asked) ? [CODING] : [])]);
  for (const field of asked) {
    const name = field.name.toLowerCase();
    if (field.mark === "added" || own.has(name) || !TOKEN.test(name)) continue;
    const value = field.mark === "changed" ? field.was ?? field.value : field.value;
    if (value === undefined) hidden.push(name.replace(/(?<![^-])[a-z]/g, (letter) => letter.toUpperCase()));
    else if (/[\u0000\r\n]/.test(value)) missing.push(name);
    else {
      fields.push([name, value]);
      if (field.secret) secrets.push(name);
      else if (isRedacted(value)) redacted.push(name);
    }
  }
  const facts = detail.requestBody;
  if (facts && !(body?.length > 0)) missing.push("the body, which has secrets in it");
  else if (facts && isChanged(facts, body)) redacted.push("the body");
  if (facts && !facts.whole) missing.push("the rest of the body");
  else if (!facts && detail.requestBytes > 0) missing.push("the body");
  const method = TOKEN.test(detail.method ?? "") ? detail.method : "GET";
  if (method === "HEAD" && body?.length > 0) {
    missing.push("the body, which no program sends with HEAD");
    body = undefined;
  }
  const url = `${detail.scheme ?? "http"}://${detail.authority ?? detail.device ?? "device"}${detail.path ?? "/"}`;
  if (isRedacted(url)) redacted.unshift("the path");
  return {
    method, version: detail.version, url: cleanURL(url), fields, body: body?.length ? body : undefined, missing, hidden, redacted, secrets, listener: detail.listener,
    link: link?.upstream ?? link?.address, isProxied: link?.upstream !== undefined,
  };
}

/** The members of a list in a field, in lower case. */
function named(fields, name) {
  return fields.filter((field) => field.name.toLowerCase() === name)
    .flatMap((field) => (field.value ?? "").toLowerCase().split(",")).map((member) => member.trim());
}

/** Percent-encodes white space and control characters, which a URL cannot have. */
function cleanURL(url) {
  return url.replace(/[\u0000-\u0020\u007f-\u009f"<>\\^`{|}]|[^\u0000-\u00ff]/gu, (mark) =>
    [...new TextEncoder().encode(mark)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""));
}

/** The body as text, if a shell can take it as an argument. */
function asArgument(body) {
  if (body === undefined || body.length > EMBEDDED) return undefined;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    return text.includes("\u0000") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** A command that takes the body as an argument, from a file, or from a pipe. */
function withBody(want, command, words, plain, piped) {
  if (want.body === undefined) return command.join(" \\\n  ");
  const text = asArgument(want.body);
  const fits = text !== undefined && (isRedacted(text) || !SPECIAL.test(text) && !(plain === "-d" && text.startsWith("@")));
  if (fits) return [...command, `${plain} ${words.of(text)}`].join(" \\\n  ");
  if (want.body.length > EMBEDDED) return [...command, `${piped} @body.bin`].join(" \\\n  ");
  return `printf ${printfWord(want.body)} |\n  ${[...command, `${piped} @-`].join(" \\\n  ")}`;
}

/** The network address of a listener as `{kind, host, here, port}`, where `here` is an address that a client can use; else `undefined`. */
function addressOf(listener) {
  const [, kind, host, port] = /^(?:(tcp|tls):\/\/)?([^/?#]*?)(?::(\d+))?(?:[/?#].*)?$/.exec(listener) ?? [];
  if (port === undefined) return undefined;
  return { kind, host, here: { "0.0.0.0": "127.0.0.1", "[::]": "[::1]" }[host] ?? host, port };
}

/** Whether a URL names the machine of the listener or this one, and not a server beyond the proxy. */
const isNear = (to, at) => to.host === at.host || /^(.+\.)?localhost$|^127\.|^\[::1\]$/.test(to.host ?? "");

/** The options for the way that the request came: to the proxy's own address, or to another server through it (RFC 9112 §3.2.2). */
function wayTo(want) {
  if (want.listener === undefined) return [];
  if (want.listener.startsWith("unix:")) return [`--unix-socket ${shellWord(want.listener.slice(5).split("?")[0])}`];
  const at = addressOf(want.listener);
  // Requests that the inspector has sent itself have no listener.
  if (at === undefined) return ['--proxy "${PROXY:?is the address of the proxy}"'];
  const to = hostOf(want.url);
  if (isNear(to, at) && to.port === at.port && to.secure === (at.kind === "tls")) return [];
  return [`--proxy ${shellWord(`${at.kind === "tls" ? "https" : "http"}://${at.here}:${at.port}`)}`];
}

/** The link for `byway request` as a shell word. Where a proxy has received the request, it is the proxy's own address: the proxy holds the
    line. The options there are those of the listening end, of which a client needs only the HTTP version. */
function linkTo(want) {
  const { listener } = want;
  if (listener === undefined) return want.link && shellWord(want.link);
  const version = /[?&](http=[^&]*)/.exec(listener)?.[1];
  const place = (text) => shellWord(version ? `${text}?${version}` : text);
  if (listener.startsWith("unix:")) return place(listener.split("?")[0]);
  if (listener === "inspector") return '"${PROXY:?is the address of the proxy, such as tcp://127.0.0.1:8080}"';
  const at = addressOf(listener);
  if (at === undefined) return shellWord(listener);
  if (want.isProxied && !isNear(hostOf(want.url), at)) {
    throw new Error("byway request reaches only the devices of the proxy, not other hosts through it: copy it as curl.");
  }
  return place(`${at.kind ?? "tcp"}://${at.here}:${at.port}`);
}

export function curl(want) {
  const words = new ShellWords();
  const way = wayTo(want);
  const command = ["curl --globoff --path-as-is", ...way];
  // A client that used HTTP/2 without TLS knew that it could; a gateway's links accept only that.
  if (want.version === "2" && want.url.startsWith("http:") && !way.some((word) => word.startsWith("--proxy"))) {
    command.push("--http2-prior-knowledge");
  }
  if (want.method === "HEAD") command.push("--head");
  else if (want.method !== (want.body ? "POST" : "GET")) command.push(`--request ${shellWord(want.method)}`);
  for (const [name, value] of want.fields) {
    if (name === "accept-encoding") command.push("--compressed");
    else command.push(`--header ${words.of(value === "" ? `${name};` : `${name}: ${value}`)}`);
  }
  if (want.body && !want.fields.some(([name]) => name === "content-type")) command.push("--header content-type:");
  command.push(words.of(want.url));
  return withBody(want, command, words, "--data-raw", "--data-binary");
}

// Fields that a form cannot send: an empty field, and fields for the proxy only (RFC 9110 §11.7.2).
const UNSENT = { curl: () => false, byway: (name, value) => name === "proxy-authorization" || value === "", swift: (name) => name === "proxy-authorization" };

/** The parts that a copy in this form lacks. */
export const lacking = (form, want) => [...want.missing, ...want.fields.filter((field) => UNSENT[form](...field)).map(([name]) => name)];

export function byway(want) {
  const words = new ShellWords();
  const command = ["byway request"];
  const link = linkTo(want);
  if (link) command.push(`--link ${link}`);
  if (want.method === "HEAD") command.push("-I");
  else if (want.method !== (want.body ? "POST" : "GET")) command.push(`--request=${shellWord(want.method)}`);
  for (const [name, value] of want.fields) {
    if (!UNSENT.byway(name, value)) command.push(`-H ${words.of(`${name}: ${value}`)}`);
  }
  if (want.body && !want.fields.some(([name]) => name === "content-type")) command.push("-H content-type:");
  command.push(words.of(want.url));
  return withBody(want, command, words, "-d", "-d");
}

const scheme = (link) => link?.split(":")[0];
const TRANSPORTS = {
  unix: ["UnixTransport", "UnixTransport"], serial: ["SerialTransport", "SerialTransport"], ssh: ["SSHTransport", "SSHTransport"],
  tcp: ["TCPTransport", "TCPTransport"], tls: ["TCPTransport", "TLSTransport"], exec: ["ProcessTransport", "ExecTransport"],
  fd: ["DescriptorTransport", "DescriptorTransport"],
};
const KNOWN = {
  GET: ".get", HEAD: ".head", POST: ".post", PUT: ".put", DELETE: ".delete", OPTIONS: ".options", PATCH: ".patch", TRACE: ".trace",
};

export function swift(want) {
  const [module, transport] = word(TRANSPORTS, scheme(want.link)) ?? TRANSPORTS.serial;
  const link = want.link ?? "serial:/dev/ttyUSB0";
  const method = word(KNOWN, want.method) ?? `HTTPRequest.Method(rawValue: ${swiftString(want.method)})!`;
  const text = asArgument(want.body);
  const bytes = want.body !== undefined && text === undefined && !needsFile(want);
  const body = want.body === undefined ? ""
    : text !== undefined ? `, body: Body(${swiftString(text)})`
    : !bytes ? ', body: try Body(file: "body.bin")'
    : `, body: Body(ByteBuffer(bytes: [${want.body.join(", ")}] as [UInt8]))`;
  const fields = want.fields.filter((field) => !UNSENT.swift(...field)).map(([name, value]) =>
    `request.head.headerFields.append(HTTPField(name: HTTPField.Name(${swiftString(name)})!, value: ${swiftString(value)}))\n`);
  return `import Byway
import HTTPTypes
${bytes ? "import NIOCore\n" : ""}import ${module}

let client = try BywayClient(link: ${swiftString(link)}, transports: [${transport}()])
${fields.length ? "var" : "let"} request = try Request(${method}, url: ${swiftString(want.url)}${body})
${fields.join("")}let response = try await client.execute(request)
print(response.status, String(buffer: try await response.body.collect(upTo: 1 << 20)))
await client.shutDown()
`;
}

function hostOf(url) {
  try {
    const { hostname, port, protocol } = new URL(url);
    const secure = protocol === "https:";
    return { host: hostname, port: port || (secure ? "443" : "80"), secure };
  } catch {
    return {};
  }
}

/** Copies to the clipboard; if the page is not at a trusted address, by selecting. */
export async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
