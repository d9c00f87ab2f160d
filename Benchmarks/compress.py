#!/usr/bin/env python3
"""The effect of `--compress` at both ends on a JSON document, an image and a small response on a line of 115,200 baud.

    python3 Benchmarks/compress.py --byway .build/release/byway

The path is that of Benchmarks/serial.py, without and with the flag. Every body is verified.
"""
import argparse
import json
import os
import random
import statistics
import time

from linerig import Rig

BAUD = 115_200


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    files = {"readings.json": readings(100_000), "image.png": os.urandom(50_000)}
    plain, coded = (measured(options, files, flags) for flags in ([], ["--compress"]))
    print("| at 115,200 baud | target | times faster | without | with |\n|---|---|---|---|---|")
    for name, title, target in (
        ("readings.json", "100 KB of JSON", "≥ 4"), ("image.png", "50 KB of an image", "≥ 1"), ("small", "100 bytes", "≥ 1")):
        ours, theirs = coded[name], plain[name]
        print(f"| {title} | {target} | {theirs / ours:.2f} | {theirs:,.3f} s | {ours:,.3f} s |")


def readings(size):
    """Returns readings like those of a device's API: names that repeat, numbers that do not."""
    noise = random.Random(1)
    rows = []
    while len(json.dumps(rows)) < size:
        rows += [{
            "id": len(rows) + number, "sensor": noise.choice(["inlet", "outlet", "boiler", "cellar"]),
            "time": f"2026-01-{noise.randrange(1, 29):02}T{noise.randrange(24):02}:{noise.randrange(60):02}:00Z",
            "celsius": round(noise.uniform(-20, 90), 2), "ok": noise.random() > 0.02} for number in range(20)]
    return json.dumps(rows).encode()


def measured(options, files, flags):
    with Rig(options.byway, BAUD, flags=flags, files=files) as rig:
        for _ in range(5):
            rig.get()
        time.sleep(0.5)
        return {name: statistics.median(rig.get(name) for _ in range(options.rounds)) for name in (*files, "small")}


if __name__ == "__main__":
    main()
