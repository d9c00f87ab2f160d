#!/usr/bin/env python3
"""The cost of dialing devices at a hub: the memory of an idle device, and the time until all reconnect after the hub was killed.

    python3 -B Benchmarks/hub.py --byway .build/release/byway

One process runs all gateways, each in its own section, instead of as many devices. The link is a Unix socket.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument("--devices", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bw-", dir="/tmp") as name:
        measure(options, pathlib.Path(name))


def measure(options, folder):
    with open(folder / "gateways.conf", "w") as file:
        print("origin = http://127.0.0.1:9", file=file)
        for number in range(options.devices):
            print(f"[gateway d{number}]\nname = d{number}\nlink = unix:{folder}/hub?open=dial", file=file)
    log = open(folder / "log", "w")
    hub = start(options, folder, log)
    gateways = None
    try:
        await_devices(folder, 0)
        before = resident(hub)
        gateways = subprocess.Popen([options.byway, "gateway", "--config", folder / "gateways.conf"], stdin=subprocess.DEVNULL, stderr=log)
        await_devices(folder, options.devices)
        time.sleep(3)
        after = resident(hub)
        print(f"{options.devices} idle devices: {(after - before) / options.devices:,.0f} bytes each ({before >> 10:,} → {after >> 10:,} KiB)")
        hub.kill()
        hub.wait()
        # The gateways notice the loss, and begin to back off.
        time.sleep(2)
        begin = time.monotonic()
        hub = start(options, folder, log)
        await_devices(folder, options.devices)
        print(f"killed, and 2 s later started again: all back after {time.monotonic() - begin:.1f} s")
    finally:
        for process in (hub, gateways):
            if process:
                process.terminate()
                process.wait(20)


def start(options, folder, log):
    return subprocess.Popen(
        [options.byway, "proxy", "--listen", f"unix:{folder}/list", "--hub", f"unix:{folder}/hub"],
        stdin=subprocess.DEVNULL, stderr=log)


def await_devices(folder, count):
    for _ in range(600):
        answer = subprocess.run(
            ["curl", "-qs", "--unix-socket", f"{folder}/list", "http://localhost/devices.json"], capture_output=True, text=True)
        if answer.returncode == 0 and sum(d["state"] == "up" for d in json.loads(answer.stdout)["devices"]) == count:
            return
        time.sleep(0.1)
    sys.exit(f"never {count} devices:\n{(folder / 'log').read_text()[-2000:]}")


def resident(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) << 10


if __name__ == "__main__":
    main()
