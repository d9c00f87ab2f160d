#!/usr/bin/env python3
"""The time of `byway request` for 13 bytes over a link on a Unix socket, compared with curl over the same socket.

    python3 -B Benchmarks/request.py --byway .build/release/byway

Both start as processes, send a request to the same gateway in front of nginx, and end. Most of the time is the start. Runs are interleaved.
"""
import argparse
import resource
import statistics
import subprocess
import sys
import time

import contenders


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    with contenders.workplace() as (folder, _, start):
        files = contenders.fresh(folder, "files")
        origin = start(contenders.nginx_origin(1, contenders.fresh(folder, "origin"), files))
        gateway = start(contenders.byway_gateway(options.byway)(0, contenders.fresh(folder, "gateway"), origin.socket))
        curl = contenders.program("curl", "curl")
        print(table(measure(options.rounds, {
            "curl": [curl, "-q", "-s", "--http2-prior-knowledge", "--unix-socket", gateway.socket, "http://localhost/"],
            "byway request": [options.byway, "request", "--link", f"unix:{gateway.socket}", "http://localhost/"],
            "byway --version": [options.byway, "--version"],
        })))


def measure(rounds, commands):
    results = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            results[name].append(once([str(part) for part in command], "hello" if "http" in str(command[-1]) else ""))
    return results


def once(command, expected):
    """Returns (wall, processor) milliseconds."""
    before, began = busy(), time.perf_counter()
    run = subprocess.run(command, capture_output=True, text=True, timeout=30)
    wall = time.perf_counter() - began
    if run.returncode or not run.stdout.startswith(expected):
        sys.exit(f"{command} ended with {run.returncode}:\n{run.stdout}{run.stderr}")
    return wall * 1e3, (busy() - before) * 1e3


def busy():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def table(results):
    base = results["curl"]
    lines = ["| | wall, median ms | to curl | wall, least ms | to curl | processor, ms |", "|---|---|---|---|---|---|"]
    for name, runs in results.items():
        cells = [name]
        for choose in (statistics.median, min):
            own, other = (choose(wall for wall, _ in these) for these in (runs, base))
            cells += [f"{own:.1f}", f"{own / other:.2f}"]
        cells.append(f"{statistics.median(cpu for _, cpu in runs):.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
