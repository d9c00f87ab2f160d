#!/usr/bin/env python3
"""The cost of observability at a gateway: metrics for Prometheus, an access log and an inspector, in requests per second and memory.

    python3 Benchmarks/observed.py --byway .build/release/byway
    python3 Benchmarks/observed.py --byway .build/release/byway --before OLDER    next to another build
    python3 Benchmarks/observed.py --byway .build/release/byway --offered 5000    at that many requests a second and no more

Like Benchmarks/gateway.py: HTTP/2 on a Unix socket in, HTTP/1.1 on a Unix socket out, rounds interleaved. Ratios are relative to the first row. Those of nginx, which
is there to compare its log, are relative to nginx without a log.
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import types

import contenders
import gateway


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="bw-", dir="/tmp") as name, contextlib.ExitStack() as running:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        print(table(measure(options, folder, running), options))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument("--before", metavar="PATH", help="another build of it, for the first row")
    parser.add_argument("--offered", type=int, metavar="N", help="requests a second that the load offers; without: as many as there can be")
    parser.add_argument("--seconds", type=int, default=3, help="of load in each round (default: 3)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--load-core", type=int, default=1, help="for the load and the origin")
    options = parser.parse_args()
    if not {options.server_core, options.load_core} <= os.sched_getaffinity(0):
        parser.error("two cores are needed: one for the server, one for the load")
    return options


def measure(options, folder, running):
    def start(server):
        running.callback(server.stop)
        return server

    files = contenders.fresh(folder, "files")
    origin = start(contenders.nginx_origin(options.load_core, contenders.fresh(folder, "origin"), files))

    def started(name, command, *arguments):
        place = contenders.fresh(folder, name)
        arguments = [str(argument).replace("{}", str(place)) for argument in arguments]
        line = [command, "gateway", "--link", f"unix:{place / 's'}", "--origin", f"unix:{origin.socket}", *arguments]
        return start(contenders.Process(options.server_core, place, line, place / "s"))

    servers = {}
    if options.before:
        servers["before"] = started("before", options.before)
    servers["no option"] = started("plain", options.byway)
    metrics = ["--metrics", "unix:{}/m"]
    servers["metrics"] = started("metrics", options.byway, *metrics)
    for form in ("combined", "json"):
        servers[f"metrics, log {form}"] = started(
            form, options.byway, *metrics, "--access-log", "{}/access", "--access-log-format", form)

    servers["trace"] = started("trace", options.byway, "--trace", "/dev/null")
    servers["inspector, no page open"] = started("unseen", options.byway, "--inspect", "unix:{}/i")
    looked = servers["inspector, one client"] = started("seen", options.byway, "--inspect", "unix:{}/i")
    follower = Follower(looked.socket.parent / "i")
    follower.start()

    for name, log in {"nginx": "off", "nginx, log": "{}/access combined",
                      "nginx, log with a buffer": "{}/access combined buffer=64k flush=1s"}.items():
        place = contenders.fresh(folder, name.replace(" ", "-"))
        servers[name] = start(contenders.nginx_gateway(
            options.server_core, place, origin.socket, log.replace("{}", str(place))))

    results = {name: {"requests": [], "cpu": [], "idle": server.memory()[0]} for name, server in servers.items()}
    for number in range(options.rounds):
        for name in gateway.rotated(list(servers), number):
            rate, cpu = gateway.requests(types.SimpleNamespace(**vars(options)), servers[name])
            results[name]["requests"].append(rate)
            results[name]["cpu"].append(cpu)
            print(f"round {number + 1} {name}: {rate:,.0f} requests/s", file=sys.stderr)
        for log in folder.glob("*/access"):
            os.truncate(log, 0)
    for name, server in servers.items():
        results[name]["peak"] = server.memory()[1]
    print(f"Who looked was told of {follower.told:,} states; at most {follower.left:,} were left for the next event, and the newest was at "
          f"most {follower.lag:.1f} s old when it was told while requests ran.", file=sys.stderr)
    return results


class Follower(threading.Thread):
    """A reader of /api/events, like a page, which records how far behind it is."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path = str(path)
        self.told = self.left = 0
        self.lag = 0.0

    def run(self):
        for _ in range(50):
            with contextlib.suppress(OSError):
                return self.follow()
            time.sleep(0.1)
        sys.exit(f"nobody answers on {self.path}")

    def follow(self):
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        with contextlib.closing(connection):
            connection.sock.connect(self.path)
            connection.request("GET", "/api/events")
            for line in connection.getresponse():
                if not line.startswith(b'data: {"exchanges"'):
                    continue
                data = json.loads(line[6:])
                self.told += len(data["exchanges"])
                self.left = max(self.left, data.get("left", 0))
                newest = max(x["begun"] + x.get("ended", 0) for x in data["exchanges"])
                if data.get("left"):
                    self.lag = max(self.lag, time.time() - newest / 1000)


def table(results, options):
    first = next(iter(results.values()))
    lines = [f"Median of {options.rounds} rounds. Server on core {options.server_core}; load and origin share core "
             f"{options.load_core}.", "", "| | requests/s | CPU µs/request | idle MiB | peak MiB |", "|---|---|---|---|---|"]
    for name, values in results.items():
        base = results["nginx"] if name.startswith("nginx") else first
        rate, cpu = (statistics.median(values[key]) for key in ("requests", "cpu"))
        rates, cpus = (statistics.median(base[key]) for key in ("requests", "cpu"))
        lines.append(f"| {name} | {rate / rates:.3f} ({rate:,.0f}) | {cpu / cpus:.3f} ({cpu:.2f}) | "
                     f"{values['idle']:.1f} | {values['peak']:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
