"""The speed of links, next to what carries the same bytes without Byway, as rows of a table. Every body is verified."""
import contextlib
import hashlib
import re
import socket
import statistics
import time

from guest import wait_for
from report import expect

LARGE = 10 << 20
MEBIBYTE = 1 << 20
PAGES = 20
# The processor of the device is slow.
SECONDS = 60
# The columns of Benchmarks/transports.py. The processor time is that of the whole device, with clients, servers and checksums.
HEAD = ("| link | down, MiB/s | up, MiB/s | GET, ms | 200 GETs, s | CPU, ms/MiB | idle, MiB | peak, MiB |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|")


class Comparison:
    """The rows, and the large file in the device that all of them carry."""

    def __init__(self, shell):
        self.shell = shell
        self.rows = []
        self.digest = None

    def make_large(self):
        text = self.shell.run(f"dd if=/dev/urandom of=/www/large bs={LARGE} count=1 2>/dev/null; sha256sum </www/large", SECONDS)
        self.digest = text.split()[0]

    def add(self, title, down, up, small, processor, size=LARGE):
        """Adds a row of seconds."""
        count = size / MEBIBYTE
        row = f"| {title} | {count / down:.1f} | {count / up:.1f} | {small * 1000:.1f} | – | {processor * 500 / count:.0f} | – | – |"
        self.rows.append(row)
        print(f"     {row}", flush=True)

    def text(self):
        return "\n".join([HEAD, *self.rows])

    def processor_seconds(self):
        """Returns the time that the processor of the device has worked."""
        fields = self.shell.run("head -n 1 /proc/stat").split()
        # user, nice, system, irq and softirq, in hundredths.
        return sum(int(fields[at]) for at in [1, 2, 3, 6, 7]) / 100

    def measure_port(self, title, port, file="large", content=None):
        """Measures what leads from a port of the device to its web server, with programs of the device."""
        shell, url = self.shell, f"http://127.0.0.1:{port}"
        digest, size = (hashlib.sha256(content).hexdigest(), len(content)) if content else (self.digest, LARGE)
        before = self.processor_seconds()
        down = seconds(shell.run(f"time -p wget -q -O /tmp/compared {url}/{file}", SECONDS))
        expect(digest in shell.run("sha256sum </tmp/compared; rm /tmp/compared"), f"{title}: the file has another digest")
        # busybox's wget sends no binary files.
        head = f"POST /cgi-bin/ipp HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: {size}\\r\\nConnection: close\\r\\n\\r\\n"
        script = f"(printf \"{head}\"; cat /www/{file}) | socat -t {SECONDS} - TCP:127.0.0.1:{port}"
        text = shell.run(f"time -p sh -c '{script}'", SECONDS)
        expect(digest in text, f"{title}: the server has received something else: {text}")
        processor = self.processor_seconds() - before
        loop = f"for i in $(seq {PAGES}); do wget -q -O /tmp/compared {url}/ || exit 1; done"
        small = seconds(shell.run(f"time -p sh -c '{loop}'", SECONDS)) / PAGES
        self.add(title, down, seconds(text), small, processor, size)

    def measure_proxy(self, title, proxy, folder):
        """Measures a proxy of this machine."""
        before = self.processor_seconds()
        start = time.monotonic()
        body = proxy.get("/large", SECONDS)
        down = time.monotonic() - start
        expect(hashlib.sha256(body).hexdigest() == self.digest, f"{len(body)} other bytes arrived")
        file = folder / "compared"
        file.write_bytes(body)
        start = time.monotonic()
        with proxy.start("/cgi-bin/sha256", "--data-binary", f"@{file}") as transfer:
            answer = transfer.finish(SECONDS)
        up = time.monotonic() - start
        processor = self.processor_seconds() - before
        expect(self.digest in answer.decode(), f"the device has received something else: {answer}")
        times = []
        for _ in range(PAGES):
            start = time.monotonic()
            proxy.get("/", SECONDS)
            times.append(time.monotonic() - start)
        self.add(title, down, up, statistics.median(times), processor)

    @contextlib.contextmanager
    def proxy(self, link, port):
        process = self.shell.run(
            f"byway proxy --link '{link}' --listen 127.0.0.1:{port} >/tmp/compared.log 2>&1 & echo $!").strip()
        try:
            wait_for(self.shell, "grep 'proxy ready' /tmp/compared.log", 20)
            # The first request also opens the link.
            wait_for(self.shell, f"wget -q -O /tmp/compared http://127.0.0.1:{port}/", 20)
            yield
        finally:
            self.shell.run(f"kill -KILL {process}; wait {process}", check=False)

    # Without Byway

    def socat_vsock(self, port):
        """Measures HTTP over vsock by socat, at both ends."""
        shell = self.shell
        far = shell.run(f"socat VSOCK-LISTEN:{port},reuseaddr,fork TCP:127.0.0.1:80,nodelay >/tmp/socat.log 2>&1 & echo $!").strip()
        listen = f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork,nodelay"
        near = shell.run(f"socat {listen} VSOCK-CONNECT:1:{port} >>/tmp/socat.log 2>&1 & echo $!").strip()
        wait_for(shell, f"wget -q -O /tmp/compared http://127.0.0.1:{port}/", 20)
        self.measure_port("socat, vsock", port)
        shell.run(f"kill {near} {far}")

    def serial_gadget(self):
        """Measures the bytes alone between the ends of a serial gadget, and a line with its echo."""
        host, device = "/dev/ttyACM0", "/dev/ttyGS0"
        before = self.processor_seconds()
        down = self.copy(device, host)
        up = self.copy(host, device)
        processor = self.processor_seconds() - before
        loop = f"exec 3<>{host}; for i in $(seq {PAGES}); do echo line >&3; read -r line <&3 || exit 1; done"
        echo = self.shell.run(f"sh -c 'exec 3<>{device}; while read -r line <&3; do echo $line >&3; done' >/dev/null 2>&1 & echo $!").strip()
        small = seconds(self.shell.run(f"time -p sh -c '{loop}'", SECONDS)) / PAGES
        self.shell.run(f"kill {echo}")
        self.add("serial gadget (CDC-ACM), bytes alone", down, up, small, processor)

    def copy(self, source, target):
        """Returns the seconds of the large file from one device to another."""
        reader = f"head -c {LARGE} <{target} >/tmp/compared & reader=$!"
        text = self.shell.run(f"time -p sh -c '{reader}; cat /www/large >{source}; wait $reader'", SECONDS)
        expect(self.digest in self.shell.run("sha256sum </tmp/compared; rm /tmp/compared"), f"other bytes arrived: {text}")
        return seconds(text)

    def virtio_port(self, device, path):
        """Measures the bytes alone between a virtio port and its socket on this machine, and a line with its echo."""
        shell = self.shell
        with socket.socket(socket.AF_UNIX) as host:
            host.connect(str(path))
            host.settimeout(SECONDS)
            before = self.processor_seconds()
            start = time.monotonic()
            shell.run(f"cat /www/large >{device} & echo $!")
            data = receive(host, LARGE)
            down = time.monotonic() - start
            expect(hashlib.sha256(data).hexdigest() == self.digest, "other bytes arrived")
            reader = shell.run(f"head -c {LARGE} <{device} >/tmp/compared & echo $!").strip()
            start = time.monotonic()
            host.sendall(data)
            shell.run(f"wait {reader}", SECONDS)
            up = time.monotonic() - start
            processor = self.processor_seconds() - before
            expect(self.digest in shell.run("sha256sum </tmp/compared; rm /tmp/compared"), "other bytes arrived in the device")
            echo = shell.run(f"sh -c 'exec 3<>{device}; while read -r line <&3; do echo $line >&3; done' >/dev/null 2>&1 & echo $!").strip()
            times = []
            for _ in range(PAGES):
                start = time.monotonic()
                host.sendall(b"line\n")
                receive(host, 5)
                times.append(time.monotonic() - start)
            shell.run(f"kill {echo}")
        self.add("virtio port, bytes alone", down, up, statistics.median(times), processor)


def seconds(text):
    return max(float(re.search(r"real ([\d.]+)", text)[1]), 0.01)


def receive(stream, count):
    data = bytearray()
    while len(data) < count:
        piece = stream.recv(count - len(data))
        if not piece:
            raise OSError(f"the stream ends after {len(data)} bytes")
        data += piece
    return bytes(data)
