#!/usr/bin/env python3
"""Links over WebSocket next to plain TCP and TLS: directly, through nginx and through HAProxy.

    python3 Benchmarks/websocket.py --byway .build/release/byway

Needs nginx-light, haproxy and openssl. For each link a new gateway serves one file through nginx. The columns are the median of the downloads
in MiB/s, the median round trip of HTTP/2's PING, and the processor time of the gateway for each GiB. At the end a gateway behind nginx is
killed during a transfer, and the time until the other end reports it is printed.
"""
import argparse
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

from processes import free_port, processor_time, stop, wait_for

MEBIBYTE = 1 << 20


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument("--size", type=int, default=1024, help="of the file in MiB (default: 1024)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pings", type=int, default=100)
    return parser.parse_args()


class Bench:
    def __init__(self, options, folder, running):
        self.options, self.folder, self.running = options, folder, running
        self.ports = {}
        self.certificate()
        files = folder / "files"
        files.mkdir()
        noise = os.urandom(MEBIBYTE)
        with open(files / "file", "wb") as file:
            for _ in range(options.size):
                file.write(noise)
        self.origin = free_port()
        self.start_nginx(files)
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

    def certificate(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
             "-keyout", self.folder / "key.pem", "-out", self.folder / "cert.pem"], check=True, capture_output=True, timeout=30)
        os.chmod(self.folder / "key.pem", 0o600)

    def start_nginx(self, files):
        folder = self.folder
        temporary = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
        location = f"""location /byway {{
            proxy_pass http://127.0.0.1:{self.hub('nginx')};
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection "upgrade";
          }}"""
        (folder / "nginx.conf").write_text(f"""
          user root;
          worker_processes 1;
          pid {folder}/nginx.pid;
          error_log stderr crit;
          events {{ worker_connections 256; }}
          http {{
            access_log off;
            sendfile on;
            {temporary}
            server {{ listen 127.0.0.1:{self.origin}; root {files}; }}
            server {{ listen 127.0.0.1:{self.front('nginx')}; {location} }}
            server {{
              listen 127.0.0.1:{self.front('nginx-tls')} ssl;
              ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
              {location}
            }}
          }}""")
        self.start(["/usr/sbin/nginx", "-c", folder / "nginx.conf", "-p", folder, "-e", "stderr", "-g", "daemon off;"], self.origin)

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

    def start(self, command, port):
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.running.callback(stop, process)
        wait_for(port, process)
        return process

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
