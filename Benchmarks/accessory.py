#!/usr/bin/env python3
"""Goodput and small requests of each end that a device can have, on an emulated serial line, next to SLIP with lwIP: rows for
docs/firmware.md.

    python3 Benchmarks/accessory.py --byway .build/release/byway
    python3 Benchmarks/accessory.py --byway .build/release/byway --long --only 'mini, x86|reference|js'   # 10 MB each way, bit errors

Bodies have 100 KB at 115,200 baud and 200 KB at 921,600 (--size for others; the sensors send 200 KB), and their SHA-256 is compared at both
ends where the device has one. The sensors compare a CRC-32C of uploads, and with --long two ends of reference-c compare each byte. Goodput is
body bytes by time by the line's rate. A small request is GET of at most 100 bytes on a connection that is kept; the median is shown. Needs
what scripts/install-dependencies firmware mini installs, and liblwip-dev. It takes 7 minutes on a quiet computer with two cores.
"""
import argparse
import contextlib
import hashlib
import http.client
import http.server
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Benchmarks"))
from processes import free_port, stop, wait_for  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
EMBEDDED = ROOT / "embedded"
SLOW, FAST = 115_200, 921_600
ARCHITECTURES = ["x86_64-linux-gnu", "aarch64-linux-gnu", "arm-linux-gnueabihf", "riscv64-linux-gnu"]


def table():
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        yield number


CRC = list(table())


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ CRC[(value ^ byte) & 255]
    return value ^ 0xFFFFFFFF


