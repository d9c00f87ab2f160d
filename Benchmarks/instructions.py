#!/usr/bin/env python3
"""The cost of a request at the gateway in instructions, reference counts and allocations, measured by valgrind, so that other work
on the machine has no effect.

    swift build -c release --static-swift-stdlib --product byway -Xswiftc -enforce-exclusivity=unchecked
    python3 -B Benchmarks/instructions.py --byway .build/release/byway
    python3 -B Benchmarks/instructions.py --byway .build/release/byway -- --metrics unix:{}/m --access-log {}/access

The same load as Benchmarks/gateway.py: one connection, 64 streams. Only user code is measured. The command must have its symbols,
which `make release` strips.
"""
import argparse
import collections
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import contenders

COUNTED = ["swift_retain", "swift_release", "malloc", "free"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release, with symbols")
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--top", type=int, default=0, metavar="N", help="also the N functions that take the most")
    parser.add_argument("arguments", nargs="*", help="for the gateway, behind --; {} is a folder of its own")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bw-", dir="/tmp") as name, contextlib.ExitStack() as running:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        profile = count(options, folder, running)
        total, calls, own = read(profile)
    print(f"{total / options.requests:,.0f} instructions a request")
    for function in COUNTED:
        print(f"{calls[function] / options.requests:,.1f} calls of {function}")
    for function, instructions in own.most_common(options.top):
        print(f"{instructions / options.requests:8,.1f} {function}")


def count(options, folder, running):
    """Returns the file that callgrind has written for the requests alone."""
    # Valgrind 3.19 does not read the debugging information of Swift 6.
    command = folder / "byway"
    subprocess.run(["strip", "-g", "-o", command, options.byway], check=True)
    files = contenders.fresh(folder, "files")
    origin = contenders.nginx_origin(1, contenders.fresh(folder, "origin"), files)
    running.callback(origin.stop)
    place, profile = contenders.fresh(folder, "gateway"), folder / "profile"
    gateway = contenders.Process(0, place, [
        contenders.program("valgrind", "valgrind"), "--tool=callgrind", "--instr-atstart=no",
        f"--callgrind-out-file={profile}", command, "gateway", "--link", f"unix:{place / 's'}", "--origin",
        f"unix:{origin.socket}", *(argument.replace("{}", str(place)) for argument in options.arguments)], place / "s")
    running.callback(gateway.stop)
    load(gateway.socket, 500)
    control(gateway, "--instr=on")
    load(gateway.socket, options.requests)
    control(gateway, "--instr=off")
    control(gateway, "--dump=end")
    deadline = time.monotonic() + 30
    while not os.path.exists(f"{profile}.1"):
        if time.monotonic() > deadline:
            sys.exit("callgrind wrote nothing")
        time.sleep(0.1)
    return f"{profile}.1"


def control(gateway, *arguments):
    subprocess.run(["callgrind_control", *arguments, str(gateway.child.pid)], check=True, capture_output=True)


def load(socket, count):
    text = subprocess.run(
        [contenders.program("h2load", "nghttp2-client"), "-c", "1", "-m", "64", "-n", str(count), "--base-uri",
         f"unix:{socket}", "http://localhost/"], capture_output=True, text=True, timeout=300).stdout
    if f"{count} succeeded" not in text:
        sys.exit(f"not every request was answered:\n{text}")


def read(profile):
    """Returns (instructions, calls by name of the function, its own instructions by its name)."""
    names, calls, own, total = {}, collections.Counter(), collections.Counter(), 0
    function = callee = ""
    is_call = False
    for line in pathlib.Path(profile).read_text().splitlines():
        if match := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?", line):
            if match[3]:
                names[match[2]] = match[3]
            if match[1]:
                callee = names.get(match[2], "")
            else:
                function = names.get(match[2], "")
        elif match := re.match(r"calls=(\d+)", line):
            calls[callee] += int(match[1])
            is_call = True
        elif match := re.match(r"(?:summary|totals): (\d+)", line):
            total = int(match[1])
        elif match := re.match(r"[+*-]?\d*\*? (\d+)$", line):
            # The line after a call has the cost of that call.
            if not is_call:
                own[function] += int(match[1])
            is_call = False
    return total, calls, own


if __name__ == "__main__":
    main()
