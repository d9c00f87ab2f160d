#!/usr/bin/env python3
"""Sends plain HTTP/1.1 over an emulated serial line, without Byway's protocol.

    python3 Benchmarks/bare.py --byway .build/release/byway

Each request gets a response with a Content-Length over an emulated line (`byway line`). A response is silently corrupt if its
head can be parsed and its length is right, but its body differs from the sent one.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import select
import subprocess
import sys
import tempfile
import threading
import time
import tty

SIZE = 16 << 10
# The time that a client waits for more of a response at the rate of the line.
PATIENCE = 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True)
    parser.add_argument("--baud", type=int, default=921_600)
    parser.add_argument("--bit-errors", default="1e-5")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bw-") as folder:
        ends = [pathlib.Path(folder) / name for name in "ab"]
        line = subprocess.Popen(
            [options.byway, "line", "--baud", str(options.baud), "--bit-errors", options.bit_errors, "--seed",
             str(options.seed), *map(str, ends)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            fates = measure(*(opened(end) for end in ends), random.Random(options.seed), options.count)
        finally:
            line.terminate()
            line.wait(10)
    print(f"of {options.count} bodies of {SIZE} bytes, {options.bit_errors} of all bits wrong: "
          + ", ".join(f"{fates[fate]} {fate}" for fate in ("exact", "silently corrupt", "failed")))


def opened(path):
    deadline = time.monotonic() + 10
    while not path.exists():
        if time.monotonic() > deadline:
            sys.exit("the line did not start within 10 s")
        time.sleep(0.02)
    terminal = os.open(path, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(terminal)
    return terminal


def measure(client, server, noise, count):
    fates = collections.Counter()
    for _ in range(count):
        body = noise.randbytes(SIZE)
        origin = threading.Thread(target=answer, args=(server, body))
        origin.start()
        os.write(client, b"GET /body HTTP/1.1\r\nHost: device\r\n\r\n")
        fates[fate(read(client), body)] += 1
        origin.join()
    return fates


def answer(terminal, body):
    """Serves as a tolerant origin, which treats any bytes as a request."""
    read(terminal, until=b"\r\n\r\n")
    rest = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    while rest:
        rest = rest[os.write(terminal, rest[:1024]):]


def read(terminal, until=None):
    text = b""
    while select.select([terminal], [], [], PATIENCE)[0]:
        text += os.read(terminal, 65536)
        if until and text.endswith(until):
            break
    return text


def fate(response, body):
    head, separator, content = response.partition(b"\r\n\r\n")
    length = re.search(rb"\r\nContent-Length: (\d+)(\r\n|$)", head)
    if not separator or not head.startswith(b"HTTP/1.1 200 ") or not length or int(length[1]) != len(content):
        return "failed"
    return "exact" if content == body else "silently corrupt"


main()
