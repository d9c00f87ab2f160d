// The frame around a device's pages. It passes the requests of the service worker on to the page that has the connection, which may be of
// another origin, so that a device's page cannot reach it.

const page = document.querySelector("meta[name=byway-page]").content || location.origin;

navigator.serviceWorker.addEventListener("message", ({ data, ports }) => {
  if (data?.type === "byway-request" && ports.length === 1) parent.postMessage(data, page, ports);
});
navigator.serviceWorker.startMessages();

try {
  await navigator.serviceWorker.register("byway-worker.js", { scope: "./", updateViaCache: "none" });
  await navigator.serviceWorker.ready;
  const device = document.createElement("iframe");
  device.title = "The device";
  device.id = "device";
  device.allow = "serial 'none'; usb 'none'; bluetooth 'none'; hid 'none'; camera 'none'; microphone 'none'; geolocation 'none'";
  device.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms allow-downloads allow-modals");
  device.src = "./";
  document.body.append(device);
} catch (error) {
  document.body.textContent = `The service worker did not start: ${error.message} Serve this folder over https, or from this computer.`;
}
