"""Discovery of plugged-in devices by a proxy in the box, with a gateway on this machine behind its adapter."""
import contextlib
import json
import re
import subprocess
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from guest import wait_for
from host import stop
from report import expect
from waiting import until

PORT = 8080
LOG = "/tmp/discovery.log"
PAGE = b"the hall's printer\n"
TITLE = "Printer in the hall"
# A query times out after 5 s, and is repeated after 15 s without an answer.
SECONDS = 40


class Origin(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def printer(byway, line, log):
    """A gateway with a name on this machine, at the other end of an adapter's line."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    Thread(target=server.serve_forever, daemon=True).start()
    with open(log, "w") as file:
        gateway = subprocess.Popen(
            [byway, "gateway", "--link", f"serial:{line}", "--origin", f"http://127.0.0.1:{server.server_port}",
             "--name", "printer", "--title", TITLE], stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        yield
    finally:
        stop(gateway)
        server.shutdown()
        server.server_close()


class Discovering:
    """`byway proxy --discover serial` in the device."""

    def __init__(self, shell):
        self.shell = shell
        self.process = None

    def start(self):
        command = f"byway proxy --listen 127.0.0.1:{PORT} --discover serial >{LOG} 2>&1 & echo $!"
        self.process = self.shell.run(command).strip()
        wait_for(self.shell, f"grep 'proxy ready' {LOG}", 20)

    def stop(self):
        self.shell.run(f"kill {self.process}; wait {self.process}", 20, check=False)

    def text(self):
        return self.shell.run(f"cat {LOG}", check=False)

    def get(self, name, path):
        """Returns a body from the device with that name, or the device list without a name."""
        host = f"{name}.localhost" if name else "localhost"
        return self.shell.run(f"byway request --link 'tcp://127.0.0.1:{PORT}?http=1.1' http://{host}{path} 2>/dev/null", 20)

    def devices(self):
        return {device["name"]: device for device in json.loads(self.get(None, "/devices.json"))["devices"]}

    def wait_for(self, name, state):
        """Waits until the list has a device with that name and state. Returns it and the elapsed seconds."""
        def device():
            device = self.devices().get(name)
            return device if device and (device["state"] == "away") == (state == "away") else None

        begin = time.monotonic()
        return until(device, SECONDS, lambda: f"{name} is not {state}: {self.devices()}"), time.monotonic() - begin


def is_listed(proxy):
    device, _ = proxy.wait_for("printer", "there")
    expect(device["title"] == TITLE, f"it has another title: {device}")
    expect(proxy.get("printer", "/").encode() == PAGE, "another page comes")


def lists_by_strings(proxy):
    """A device without an answer is named after its adapter, and built-in ports are not listed."""
    name = re.compile("qemu-usb-serial.*")
    until(lambda: any(map(name.fullmatch, proxy.devices())), SECONDS, lambda: f"it is not listed: {proxy.devices()}")
    links = [link for device in proxy.devices().values() for link in device["links"]]
    expect(not any("ttyS" in link for link in links), f"a 16550 is listed: {links}")


def goes_and_returns(proxy, machine, serial):
    machine.unplug("adapter")
    _, seconds = proxy.wait_for("printer", "away")
    expect(seconds < 5, f"that it has gone is told after {seconds:.1f} s")
    machine.plug("adapter", serial)
    proxy.wait_for("printer", "there")
    expect(proxy.get("printer", "/").encode() == PAGE, "another page comes")
