#!/usr/bin/env python3
"""Links over an MQTT broker next to plain TCP, on loopback.

    python3 Benchmarks/mqtt.py --byway .build/release/byway

Needs mosquitto, nginx-light and curl. For each link a new gateway and a new proxy serve files of nginx. The columns are the medians of
downloads and uploads in MiB/s, the median and the 99th percentile of GET requests for 1 KiB in milliseconds, over one connection to the proxy,
and the processor time of gateway, proxy and broker for each downloaded MiB.
"""
import contextlib
import http.client
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from processes import MEBIBYTE, Programs, free_port, processor_time, stop, transfer_parser


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="byway-mqtt-") as name, contextlib.ExitStack() as running:
        bench = Bench(options, pathlib.Path(name), running)
        print(f"{'link':8} {'down MiB/s':>11} {'up MiB/s':>9} {'GET ms':>8} {'p99 ms':>8} {'CPU ms/MiB':>11}")
        for link in ["tcp", "mqtt"]:
            down, up, median, late, cpu = bench.measure(link)
            print(f"{link:8} {down:11.1f} {up:9.1f} {median:8.2f} {late:8.2f} {cpu:11.1f}")


def parse():
    parser = transfer_parser(__doc__, 64)
    parser.add_argument("--requests", type=int, default=500)
    return parser.parse_args()


class Bench(Programs):
    def __init__(self, options, folder, running):
        super().__init__(folder, running)
        self.options = options
        (self.files / "file").write_bytes(os.urandom(MEBIBYTE) * options.size)
        (self.files / "small").write_bytes(os.urandom(1024))
        self.origin, self.broker = free_port(), free_port()
        self.start_nginx(f"""
            client_max_body_size 0;
            server {{
              listen 127.0.0.1:{self.origin};
              root {self.files};
              location /sink {{ proxy_pass http://127.0.0.1:{self.origin}/small; proxy_method GET; proxy_pass_request_body off; }}
            }}""", self.origin)
        (folder / "mosquitto.conf").write_text(f"user root\nlistener {self.broker} 127.0.0.1\nallow_anonymous true\n")
        self.mosquitto = self.start(["/usr/sbin/mosquitto", "-c", folder / "mosquitto.conf"], self.broker)

    def measure(self, link):
        port = free_port()
        address = f"tcp://127.0.0.1:{free_port()}" if link == "tcp" else f"mqtt://127.0.0.1:{self.broker}/bench/device"
        gateway = self.start([self.options.byway, "gateway", "--link", address, "--origin", f"http://127.0.0.1:{self.origin}"])
        proxy = self.start([self.options.byway, "proxy", "--link", address, "--listen", f"127.0.0.1:{port}"], port)
        url = f"http://127.0.0.1:{port}"
        curl("--retry", "20", "--retry-all-errors", "--retry-delay", "1", f"{url}/small")
        counted = [gateway, proxy, self.mosquitto]
        before = sum(processor_time(process.pid) for process in counted)
        down = [self.options.size / curl(f"{url}/file") for _ in range(self.options.rounds)]
        cpu = (sum(processor_time(process.pid) for process in counted) - before) / self.options.rounds / self.options.size * 1000
        up = [self.options.size / curl("-T", self.files / "file", f"{url}/sink") for _ in range(self.options.rounds)]
        times = requests(port, self.options.requests)
        for process in [proxy, gateway]:
            stop(process)
        return statistics.median(down), statistics.median(up), statistics.median(times), times[int(len(times) * 0.99)], cpu


def curl(*arguments):
    """Returns the seconds of a transfer."""
    command = ["curl", "-q", "-sSf", "--noproxy", "", "-o", "/dev/null", "-w", "%{time_total}", *map(str, arguments)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


def requests(port, count):
    """Returns the sorted times of small requests in milliseconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    times = []
    for _ in range(count):
        start = time.perf_counter()
        connection.request("GET", "/small")
        assert len(connection.getresponse().read()) == 1024
        times.append((time.perf_counter() - start) * 1000)
    connection.close()
    return sorted(times)


if __name__ == "__main__":
    main()
