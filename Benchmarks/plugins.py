#!/usr/bin/env python3
"""The cost of a plugin that writes a counter into pages, next to mitmdump with the same addon, nginx and HAProxy.

    python3 -B Benchmarks/plugins.py --byway .build/release/byway --mitmdump /tmp/mitmproxy/bin/mitmdump
    python3 -B Benchmarks/plugins.py --byway .build/release/byway --out-of-scope

16 clients get a page of 1 KiB over HTTP/1.1. The cost is the processor time of all processes between client and origin. nginx asks
another nginx before each request (`auth_request`), or adds a fixed text (`sub_filter`). HAProxy asks an agent (SPOE), which
--spoe-python runs: a Python that has the package haproxyspoa. Rounds are interleaved; medians are printed.

--out-of-scope counts the instructions of a proxy without a plugin, and with a plugin whose scope no request matches.
"""
import argparse
import contextlib
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import contenders
import instructions
from processes import free_port, processor_time, stop

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "plugins/examples"
PAGE = "<!doctype html><title>Page</title>" + "<p>Some text of a page.</p>" * 37 + "</body>"

ORIGIN = """
  server {{
    listen unix:{socket};
    listen 127.0.0.1:{port};
    root {files};
    default_type text/html;
    keepalive_requests 1000000000;
  }}
"""

NGINX = """
  upstream origin {{ server unix:{origin}; keepalive 64; keepalive_requests 1000000000; }}
  upstream judge {{ server unix:{judge}; keepalive 64; keepalive_requests 1000000000; }}
  server {{
    listen unix:{socket};
    location / {{
      {extra}
      proxy_pass http://origin;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }}
    location = /ask {{
      internal;
      proxy_pass http://judge;
      proxy_http_version 1.1;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_set_header Connection "";
    }}
  }}
"""

JUDGE = """
  server {{ listen unix:{socket}; location / {{ return 204; }} }}
"""

HAPROXY = contenders.HAPROXY_DEFAULTS + """\
frontend front
  bind unix@{socket}
  {filter}
  default_backend origin
backend origin
  server origin unix@{origin}
backend agents
  mode tcp
  timeout server 60s
  server agent 127.0.0.1:{port}
"""

SPOE = """[plugin]
spoe-agent plugin
  messages ask
  option var-prefix plugin
  timeout hello 2s
  timeout idle 60s
  timeout processing 1s
  use-backend agents
spoe-message ask
  args path=path
  event on-frontend-http-request
"""

AGENT = """
import sys
from haproxyspoa.payloads.ack import AckPayload
from haproxyspoa.spoa_server import SpoaServer
agent = SpoaServer()
@agent.handler("ask")
async def ask(path):
    return AckPayload().set_txn_var("verdict", "yes")
agent.run(host="127.0.0.1", port=int(sys.argv[1]))
"""

MITMPROXY = """
pages = 0
def response(flow):
    global pages
    if flow.response.headers.get("content-type", "").startswith("text/html"):
        pages += 1
        flow.response.content += b"<p>Page %d</p>" % pages
"""


class Contender:
    """Processes between a client and the origin."""

    def __init__(self, uri, *processes):
        self.uri, self.processes = uri, processes

    def busy(self):
        """Returns the processor seconds of all processes, and those of plugins, agents and judges, which are another program."""
        program = os.readlink(f"/proc/{self.processes[0].pid}/exe")
        all_of_them = [(pid, processor_time(pid)) for process in self.processes for pid in family(process.pid)]
        first = family(self.processes[0].pid)
        others = sum(spent for pid, spent in all_of_them if pid not in first or os.readlink(f"/proc/{pid}/exe") != program)
        return sum(spent for _, spent in all_of_them), others


def family(pid):
    children = []
    with contextlib.suppress(FileNotFoundError):
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            children += (task / "children").read_text().split()
    return [pid, *(inner for child in children for inner in family(int(child)))]


