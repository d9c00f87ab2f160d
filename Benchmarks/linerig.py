"""The whole path of a request over an emulated line: client → byway proxy → serial → byway line → serial → byway gateway → nginx."""
import contextlib
import hashlib
import http.client
import math
import os
import pathlib
import random
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tty

from processes import free_port, processor_time


class Rig:
    """The programs, and the files to fetch. `line` has options of `byway line` besides the rate, `flags` those of proxy
    and gateway."""

    def __init__(self, byway, baud, line=(), seed=1, flags=(), files=(), relays=False):
        self.relays, self.relay = relays, None
        self.byway, self.baud, self.rate, self.flags, self.more = byway, baud, baud / 10, list(flags), dict(files)
        self.line_options = [*line, "--seed", str(seed)]
        self.children = []

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bw-", dir="/tmp"))
        self.folder.chmod(0o755)
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.relay:
            self.relay.close()
        for child in reversed(self.children):
            child.terminate()
        for child in reversed(self.children):
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(10)
            child.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        files = self.folder / "files"
        files.mkdir()
        for name, size in (("small", 100), ("medium", 8192), ("large", 1 << 20)):
            (files / name).write_bytes(os.urandom(size))
        for name, content in self.more.items():
            (files / name).write_bytes(content)
        self.digests = {path.name: digest(path.read_bytes()) for path in files.iterdir()}
        self.start_nginx(files)
        ends = [self.folder / "a", self.folder / "b"]
        self.line = self.spawn([self.byway, "line", "--baud", str(self.baud), *self.line_options, *map(str, ends)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.wait_for(ends[1].exists, "the line")
        if self.relays:
            self.relay = Relay(ends[1])
        self.gateway = self.spawn([self.byway, "gateway", "--link", f"serial:{self.relay.path if self.relay else ends[1]}?baud={self.baud}",
                                   "--origin", f"unix:{self.folder}/nginx.sock", *self.flags], log="gateway.log")
        self.port = free_port()
        self.proxy = self.spawn([self.byway, "proxy", "--link", f"serial:{ends[0]}?baud={self.baud}",
                                 "--listen", f"127.0.0.1:{self.port}", *self.flags], log="proxy.log")
        self.wait_for(lambda: connects(self.port), "the proxy")

    def start_nginx(self, files):
        configuration = self.folder / "nginx.conf"
        configuration.write_text(f"""
            daemon off; pid {self.folder}/nginx.pid; error_log {self.folder}/nginx.log; events {{ }}
            http {{ access_log off; types {{ application/json json; image/png png; }} client_max_body_size 0; client_body_temp_path {self.folder}/bodies;
                server {{ listen unix:{self.folder}/nginx.sock; root {files}; }} }}""")
        self.spawn([shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin"), "-c", str(configuration)])
        self.wait_for((self.folder / "nginx.sock").exists, "nginx")

    def spawn(self, command, log=None, **streams):
        output = open(self.folder / log, "wb") if log else subprocess.DEVNULL
        streams.setdefault("stdin", subprocess.DEVNULL)
        child = subprocess.Popen(command, stderr=output, **{"stdout": output, **streams})
        self.children.append(child)
        return child

    def wait_for(self, condition, what, limit=20):
        deadline = time.monotonic() + limit
        while not condition():
            if time.monotonic() > deadline:
                logs = "".join(path.read_text() for path in self.folder.glob("*.log"))
                sys.exit(f"{what} did not start within {limit} s\n{logs}")
            time.sleep(0.02)

    # Measurements

    def get(self, name="small", connection=None, limit=120):
        """Returns the seconds of a request. Ends the run if its body is wrong."""
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit)
        begun = time.monotonic()
        own.request("GET", f"/{name}")
        response = own.getresponse()
        body = response.read()
        seconds = time.monotonic() - begun
        if response.status != 200 or digest(body) != self.digests[name]:
            sys.exit(f"GET /{name}: status {response.status}, {len(body)} bytes, not what the origin has: {body[:300]!r}")
        if connection is None:
            own.close()
        return seconds

    def connection(self, limit=120):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit)

    def carried(self):
        """Returns the bytes that each end has sent so far."""
        self.order("statistics")
        lines = [self.read_line() for _ in range(2)]
        return [int(re.search(r"([\d,]+) bytes sent", line)[1].replace(",", "")) for line in lines]

    def order(self, word):
        self.line.stdin.write(f"{word}\n".encode())
        self.line.stdin.flush()

    def read_line(self, limit=10):
        text = b""
        while not text.endswith(b"\n"):
            if not select.select([self.line.stdout], [], [], limit)[0]:
                sys.exit("the line does not answer")
            text += os.read(self.line.stdout.fileno(), 1)
        return text.decode()

    def busy(self):
        """Returns the processor seconds of both ends so far."""
        return sum(processor_time(child.pid) for child in (self.gateway, self.proxy))


class Relay:
    """A piece of wire behind the line whose noise can begin at any time. `noise` is a function from bytes to bytes."""

    def __init__(self, end):
        self.noise = bytes
        self.inner, self.outer = os.openpty()
        self.line = os.open(end, os.O_RDWR | os.O_NOCTTY)
        for terminal in (self.outer, self.line):
            tty.setraw(terminal)
        self.path = os.ttyname(self.outer)
        self.stop, self.stopped = os.pipe()
        self.threads = [threading.Thread(target=self.carry, args=pair, daemon=True)
                        for pair in ((self.inner, self.line), (self.line, self.inner))]
        for thread in self.threads:
            thread.start()

    def carry(self, source, target):
        with contextlib.suppress(OSError):
            while source in select.select([source, self.stop], [], [])[0]:
                data = self.noise(os.read(source, 4096))
                while data:
                    data = data[os.write(target, data):]

    def close(self):
        os.close(self.stopped)


class Rare:
    """Selects items of a sequence at random, on average one in 1 / `share`."""

    def __init__(self, share, seed):
        self.source, self.share = random.Random(seed), share
        self.gap = self.draw()

    def draw(self):
        return int(math.log(1 - self.source.random()) / math.log(1 - self.share))

    def among(self, count):
        at = self.gap
        while at < count:
            yield at
            at += 1 + self.draw()
        self.gap = at - count


def dropping(share, seed):
    rare = Rare(share, seed)

    def noise(data):
        kept = bytearray(data)
        for at in reversed(list(rare.among(len(data)))):
            del kept[at]
        return bytes(kept)
    return noise


def flipping(share, seed):
    rare = Rare(share, seed)

    def noise(data):
        flipped = bytearray(data)
        for at in rare.among(8 * len(data)):
            flipped[at // 8] ^= 1 << at % 8
        return bytes(flipped)
    return noise


def digest(data):
    return hashlib.sha256(data).hexdigest()


def connects(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
