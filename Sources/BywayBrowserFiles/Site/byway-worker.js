// Answers the requests of a device's pages: asks the frame page, which asks the page that has the connection (docs/browser.md).

const OWN = /^byway(-[a-z0-9]+)?\.(js|css|html)$/;
const TAKEN_TIMEOUT = 10000;
/** The device's pages load nothing from other servers and send nothing to them. */
const POLICY = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; object-src 'none'; base-uri 'self'; form-action 'self'";
/** Fields of a response that concern the device's own server, not this origin. */
const DROPPED = [
  "access-control-allow-origin", "alt-svc", "clear-site-data", "content-encoding", "content-length",
  "content-security-policy", "content-security-policy-report-only", "cross-origin-embedder-policy",
  "cross-origin-opener-policy", "nel", "refresh", "report-to", "reporting-endpoints", "service-worker-allowed", "set-cookie",
  "strict-transport-security", "transfer-encoding", "x-frame-options",
];

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  const path = pathInScope(url);
  // The page with the connection, and the files of this folder.
  if (request.mode === "navigate" && request.destination === "document") return;
  if (url.origin === self.location.origin && OWN.test(path.slice(1))) return;
  if (url.origin !== self.location.origin) {
    event.respondWith(Response.error());
    return;
  }
  event.respondWith(answer(request, path + url.search).catch((error) => failure(502, error.message)));
});

function pathInScope(url) {
  const scope = new URL(self.registration.scope).pathname;
  return url.pathname.startsWith(scope) ? `/${url.pathname.slice(scope.length)}` : url.pathname;
}

async function answer(request, path) {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const frames = windows.filter((client) => new URL(client.url).pathname.endsWith("/byway-frame.html"));
  if (frames.length === 0) return failure(503, "No page is connected to the device. Open the page with the button Connect.");
  if (frames.length > 1) return failure(503, "The page is open twice. Close one: an origin shows one device at a time.");
  const body = ["GET", "HEAD"].includes(request.method) ? null : await request.arrayBuffer();
  const { port1, port2 } = new MessageChannel();
  const answered = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("The page with the connection does not answer. Reload it.")), TAKEN_TIMEOUT);
    port1.onmessage = ({ data }) => {
      clearTimeout(timer);
      if (data !== "taken") resolve(data);
    };
  });
  const message = { type: "byway-request", method: request.method, path, headers: [...request.headers], body };
  frames[0].postMessage(message, [port2]);
  request.signal.addEventListener("abort", () => port1.postMessage("abort"));
  const response = await answered;
  if (response.error) return failure(response.code === "timeout" ? 504 : 502, response.error);
  const headers = new Headers(response.headers);
  for (const name of DROPPED) headers.delete(name);
  headers.append("content-security-policy", POLICY);
  headers.set("x-content-type-options", "nosniff");
  if (response.location) headers.set("location", new URL(`.${response.location}`, self.registration.scope).href);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

function failure(status, message) {
  return new Response(`${message}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" } });
}