class Handler(http.server.BaseHTTPRequestHandler):
    """GET /N has N bytes and their SHA-256, and an upload is answered with its SHA-256."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        body = random.Random(int(self.path[1:])).randbytes(int(self.path[1:]))
        self.answer(body, hashlib.sha256(body).hexdigest())

    def do_PUT(self):
        self.answer(hashlib.sha256(self.rfile.read(int(self.headers["content-length"]))).hexdigest().encode(), "")

    def answer(self, body, digest):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        if digest:
            self.send_header("X-SHA256", digest)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def origin():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


class Rig:
    """A line and programs at its ends, which end with the block."""

    def __init__(self, options, baud):
        self.options, self.baud, self.children = options, baud, []

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="byway-")
        self.board, self.computer = f"{self.folder.name}/board", f"{self.folder.name}/computer"
        try:
            line = ["--bit-errors", self.options.errors] if self.options.errors else []
            self.run([self.options.byway, "line", "--baud", str(self.baud), *line, self.board, self.computer], stdin=subprocess.PIPE)
            until(lambda: pathlib.Path(self.board).exists() and pathlib.Path(self.computer).exists(), "the line did not appear")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in reversed(self.children):
            stop(child)
        self.folder.cleanup()

    def run(self, command, stdin=subprocess.DEVNULL):
        log = open(f"{self.folder.name}/{len(self.children)}.log", "w")
        child = subprocess.Popen([str(part) for part in command], stdin=stdin, stdout=log, stderr=subprocess.STDOUT)
        log.close()
        self.children.append(child)
        return child

    def proxy(self, device="http=1.1&"):
        port = free_port()
        wait_for(port, self.run([self.options.byway, "proxy", "--link", f"serial:{self.computer}?{device}baud={self.baud}",
                                 "--listen", f"127.0.0.1:{port}"]))
        return http.client.HTTPConnection("127.0.0.1", port, timeout=7200)

    def output(self, command):
        """The JSON that a program prints."""
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=7200)
        if done.returncode:
            raise SystemExit(f"{command[0]} failed: {done.stderr.strip()[-500:]}")
        return json.loads(done.stdout)


def until(condition, what):
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(what)
        time.sleep(0.02)


def exchange(connection, method, target, body=None, fields=None, check=lambda body, answer: True):
    """The seconds of a request and its response, whose body must satisfy the check."""
    began = time.monotonic()
    connection.request(method, target, body, fields or {})
    answer = connection.getresponse()
    received = answer.read()
    seconds = time.monotonic() - began
    if answer.status != 200 or not check(received, answer):
        raise SystemExit(f"{method} {target}: status {answer.status} or a wrong body")
    return seconds


def through(connection, options, size, small="/100", down=None, up="/", check_down=None, check_up=None, fields=None, method="PUT"):
    """Measures through a proxy."""
    digest = lambda body, answer: len(body) == size and hashlib.sha256(body).hexdigest() == answer.headers["X-SHA256"]
    data = random.Random(1).randbytes(size)
    same = lambda body, answer: body.decode() == hashlib.sha256(data).hexdigest()
    exchange(connection, "GET", small)  # the session and its round trip
    return {"small": [exchange(connection, "GET", small) for _ in range(options.requests)],
            "down": exchange(connection, "GET", down or f"/{size}", check=check_down or digest), "down_size": size,
            "up": exchange(connection, method, up, data, fields(data) if fields else {}, check_up or same)}


# ---- The ends ----

def gateway(rig, size):
    with origin() as port:
        rig.run([rig.options.byway, "gateway", "--link", f"serial:{rig.board}?baud={rig.baud}", "--origin", f"http://127.0.0.1:{port}"])
        return through(rig.proxy(""), rig.options, size)


def mini(architecture):
    def measure(rig, size):
        with origin() as port:
            emulator = [] if architecture == ARCHITECTURES[0] else [f"qemu-{architecture.split('-')[0]}-static"]
            rig.run([*emulator, EMBEDDED / "mini" / "build" / architecture / "byway-mini", "--link", f"serial:{rig.board}?baud={rig.baud}",
                     "--to", f"tcp://127.0.0.1:{port}"])
            return through(rig.proxy(), rig.options, size)
    return measure


def reference(rig, size):
    if rig.options.long:
        return reference_pair(rig, size)
    rig.run([EMBEDDED / "reference-c" / "build" / "end-large", "-b", rig.baud, "listen", rig.board, "http"])
    return through(rig.proxy(), rig.options, size, check_down=lambda body, _: len(body) == size, method="POST",
                   check_up=lambda body, _: int(body) == size)


def reference_pair(rig, size):
    """Two of these ends, which send at the same time, and compare each byte."""
    command = [EMBEDDED / "reference-c" / "build" / "end-large", "-b", rig.baud, "-n", size]
    ends = [rig.run([*command, role, path, "transfer"]) for role, path in (("listen", rig.board), ("dial", rig.computer))]
    if any([end.wait(7200) for end in ends]):
        raise SystemExit("reference-c: what arrived is not what was sent")
    times = [float(re.search(r"in (\S+) s", pathlib.Path(rig.folder.name, f"{at}.log").read_text())[1]) for at in (1, 2)]
    return {"small": [0], "up": times[0], "down": times[1]}


def sensor(kind):
    def measure(rig, size):
        folder = EMBEDDED / "examples" / f"sensor-{kind}" / f"build-{rig.baud}"
        rig.run([EMBEDDED / "emulate", folder / "sensor.elf", rig.board])
        file = (folder / "file.bin").read_bytes()
        result = through(rig.proxy(), rig.options, size, small="/reading", down="/file", check_down=lambda body, _: body == file, up="/upload",
                         fields=lambda data: {"X-Crc32c": f"{crc32c(data):08x}"}, check_up=lambda body, _: json.loads(body)["bytes"] == size)
        return result | {"down_size": len(file)}
    return measure


def browser(rig, size):
    with origin() as port:
        rig.run([ROOT / ".build" / "accessory" / "device", rig.board, rig.baud, port])
        return rig.output(["node", ROOT / "Benchmarks" / "accessory.mjs", rig.computer, size, rig.options.requests])


def slip(mtu):
    def measure(rig, size):
        program = ROOT / ".build" / "accessory" / "slip"
        rig.run([program, "serve", rig.board, mtu])
        until(lambda: "ready" in pathlib.Path(f"{rig.folder.name}/1.log").read_text(), "lwIP did not start")
        return rig.output([program, "measure", rig.computer, mtu, size, rig.options.requests])
    return measure


ENDS = {
    "gateway on Linux": gateway,
    "sensor in C, on the emulated board": sensor("c"),
    "sensor in Swift, on the emulated board": sensor("swift"),
    "byway-mini, x86-64": mini(ARCHITECTURES[0]),
    **{f"byway-mini, {name.split('-')[0]} under qemu-user": mini(name) for name in ARCHITECTURES[1:]},
    "reference-c": reference,
    "byway.js in node, with an end in C": browser,
    "SLIP with lwIP at both ends, MTU 1500": slip(1500),
    "SLIP with lwIP at both ends, MTU 296": slip(296),
}


def build(names):
    """Builds what is measured. The command is built by its own rules."""
    make = ["make", "-s", "-C"]
    if any("sensor" in name for name in names):
        for kind in ("c", "swift"):
            for baud in (SLOW, FAST):
                subprocess.run([*make, EMBEDDED / "examples" / f"sensor-{kind}", f"BAUD={baud}", f"BUILD=build-{baud}"], check=True)
    if any("mini" in name for name in names):
        subprocess.run([*make, EMBEDDED / "mini"], check=True)
    if "reference-c" in names:
        subprocess.run([*make, EMBEDDED / "reference-c", "ends"], check=True)
    folder = ROOT / ".build" / "accessory"
    folder.mkdir(parents=True, exist_ok=True)
    kit = [EMBEDDED / "c" / name for name in ("byway_line.c", "byway_line_framing.c", "byway_line_correction.c")]
    if any("byway.js" in name for name in names):
        subprocess.run(["gcc", "-std=c99", "-O2", "-I", EMBEDDED / "c", "-DBYWAY_LINE_PAYLOAD=256", "-DBYWAY_LINE_CORRECTION=12",
                        "-DBYWAY_LINE_RECEIVE_UNITS=256", "-DBYWAY_LINE_SEND_UNITS=256", EMBEDDED / "browser" / "tests" / "device.c", *kit,
                        "-o", folder / "device"], check=True)
    if any("SLIP" in name for name in names):
        if not pathlib.Path("/usr/include/lwip/lwip/tcpip.h").exists():
            raise SystemExit("lwIP is missing: install liblwip-dev, or leave SLIP out with --only")
        subprocess.run(["gcc", "-std=gnu11", "-O2", "-I/usr/include/lwip", ROOT / "Benchmarks" / "slip" / "slip.c", "-llwip", "-lpthread",
                        "-o", folder / "slip"], check=True)


def cells(options, name, baud, measure):
    """Goodput down and up, and a small request in milliseconds."""
    if baud == FAST and "qemu-user" in name:
        return ["–"] * 3  # QEMU 7.2 passes no rate above 460,800 on
    with Rig(options, baud) as rig:
        size = options.size or (100_000 if baud == SLOW else 200_000)
        found = measure(rig, size)
    rate = baud / 10
    small = f"{statistics.median(found['small']) * 1000:.0f} ms" if any(found["small"]) else "–"
    return [f"{found.get('down_size', size) / found['down'] / rate:.2f}", f"{size / found['up'] / rate:.2f}", small]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--byway", default="byway")
    parser.add_argument("--only", default="", help="ends whose name matches this expression")
    parser.add_argument("--size", type=int, help="bytes of a body")
    parser.add_argument("--requests", type=int, default=15)
    parser.add_argument("--errors", help="share of wrong bits, such as 1e-5")
    parser.add_argument("--baud", type=int, choices=(SLOW, FAST), action="append")
    parser.add_argument("--long", action="store_true", help="10 MB each way at 921,600 baud and an error rate of 1e-5")
    options = parser.parse_args()
    if options.long:
        options.size, options.errors, options.baud = options.size or 10_000_000, options.errors or "1e-5", options.baud or [FAST]
    rates = options.baud or [SLOW, FAST]
    names = [name for name in ENDS if re.search(options.only, name)]
    if not names:
        raise SystemExit(f"no end matches {options.only}; the ends are: {'; '.join(ENDS)}")
    build(names)
    print("| end of the device | " + " | ".join(f"{baud:,} baud: to the host | to the device | small GET" for baud in rates) + " |")
    print("|---|" + "---|---|---|" * len(rates), flush=True)
    began = time.monotonic()
    for name in names:
        row = [name] + [cell for baud in rates for cell in cells(options, name, baud, ENDS[name])]
        print("| " + " | ".join(row) + " |", flush=True)
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)


main()
