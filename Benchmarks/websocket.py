#!/usr/bin/env python3
"""Links over WebSocket next to plain TCP and TLS: directly, through nginx and through HAProxy.

    python3 Benchmarks/websocket.py --byway .build/release/byway

Needs nginx-light, haproxy and openssl. For each link a new gateway serves one file through nginx. The columns are the median of the downloads
in MiB/s, the median round trip of HTTP/2's PING, and the processor time of the gateway for each GiB. At the end a gateway behind nginx is
killed during a transfer, and the time until the other end reports it is printed.
"""
import contextlib
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from processes import MEBIBYTE, Programs, free_port, make_certificate, processor_time, stop, transfer_parser


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="byway-websocket-") as name, contextlib.ExitStack() as running:
        bench = Bench(options, pathlib.Path(name), running)
        results = {}
        for _ in range(options.rounds):
            for link in bench.links:
                results.setdefault(link, []).append(bench.measure(link))
        print(table(results))
        print(f"\nA gateway behind nginx was killed in a transfer: reported after {bench.killed() * 1000:.0f} ms.")


def parse():
    parser = transfer_parser(__doc__, 1024)
    parser.add_argument("--pings", type=int, default=100)
    return parser.parse_args()


class Bench(Programs):
    def __init__(self, options, folder, running):
        super().__init__(folder, running)
        self.options, self.ports = options, {}
        make_certificate(folder)
        noise = os.urandom(MEBIBYTE)
        with open(self.files / "file", "wb") as file:
            for _ in range(options.size):
                file.write(noise)
        self.origin = free_port()
        self.start_servers()
        self.start_haproxy()
        trust = f"ca={folder}/cert.pem&name=localhost"
        pair = f"cert={folder}/cert.pem&key={folder}/key.pem"
        own = {name: free_port() for name in ["tcp", "ws", "tls", "wss"]}
        # The address of the gateway, and the one to dial.
        self.links = {
            "tcp": (f"tcp://127.0.0.1:{own['tcp']}",) * 2,
            "ws": (f"ws://127.0.0.1:{own['ws']}/byway",) * 2,
            "tls": (f"tls://127.0.0.1:{own['tls']}?{pair}&clients=any", f"tls://127.0.0.1:{own['tls']}?{trust}"),
            "wss": (f"wss://127.0.0.1:{own['wss']}/byway?{pair}&clients=any", f"wss://127.0.0.1:{own['wss']}/byway?{trust}"),
            "ws, nginx": (f"ws://127.0.0.1:{self.hub('nginx')}/byway", f"ws://127.0.0.1:{self.front('nginx')}/byway"),
            "wss, nginx": (f"ws://127.0.0.1:{self.hub('nginx')}/byway", f"wss://127.0.0.1:{self.front('nginx-tls')}/byway?{trust}"),
            "ws, HAProxy": (f"ws://127.0.0.1:{self.hub('haproxy')}/byway", f"ws://127.0.0.1:{self.front('haproxy')}/byway"),
            "tcp, HAProxy": (f"tcp://127.0.0.1:{self.hub('stream')}", f"tcp://127.0.0.1:{self.front('stream')}"),
        }

    def front(self, name):
        return self.ports.setdefault(f"{name}-front", free_port())

    def hub(self, name):
        return self.ports.setdefault(f"{name}-hub", free_port())

    def start_servers(self):
        folder = self.folder
        location = f"""location /byway {{
            proxy_pass http://127.0.0.1:{self.hub('nginx')};
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection "upgrade";
          }}"""
        self.start_nginx(f"""
            sendfile on;
            server {{ listen 127.0.0.1:{self.origin}; root {self.files}; }}
            server {{ listen 127.0.0.1:{self.front('nginx')}; {location} }}
            server {{
              listen 127.0.0.1:{self.front('nginx-tls')} ssl;
              ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
              {location}
            }}""", self.origin)

    def start_haproxy(self):
        (self.folder / "haproxy.cfg").write_text(f"""
global
  nbthread 1
defaults
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  timeout tunnel 1h
listen http
  mode http
  bind 127.0.0.1:{self.front('haproxy')}
  server hub 127.0.0.1:{self.hub('haproxy')}
listen stream
  mode tcp
  bind 127.0.0.1:{self.front('stream')}
  server hub 127.0.0.1:{self.hub('stream')}
""")
        self.start(["/usr/sbin/haproxy", "-db", "-f", self.folder / "haproxy.cfg"], self.front("haproxy"))

    def gateway(self, address):
        command = [self.options.byway, "gateway", "--link", address, "--origin", f"http://127.0.0.1:{self.origin}"]
        process = self.start(command, int(re.search(r":(\d+)", address.split("//")[1])[1]))
        return process

    def measure(self, link):
        listens, dials = self.links[link]
        gateway = self.gateway(listens)
        before = processor_time(gateway.pid)
        start = time.monotonic()
        subprocess.run(
            [self.options.byway, "request", "--link", dials, "-s", "-o", "/dev/null", "http://localhost/file"], check=True, timeout=600)
        seconds = time.monotonic() - start
        cpu = (processor_time(gateway.pid) - before) * 1024 / self.options.size
        ping = subprocess.run(
            [self.options.byway, "ping", "--link", dials, "-c", str(self.options.pings), "-i", "0.01"],
            check=True, capture_output=True, text=True, timeout=120)
        times = [float(time) for time in re.findall(r"([\d.]+) ms", ping.stdout)][: self.options.pings]
        stop(gateway)
        rate = self.options.size / seconds
        print(f"{link}: {rate:,.0f} MiB/s", file=sys.stderr)
        return rate, statistics.median(times), cpu

    def killed(self):
        """Returns the seconds from the death of a gateway to the end of a request."""
        listens, dials = self.links["ws, nginx"]
        gateway = self.gateway(listens)
        request = subprocess.Popen(
            [self.options.byway, "request", "--link", dials, "-s", "http://localhost/file"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # The pipe is not read from here on, so the transfer cannot end before the gateway does.
        if len(request.stdout.read(MEBIBYTE)) < MEBIBYTE:
            sys.exit("The request ended before the gateway was killed.")
        gateway.send_signal(signal.SIGKILL)
        start = time.monotonic()
        _, text = request.communicate(timeout=120)
        seconds = time.monotonic() - start
        if request.returncode == 0:
            sys.exit("The request ended well without its gateway.")
        print(text.decode().strip(), file=sys.stderr)
        return seconds


def table(results):
    lines = ["| link | MiB/s | round trip, ms | gateway, CPU s/GiB |", "|---|--:|--:|--:|"]
    for link, rounds in results.items():
        rate, ping, cpu = (statistics.median(column) for column in zip(*rounds))
        lines.append(f"| {link} | {rate:,.0f} | {ping:.2f} | {cpu:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