class Bench:
    def __init__(self, options, folder, running):
        self.options, self.folder, self.running = options, folder, running
        self.runs = 0
        files = contenders.fresh(folder, "files")
        (files / "page.html").write_text(PAGE)
        self.port, place = free_port(), self.place()
        self.origin = place / "s"
        self.keep(contenders.nginx(0, place, ORIGIN.format(socket=self.origin, files=files, port=self.port)))

    def keep(self, process):
        self.running.callback(process.stop)
        return process.child

    def place(self):
        self.runs += 1
        return contenders.fresh(self.folder, str(self.runs))

    def start(self, command, path, **environment):
        """Starts a program that listens on a Unix socket."""
        old = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        try:
            return self.keep(contenders.Process(0, path.parent, command, path))
        finally:
            for name, value in old.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})

    def start_at_port(self, command, port):
        """Starts a program that listens on a port."""
        with open(self.place() / "log", "wb") as log:
            child = subprocess.Popen(["taskset", "-c", "0", *map(str, command)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.running.callback(stop, child, limit=5)
        for _ in range(1000):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return child
            if child.poll() is not None:
                break
            time.sleep(0.02)
        sys.exit(f"{command[0]} does not listen")

    def proxy(self, plugin=None, *others):
        place = self.place()
        arguments = ["--interceptor", plugin] if plugin else []
        child = self.start(
            [self.options.byway, "proxy", "--link", f"unix:{self.origin}?http=1.1", "--listen", f"unix:{place}/s", *arguments], place / "s",
            PYTHONPATH=str(ROOT / "plugins/python"))
        return Contender(f"unix:{place}/s", child, *others)

    def counter(self, language):
        if language == "python":
            return self.proxy(f"exec:{sys.executable} -B {EXAMPLES}/counter-python/counter.py")
        place = self.place()
        command = [place / "counter"]
        if language == "node":
            command = ["node", EXAMPLES / "counter-node/counter.mjs"]
        elif language == "go":
            subprocess.run(["go", "build", "-o", *command, EXAMPLES / "counter-go/counter.go"], check=True, env={**os.environ, "GO111MODULE": "off"})
        else:
            subprocess.run(["swiftc", "-O", EXAMPLES / "counter-swift/counter.swift", "-o", *command], check=True)
        plugin = self.start([*command, place / "s"], place / "s")
        return self.proxy(f"unix:{place}/s?http={2 if language == 'node' else 1.1}", plugin)

    def nginx(self, extra):
        place, judge = self.place(), self.place()
        judging = self.keep(contenders.nginx(0, judge, JUDGE.format(socket=judge / "s")))
        configuration = NGINX.format(socket=place / "s", origin=self.origin, judge=judge / "s", extra=extra)
        return Contender(f"unix:{place}/s", self.keep(contenders.nginx(0, place, configuration)), judging)

    def haproxy(self, agent=None):
        place, port, others = self.place(), free_port(), []
        (place / "spoe.cfg").write_text(SPOE)
        if agent:
            (place / "agent.py").write_text(AGENT)
            others = [self.start_at_port([agent, place / "agent.py", port], port)]
        used = f"filter spoe engine plugin config {place}/spoe.cfg" if agent else ""
        used += "\n  http-request deny unless { var(txn.plugin.verdict) -m str yes }" if agent else ""
        (place / "haproxy.cfg").write_text(HAPROXY.format(socket=place / "s", origin=self.origin, filter=used, port=port))
        return Contender(f"unix:{place}/s", self.start([contenders.program("haproxy", "haproxy"), "-db", "-f", place / "haproxy.cfg"], place / "s"), *others)

    def mitmdump(self, *arguments):
        port, place = free_port(), self.place()
        (place / "addon.py").write_text(MITMPROXY)
        command = [self.options.mitmdump, "-q", "--set", f"confdir={place}", "--mode", f"reverse:http://127.0.0.1:{self.port}", "-p", port,
                   "--listen-host", "127.0.0.1", *(part.replace("ADDON", str(place / "addon.py")) for part in arguments)]
        return Contender(f"http://127.0.0.1:{port}", self.start_at_port(command, port))


def load(contender, duration):
    """Returns the number of pages in this time."""
    base = ["--base-uri", contender.uri, "http://localhost/page.html"] if contender.uri.startswith("unix:") else [f"{contender.uri}/page.html"]
    run = subprocess.run(
        ["taskset", "-c", "1", contenders.program("h2load", "nghttp2-client"), "--h1", "-c", "16", "-D", str(duration), *base],
        capture_output=True, text=True, timeout=120)
    counts = {word: int(count) for count, word in re.findall(r"(\d+) (succeeded|failed)", run.stdout)}
    if counts.get("failed") or not counts.get("succeeded") or "0 3xx, 0 4xx, 0 5xx" not in run.stdout:
        sys.exit(f"not every request was answered:\n{run.stdout}{run.stderr}")
    return counts["succeeded"]


def measure(options, folder, running):
    bench = Bench(options, folder, running)
    rows = {"byway, no plugin": bench.proxy()}
    for language in ("python", "node", "go", "swift"):
        rows[f"byway, counter in {language}"] = bench.counter(language)
    rows["nginx, no filter"] = bench.nginx("")
    rows["nginx, sub_filter"] = bench.nginx("sub_filter '</body>' '<p>Page 1</p></body>';")
    rows["nginx, auth_request"] = bench.nginx("auth_request /ask;")
    rows["HAProxy, no filter"] = bench.haproxy()
    if options.spoe_python:
        rows["HAProxy, SPOE agent in Python"] = bench.haproxy(options.spoe_python)
    if options.mitmdump:
        rows["mitmdump, no addon"] = bench.mitmdump()
        rows["mitmdump, counter"] = bench.mitmdump("-s", "ADDON")
    results = {name: [] for name in rows}
    for contender in rows.values():
        load(contender, 1)
    for number in range(options.rounds):
        for name in list(rows)[::1 if number % 2 else -1]:
            before = rows[name].busy()
            count = load(rows[name], options.seconds)
            spent = [(later - earlier) / count * 1e6 for earlier, later in zip(before, rows[name].busy())]
            results[name].append((*spent, count / options.seconds))
            print(f"round {number + 1} {name}: {results[name][-1][0]:.0f} µs", file=sys.stderr)
    lines = ["| | processor time a request | of it outside the proxy | requests/s |", "|---|---|---|---|"]
    for name, values in results.items():
        cost, others, rate = (statistics.median(column) for column in zip(*values))
        lines.append(f"| {name} | {cost:,.0f} µs | {others:,.0f} µs | {rate:,.0f} |")
    return "\n".join(lines)


def out_of_scope(options, folder):
    """Counts instructions, which other work on the machine does not change."""
    command = folder / "byway"
    subprocess.run(["strip", "-g", "-o", command, options.byway], check=True)
    rig = instructions.Rig(command, options.requests, folder)
    lines = []
    for name, arguments in (("no plugin", ()), ("a plugin for another path", ("--interceptor", "exec:/bin/false?path=/other"))):
        with contextlib.ExitStack() as running:
            link = rig.start(running, "gateway", "--link", "unix:{}/s", "--origin", f"unix:{rig.origin(running)}").socket
            total = rig.count(running, "proxy", "--link", f"unix:{link}", "--listen", "unix:{}/s", *arguments)[0]
        lines.append(f"| {name} | {total / options.requests:,.0f} |")
    return "\n".join(["| | instructions of a request at the proxy |", "|---|---|", *lines])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument("--mitmdump", metavar="PATH", help="python3 -m venv FOLDER && FOLDER/bin/pip install mitmproxy")
    parser.add_argument("--spoe-python", metavar="PATH", help="python3 -m venv FOLDER && FOLDER/bin/pip install haproxyspoa")
    parser.add_argument("--seconds", type=int, default=3, help="of load in each round (default: 3)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out-of-scope", action="store_true")
    parser.add_argument("--requests", type=int, default=3000, help="for --out-of-scope")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bw-", dir="/tmp") as name, contextlib.ExitStack() as running:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        print(out_of_scope(options, folder) if options.out_of_scope else measure(options, folder, running))


if __name__ == "__main__":
    main()
