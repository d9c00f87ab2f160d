// The page with the connection: opens the port, shows the device's pages in a frame, and answers their requests.

import { connect, serialPort } from "./byway.js";

const BASE = new URL("http://device/");
const rate = document.getElementById("rate");
const version = document.getElementById("http");
const button = document.getElementById("connect");
const statusText = document.getElementById("status");
const view = document.getElementById("view");
const frameURL = new URL("byway-frame.html", document.querySelector("meta[name=byway-device]").content || location.href);

let device = null;
let frame = null;

function show(text, isBad = false) {
  statusText.textContent = text;
  statusText.className = isBad ? "bad" : "";
}

function showStatus({ line, session }) {
  if (line !== "up") return;
  show({ none: "The port is open.", opening: "Connecting…", open: "Connected." }[session]);
}

/** Opens the port, and shows why it does not open. */
function opener(port, baudRate) {
  const open = serialPort(port, { baudRate });
  return async (signal) => {
    try {
      return await open(signal);
    } catch (error) {
      show(`The device is unplugged, or another program uses the port: ${error.message}`, true);
      throw error;
    }
  };
}

async function start() {
  if (!navigator.serial) {
    show("This browser has no Web Serial. Use a current Chrome or Edge, over https or from this computer.", true);
    return;
  }
  let port;
  try {
    port = await navigator.serial.requestPort();
  } catch {
    return; // The user chose no port.
  }
  const baudRate = Number(rate.value);
  show("Opening the port…");
  // Timers of browsers are too coarse for pacing above that.
  const paced = baudRate <= 230400 ? baudRate : 0;
  device = await connect(opener(port, baudRate), { baudRate: paced, base: BASE.href, http: version.value, onstatus: showStatus });
  frame = document.createElement("iframe");
  frame.title = "Device";
  frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms allow-downloads allow-modals");
  frame.src = frameURL.href;
  view.replaceChildren(frame);
  button.textContent = "Disconnect";
  rate.disabled = version.disabled = true;
}

async function stop() {
  const last = device;
  device = frame = null;
  view.replaceChildren();
  await last.close();
  button.textContent = "Connect";
  rate.disabled = version.disabled = false;
  show("Disconnected.");
}

button.addEventListener("click", async () => {
  button.disabled = true;
  try {
    await (device ? stop() : start());
  } catch (error) {
    show(error.message, true);
  } finally {
    button.disabled = false;
  }
});

addEventListener("message", ({ data, origin, source, ports }) => {
  if (frame === null || source !== frame.contentWindow || origin !== frameURL.origin) return;
  if (data?.type === "byway-request" && ports.length === 1) answer(data, ports[0]);
});

/** Asks the device, and sends its response to the worker. */
async function answer({ method, path, headers, body }, port) {
  port.postMessage("taken");
  const ending = new AbortController();
  port.onmessage = () => ending.abort();
  try {
    if (device === null) throw new Error("No device is connected.");
    const init = { method, headers, redirect: "manual", signal: ending.signal };
    if (body?.byteLength) init.body = body;
    const response = await device.fetch(new URL(BASE.origin + path), init);
    const message = {
      status: response.status, statusText: response.statusText, headers: [...response.headers], body: response.body,
      location: placeOf(response),
    };
    port.postMessage(message, response.body ? [response.body] : []);
  } catch (error) {
    port.postMessage({ error: error.message, code: error.code });
  }
}

/** The path that a redirect leads to, if that is on the device. */
function placeOf(response) {
  const place = response.headers.get("location");
  if (place === null || !URL.canParse(place, response.url)) return undefined;
  const url = new URL(place, response.url);
  return url.origin === BASE.origin ? url.pathname + url.search + url.hash : undefined;
}
