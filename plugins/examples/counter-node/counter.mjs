// Counts the pages that pass, and writes the number into each.
//
//     node counter.mjs /run/user/1000/counter.sock
//     byway proxy … --interceptor unix:/run/user/1000/counter.sock
//
// Needs Node 18 or later and nothing else. It speaks HTTP/2 in both directions, so that WebSockets are ordinary streams.
import http2 from "node:http2";
import net from "node:net";
import fs from "node:fs";

const hops = new Map();
let pages = 0;

// Returns the session with the next hop. There is one for each address.
function hop(address) {
  let session = hops.get(address);
  if (!session || session.closed || session.destroyed) {
    session = http2.connect("http://next", { createConnection: () => net.connect(address.replace(/^unix:/, "")) });
    session.on("error", () => session.destroy());
    session.on("close", () => hops.get(address) === session && hops.delete(address));
    hops.set(address, session);
  }
  return session;
}

function isPage(request, response) {
  return request[":method"] !== "HEAD" && response[":status"] === 200 && !response["content-encoding"]
    && (response["content-type"] ?? "").startsWith("text/html");
}

function handle(stream, headers, flags) {
  const { "byway-next": address, "accept-encoding": dropped, ...request } = headers;
  const { ":method": method } = request;
  const onward = hop(address).request(request, { endStream: stream.endAfterHeaders, waitForTrailers: true });
  // The client or the next hop may leave at any time. The other one is told.
  onward.on("error", () => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR));
  onward.on("aborted", () => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR));
  stream.on("error", () => onward.close(http2.constants.NGHTTP2_CANCEL));
  stream.on("aborted", () => onward.close(http2.constants.NGHTTP2_CANCEL));
  stream.on("close", () => onward.closed || onward.close(http2.constants.NGHTTP2_CANCEL));

  let uploaded = {}, downloaded = {};
  stream.on("trailers", (fields) => { uploaded = fields; });
  onward.on("trailers", (fields) => { downloaded = fields; });
  onward.on("wantTrailers", () => onward.sendTrailers(uploaded));
  if (!stream.endAfterHeaders) stream.pipe(onward);

  onward.on("headers", (fields) => stream.additionalHeaders(fields));
  onward.on("response", (fields, flags) => {
    if (stream.destroyed) return;
    const hasEnded = Boolean(flags & http2.constants.NGHTTP2_FLAG_END_STREAM);
    const response = { ...fields };
    let text = "";
    if (isPage(request, response)) {
      text = `<p>Page ${++pages}</p>`;
      if (response["content-length"]) response["content-length"] = Number(response["content-length"]) + Buffer.byteLength(text);
    }
    stream.respond(response, { endStream: hasEnded && !text, waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(downloaded));
    onward.pipe(stream, { end: false });
    onward.on("end", () => stream.writable && stream.end(text));
  });
}

const path = process.argv[2];
fs.rmSync(path, { force: true });
const server = http2.createServer({ settings: { enableConnectProtocol: true, maxConcurrentStreams: 1000 } });
server.on("stream", handle);
server.on("sessionError", () => {});
process.umask(0o077);
server.listen(path);
