#!/usr/bin/env python3
"""The cost of a request at the gateway in instructions, reference counts and allocations, measured by valgrind, so that other work
on the machine has no effect.

    swift build -c release --static-swift-stdlib --product byway -Xswiftc -enforce-exclusivity=unchecked
    python3 -B Benchmarks/instructions.py --byway .build/release/byway
    python3 -B Benchmarks/instructions.py --byway .build/release/byway -- --metrics unix:{}/m --access-log {}/access

    python3 -B Benchmarks/instructions.py --byway .build/release/byway --check

The same load as Benchmarks/gateway.py: one connection, 64 streams. Only user code is measured. Calls are counted by symbols, which
`make release` strips; instructions are counted without.

--check measures a gateway, the same with metrics and access log, a proxy in front of a gateway, and one run of `byway request`. It fails if one
takes more instructions than its limit in each of three runs. On a busy machine, requests arrive in smaller groups and timers run more often per
request, which only adds instructions.
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

OBSERVED = ["--metrics", "unix:{}/m", "--access-log", "{}/access"]
# Instructions of a request, or of a run: what was measured, and 1 %. Lower them with the code.
LIMITS = {"gateway": 43_600, "gateway with metrics and log": 51_700, "proxy": 44_900, "byway request": 52_900_000}
RUNS = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--top", type=int, default=0, metavar="N", help="also the N functions that take the most")
    parser.add_argument("--check", action="store_true", help="fail if a limit is exceeded")
    parser.add_argument("arguments", nargs="*", help="for the gateway, behind --; {} is a folder of its own")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bw-", dir="/tmp") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        # Valgrind 3.19 does not read the debugging information of Swift 6.
        command = folder / "byway"
        subprocess.run(["strip", "-g", "-o", command, options.byway], check=True)
        if options.check:
            sys.exit(check(Rig(command, options.requests, folder)))
        total, calls, own = Rig(command, options.requests, folder).gateway(options.arguments)
    print(f"{total / options.requests:,.0f} instructions a request")
    for function in COUNTED:
        print(f"{calls[function] / options.requests:,.1f} calls of {function}")
    for function, instructions in own.most_common(options.top):
        print(f"{instructions / options.requests:8,.1f} {function}")


def check(rig):
    """Returns what is over its limit, as the end of the process."""
    measures = {
        "gateway": lambda: rig.gateway()[0] / rig.requests, "gateway with metrics and log": lambda: rig.gateway(OBSERVED)[0] / rig.requests,
        "proxy": lambda: rig.proxy()[0] / rig.requests, "byway request": lambda: rig.client()[0]}
    over = []
    for name, measure in measures.items():
        for _ in range(RUNS):
            count = measure()
            print(f"{name}: {count:,.0f} instructions, at most {LIMITS[name]:,}")
            if count <= LIMITS[name]:
                break
        else:
            over.append(name)
    return f"More instructions than allowed: {', '.join(over)}" if over else None


class Rig:
    """An origin, and the processes in front of it, of which one is counted."""

    def __init__(self, command, requests, folder):
        self.command, self.requests, self.folder = command, requests, folder
        self.runs = 0

    def gateway(self, arguments=()):
        """Returns (instructions, calls by name of the function, its own instructions by its name)."""
        with contextlib.ExitStack() as running:
            return self.count(running, "gateway", "--link", "unix:{}/s", "--origin", f"unix:{self.origin(running)}", *arguments)

    def proxy(self):
        with contextlib.ExitStack() as running:
            link = self.start(running, "gateway", "--link", "unix:{}/s", "--origin", f"unix:{self.origin(running)}").socket
            return self.count(running, "proxy", "--link", f"unix:{link}", "--listen", "unix:{}/s")

    def client(self):
        with contextlib.ExitStack() as running:
            link = self.start(running, "gateway", "--link", "unix:{}/s", "--origin", f"unix:{self.origin(running)}").socket
            profile = self.place() / "profile"
            subprocess.run(
                [contenders.program("valgrind", "valgrind"), "--tool=callgrind", f"--callgrind-out-file={profile}", self.command, "request",
                 "--link", f"unix:{link}", "http://localhost/"], check=True, capture_output=True, timeout=120)
            return read(profile)

    def place(self):
        self.runs += 1
        return contenders.fresh(self.folder, str(self.runs))

    def origin(self, running):
        origin = contenders.nginx_origin(1, self.place(), self.place())
        running.callback(origin.stop)
        return origin.socket

    def start(self, running, *arguments, under=()):
        """Starts the command; {} in its arguments is a folder of its own."""
        place = self.place()
        command = [*under, self.command, *(str(argument).replace("{}", str(place)) for argument in arguments)]
        server = contenders.Process(0, place, command, place / "s")
        running.callback(server.stop)
        return server

    def count(self, running, *arguments):
        """Counts the requests alone, without the start of the process."""
        profile = self.place() / "profile"
        server = self.start(running, *arguments, under=[
            contenders.program("valgrind", "valgrind"), "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={profile}"])
        load(server.socket, 500)
        control(server, "--instr=on")
        load(server.socket, self.requests)
        control(server, "--instr=off")
        control(server, "--dump=end")
        deadline = time.monotonic() + 30
        while not os.path.exists(f"{profile}.1"):
            if time.monotonic() > deadline:
                sys.exit("callgrind wrote nothing")
            time.sleep(0.1)
        return read(f"{profile}.1")


def control(server, *arguments):
    subprocess.run(["callgrind_control", *arguments, str(server.child.pid)], check=True, capture_output=True)


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
