"""The compared servers and their origins. Each is one process on a selected core, and is ended by its id."""
import argparse
import contextlib
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from processes import processor_time, stop

ORIGIN_SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Support" / "origin.py"

NGINX = """
worker_processes 1;
daemon off;
pid {folder}/pid;
error_log stderr error;
events {{ worker_connections 1024; }}
http {{
  access_log {log};
  sendfile on;
  client_max_body_size 0;
  keepalive_requests 1000000000;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  {http}
}}
"""

NGINX_ORIGIN = """
  server {{
    listen unix:{socket};
    root {files};
    location = / {{ default_type text/plain; return 200 "hello, byway\\n"; }}
  }}
"""

NGINX_GATEWAY = """
  upstream origin {{ server unix:{origin}; keepalive 128; keepalive_requests 1000000000; }}
  server {{
    listen unix:{socket} http2;
    http2_max_concurrent_streams 256;
    location / {{
      proxy_pass http://origin;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_request_buffering off;
      proxy_max_temp_file_size 0;
    }}
  }}
"""

HAPROXY_DEFAULTS = """
global
  nbthread 1
defaults
  mode http
  option http-keep-alive
  http-reuse always
  timeout connect 5s
  timeout client 60s
  timeout server 60s
"""

HAPROXY = HAPROXY_DEFAULTS + """\
frontend front
  bind unix@{socket} proto h2
  default_backend origin
backend origin
  server origin unix@{origin}
"""


class Process:
    """A program pinned to a core. `folder` holds its files and its socket."""

    def __init__(self, core, folder, command, socket_path):
        self.socket = socket_path
        self.log = open(folder / "log", "wb")
        self.child = subprocess.Popen(
            ["taskset", "-c", str(core), *map(str, command)], stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        try:
            self.wait_until_reachable(folder)
        except BaseException:
            self.stop()
            raise

    def wait_until_reachable(self, folder):
        deadline = time.monotonic() + 10
        while True:
            try:
                with socket.socket(socket.AF_UNIX) as attempt:
                    attempt.connect(str(self.socket))
                return
            except OSError:
                if self.child.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"{self.child.args} does not listen:\n{(folder / 'log').read_text()}")
                time.sleep(0.01)

    def worker(self):
        """Returns the working process: a child of the master for nginx, the process itself for the others."""
        children = pathlib.Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children").read_text().split()
        return int(children[0]) if children else self.child.pid

    def memory(self):
        """Returns (resident, peak) in MiB."""
        status = pathlib.Path(f"/proc/{self.worker()}/status").read_text()
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in status.splitlines() if line.endswith(" kB")}
        return sizes["VmRSS"] / 1024, sizes["VmHWM"] / 1024

    def busy(self):
        """Returns the processor seconds so far."""
        return processor_time(self.worker())

    def stop(self):
        stop(self.child, limit=5)
        self.log.close()


def program(name, package):
    path = shutil.which(name) or shutil.which(f"/usr/sbin/{name}")
    if not path:
        sys.exit(f"{name} is not installed: apt install {package}")
    return path


def run(description, measure, rounds):
    """A benchmark of one command: prints what `measure(options, folder, start)` returns. `start(server)` ensures that a server ends."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument("--seconds", type=int, default=3, help="of load in each round (default: 3)")
    parser.add_argument("--rounds", type=int, default=rounds)
    options = parser.parse_args()
    with workplace() as (folder, _, start):
        print(measure(options, folder, start))


@contextlib.contextmanager
def workplace():
    """A temporary folder, a stack of what ends with it, and `start(server)`, which ensures that a server ends."""
    with tempfile.TemporaryDirectory(prefix="bw-", dir="/tmp") as name, contextlib.ExitStack() as running:
        folder = pathlib.Path(name)
        folder.chmod(0o755)

        def start(server):
            running.callback(server.stop)
            return server

        yield folder, running, start


def compare(rows, options):
    """Loads servers in interleaved rounds, and returns the rows of a table. `rows` has a server and the arguments of ``load`` for each name."""
    results = {name: [] for name in rows}
    for number in range(options.rounds):
        names = list(rows)
        for name in names[number % 2:] + names[:number % 2]:
            server, *arguments = rows[name]
            before = server.busy()
            count = load(server, options.seconds, *arguments)
            results[name].append(((server.busy() - before) / count * 1e6, count / options.seconds))
            print(f"round {number + 1} {name}: {results[name][-1][0]:.2f} µs, {results[name][-1][1]:,.0f}/s", file=sys.stderr)
    lines = ["| | processor time a request | requests/s |", "|---|---|---|"]
    for name, values in results.items():
        cost, rate = (statistics.median(column) for column in zip(*values))
        lines.append(f"| {name} | {cost:.2f} µs | {rate:,.0f} |")
    return lines


def load(server, seconds, *arguments):
    """Returns the number of responses to HTTP/1.1 requests of 32 clients."""
    command = [
        program("h2load", "nghttp2-client"), "--h1", "-c", 32, "-D", seconds, "--base-uri", f"unix:{server.socket}", *arguments]
    run = subprocess.run(["taskset", "-c", "1", *map(str, command)], capture_output=True, text=True, timeout=300)
    counts = {word: int(re.search(rf"(\d+) {word}", run.stdout)[1]) for word in ("succeeded", "failed")}
    if counts["failed"] or not counts["succeeded"] or "0 3xx, 0 4xx, 0 5xx" not in run.stdout:
        sys.exit(f"not every request was answered:\n{run.stdout}{run.stderr}")
    return counts["succeeded"]


def fresh(folder, name):
    place = folder / name
    place.mkdir()
    return place


def nginx(core, folder, configuration, log="off"):
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, http=configuration, log=log))
    command = [program("nginx", "nginx-light"), "-c", folder / "nginx.conf", "-e", "stderr"]
    return Process(core, folder, command, folder / "s")


def nginx_origin(core, folder, files):
    return nginx(core, folder, NGINX_ORIGIN.format(socket=folder / "s", files=files))


def sink_origin(core, folder):
    command = ["/usr/bin/python3", ORIGIN_SCRIPT, "--listen", f"unix:{folder / 's'}"]
    return Process(core, folder, command, folder / "s")


def nginx_gateway(core, folder, origin, log="off"):
    return nginx(core, folder, NGINX_GATEWAY.format(socket=folder / "s", origin=origin), log)


def haproxy_gateway(core, folder, origin):
    (folder / "haproxy.cfg").write_text(HAPROXY.format(socket=folder / "s", origin=origin))
    command = [program("haproxy", "haproxy"), "-db", "-f", folder / "haproxy.cfg"]
    return Process(core, folder, command, folder / "s")


def byway_gateway(byway):
    def start(core, folder, origin):
        command = [byway, "gateway", "--link", f"unix:{folder / 's'}", "--origin", f"unix:{origin}"]
        return Process(core, folder, command, folder / "s")
    return start
