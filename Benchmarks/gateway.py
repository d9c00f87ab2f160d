#!/usr/bin/env python3
"""Byway's gateway next to nginx and HAProxy: HTTP/2 on a Unix socket in, HTTP/1.1 on a Unix socket out.

    python3 Benchmarks/gateway.py --byway .build/release/byway
    python3 Benchmarks/gateway.py                                  the other servers alone

Rounds are interleaved, so that a disturbance of the machine affects all. Medians are printed as ratios to nginx, next to
the absolute numbers, which are valid for this machine and hour only.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

import contenders

BODY_SIZE = 64 << 20
MEBIBYTE = 1 << 20


def main():
    options = parse()
    with contenders.workplace() as (folder, running, _):
        results = measure(options, folder, running)
    print(json.dumps(results, indent=2) if options.json else table(results, options))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", help="the command, built for release")
    parser.add_argument("--seconds", type=int, default=3, help="of load in each round (default: 3)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--load-core", type=int, default=1, help="for the load and the origins")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.byway and not os.access(options.byway, os.X_OK):
        parser.error(f"{options.byway} is not a command: swift build -c release --product byway")
    if not {options.server_core, options.load_core} <= os.sched_getaffinity(0):
        parser.error("two cores are needed: one for the server, one for the load")
    return options


def measure(options, folder, running):
    files = contenders.fresh(folder, "files")
    body = files / "body.bin"
    body.write_bytes(os.urandom(MEBIBYTE) * (BODY_SIZE // MEBIBYTE))

    def start(server):
        running.callback(server.stop)
        return server

    origin = start(contenders.nginx_origin(options.load_core, contenders.fresh(folder, "origin"), files))
    sink = start(contenders.sink_origin(options.load_core, contenders.fresh(folder, "sink")))
    makers = {"nginx": contenders.nginx_gateway, "haproxy": contenders.haproxy_gateway}
    if options.byway:
        makers["byway"] = contenders.byway_gateway(options.byway)

    results, servers, uploads = {}, {}, {}
    for name, make in makers.items():
        servers[name] = start(make(options.server_core, contenders.fresh(folder, name), origin.socket))
        uploads[name] = start(make(options.server_core, contenders.fresh(folder, f"{name}-up"), sink.socket))
        results[name] = {"requests": [], "cpu": [], "down": [], "up": [], "idle": servers[name].memory()[0]}

    for number in range(options.rounds):
        for name in rotated(list(makers), number):
            rate, cpu = requests(options, servers[name])
            results[name]["requests"].append(rate)
            results[name]["cpu"].append(cpu)
            results[name]["down"].append(download(options, servers[name]))
            results[name]["up"].append(upload(options, uploads[name], body))
            print(f"round {number + 1} {name}: {rate:,.0f} requests/s", file=sys.stderr)
    for name in makers:
        results[name]["peak"] = max(servers[name].memory()[1], uploads[name].memory()[1])
    return results


def rotated(names, by):
    by %= len(names)
    return names[by:] + names[:by]


def requests(options, server):
    """Returns requests per second, and processor microseconds per request, which vary less on a shared machine."""
    busy = server.busy()
    text = on_load_core(
        options, contenders.program("h2load", "nghttp2-client"), "-c", "1", "-m", "64", "-D", options.seconds,
        *(["--rps", options.offered] if getattr(options, "offered", None) else []),
        "--base-uri", f"unix:{server.socket}", "http://localhost/")
    rate = float(re.search(r"([\d.]+) req/s", text)[1])
    succeeded, failed = (int(re.search(rf"(\d+) {word}", text)[1]) for word in ("succeeded", "failed"))
    if failed or not succeeded or "0 3xx, 0 4xx, 0 5xx" not in text:
        sys.exit(f"{server.child.args} did not answer every request:\n{text}")
    return rate, (server.busy() - busy) / succeeded * 1e6


def download(options, server):
    """Returns MiB per second."""
    got = curl(options, server, "-o", "/dev/null", "-w", "%{http_code} %{size_download} %{time_total}",
               "http://localhost/body.bin")
    return throughput(server, got)


def upload(options, server, body):
    got = curl(options, server, "-o", "/dev/null", "-w", "%{http_code} %{size_upload} %{time_total}",
               "-T", body, "http://localhost/sink")
    return throughput(server, got)


def throughput(server, facts):
    status, size, seconds = facts.split()
    if (status, int(size)) != ("200", BODY_SIZE):
        sys.exit(f"{server.child.args} answered {status} after {size} bytes")
    return BODY_SIZE / MEBIBYTE / float(seconds)


def curl(options, server, *arguments):
    path = contenders.program("curl", "curl")
    return on_load_core(options, path, "-q", "-sS", "--http2-prior-knowledge", "--unix-socket", server.socket,
                        *arguments)


def on_load_core(options, *command):
    limit = options.seconds + 60
    run = subprocess.run(["taskset", "-c", str(options.load_core), *map(str, command)], capture_output=True,
                         text=True, timeout=limit)
    if run.returncode:
        sys.exit(f"{command} ended with {run.returncode}:\n{run.stdout}{run.stderr}")
    return run.stdout


def table(results, options):
    columns = [("requests", "requests/s", "{:,.0f}"), ("cpu", "CPU µs/request", "{:.2f}"),
               ("down", "64 MiB down, MiB/s", "{:,.0f}"), ("up", "64 MiB up, MiB/s", "{:,.0f}"),
               ("idle", "idle MiB", "{:.1f}"), ("peak", "peak MiB", "{:.1f}")]
    rows = [["", *(title for _, title, _ in columns)]]
    for name, values in results.items():
        cells = []
        for key, _, form in columns:
            own, base = (statistics.median(listed(row[key])) for row in (values, results["nginx"]))
            cells.append(f"{own / base:.2f} ({form.format(own)})")
        rows.append([name, *cells])
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    note = (f"Ratio to nginx (median of {options.rounds} rounds). Server on core {options.server_core}; "
            f"load and origin share core {options.load_core}.")
    return "\n".join([note, "", *lines])


def listed(value):
    return value if isinstance(value, list) else [value]


if __name__ == "__main__":
    main()
