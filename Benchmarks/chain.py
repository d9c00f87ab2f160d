#!/usr/bin/env python3
"""The whole chain: HTTP/1.1 in, `byway proxy`, a link, `byway gateway`, HTTP/1.1 out; compared with two HAProxies in the same places.

    python3 -B Benchmarks/chain.py --byway .build/release/byway

Small requests of 32 clients are measured in processor time of both processes per request. One file of 1 GiB is measured in MB
per second and in the peak of resident memory. Rounds are interleaved; medians are printed.
"""
import argparse
import contextlib
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import contenders

CLIENTS = 32
MEBIBYTE = 1 << 20

HAPROXY_PROXY = contenders.HAPROXY_DEFAULTS + """\
frontend front
  bind unix@{socket}
  # h2load takes no status line without a reason, and HTTP/2 brings none.
  http-response set-status 200 reason OK if {{ status 200 }}
  default_backend link
backend link
  server link unix@{link} proto h2
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument("--seconds", type=int, default=3, help="of load in each round (default: 3)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=1024, help="of the long body, in MiB (default: 1024)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bw-", dir="/tmp") as name, contextlib.ExitStack() as running:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        print(table(measure(options, folder, running), options))


def measure(options, folder, running):
    def start(server):
        running.callback(server.stop)
        return server

    files = contenders.fresh(folder, "files")
    block = os.urandom(MEBIBYTE)
    with open(files / "long.bin", "wb") as body:
        for _ in range(options.size):
            body.write(block)
    origin = start(contenders.nginx_origin(1, contenders.fresh(folder, "origin"), files))
    chains = {}
    for name, gateway, proxy in (
            ("haproxy twice", contenders.haproxy_gateway, haproxy_proxy),
            ("byway", contenders.byway_gateway(options.byway), byway_proxy(options.byway))):
        far = start(gateway(0, contenders.fresh(folder, f"{name[:2]}-far"), origin.socket))
        chains[name] = (far, start(proxy(0, contenders.fresh(folder, f"{name[:2]}-near"), far.socket)))
    results = {name: {"requests": [], "cpu": [], "rate": []} for name in chains}
    for number in range(options.rounds):
        for name in list(chains)[::1 if number % 2 else -1]:
            requests(options, chains[name], results[name])
            long_body(options, chains[name], results[name])
            print(f"round {number + 1} {name}: {results[name]['cpu'][-1]:.1f} µs", file=sys.stderr)
    for name, chain in chains.items():
        results[name]["peak"] = max(server.memory()[1] for server in chain)
    return results


def haproxy_proxy(core, folder, link):
    (folder / "haproxy.cfg").write_text(HAPROXY_PROXY.format(socket=folder / "s", link=link))
    command = [contenders.program("haproxy", "haproxy"), "-db", "-f", folder / "haproxy.cfg"]
    return contenders.Process(core, folder, command, folder / "s")


def byway_proxy(byway):
    def start(core, folder, link):
        command = [byway, "proxy", "--link", f"unix:{link}", "--listen", f"unix:{folder / 's'}"]
        return contenders.Process(core, folder, command, folder / "s")
    return start


def requests(options, chain, result):
    before = sum(server.busy() for server in chain)
    text = on_load_core(
        contenders.program("h2load", "nghttp2-client"), "--h1", "-c", CLIENTS, "-D", options.seconds,
        "--base-uri", f"unix:{chain[1].socket}", "http://localhost/")
    succeeded, failed = (int(re.search(rf"(\d+) {word}", text)[1]) for word in ("succeeded", "failed"))
    if failed or not succeeded or "0 3xx, 0 4xx, 0 5xx" not in text:
        sys.exit(f"not every request was answered:\n{text}")
    result["requests"].append(succeeded / options.seconds)
    result["cpu"].append((sum(server.busy() for server in chain) - before) / succeeded * 1e6)


def long_body(options, chain, result):
    facts = on_load_core(
        contenders.program("curl", "curl"), "-q", "-sS", "--unix-socket", chain[1].socket, "-o", "/dev/null",
        "-w", "%{http_code} %{size_download} %{time_total}", "http://localhost/long.bin")
    status, size, seconds = facts.split()
    if (status, int(size)) != ("200", options.size * MEBIBYTE):
        sys.exit(f"answered {status} after {size} bytes")
    result["rate"].append(int(size) / 1e6 / float(seconds))


def on_load_core(*command):
    run = subprocess.run(["taskset", "-c", "1", *map(str, command)], capture_output=True, text=True, timeout=300)
    if run.returncode:
        sys.exit(f"{command} ended with {run.returncode}:\n{run.stdout}{run.stderr}")
    return run.stdout


def table(results, options):
    base = statistics.median(results["haproxy twice"]["cpu"])
    lines = [
        f"| | CPU µs/request, {CLIENTS} clients | ratio | requests/s | {options.size} MiB, MB/s | peak MiB of one |",
        "|---|---|---|---|---|---|"]
    for name, values in results.items():
        cpu, count, rate = (statistics.median(values[key]) for key in ("cpu", "requests", "rate"))
        lines.append(f"| {name} | {cpu:.2f} | {cpu / base:.2f} | {count:,.0f} | {rate:,.0f} | {values['peak']:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
