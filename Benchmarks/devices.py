#!/usr/bin/env python3
"""The cost of many devices at a proxy: a thousand configured devices, and the lookup of names.

    python3 -B Benchmarks/devices.py --byway .build/release/byway

First it measures the start time and resident memory of a proxy with a thousand devices in its file, of which ten are used. Then it sends
the same small requests through a proxy with one link, and through one with a thousand named devices, in interleaved rounds.
The difference in processor time is the cost of finding a device.
"""
import subprocess
import time

import contenders

DEVICES = 1000
USED = 10


def measure(options, folder, start):
    files = contenders.fresh(folder, "files")
    origin = start(contenders.nginx_origin(1, contenders.fresh(folder, "origin"), files))
    links = contenders.fresh(folder, "links")
    gateway = [options.byway, "gateway", "--origin", f"unix:{origin.socket}"]
    for number in range(USED):
        gateway += ["--link", f"unix:{links}/d{number}"]
    start(contenders.Process(1, links, gateway, links / f"d{USED - 1}"))

    plain = contenders.fresh(folder, "plain")
    one = start(contenders.Process(
        0, plain, [options.byway, "proxy", "--link", f"unix:{links}/d0", "--listen", f"unix:{plain}/s"], plain / "s"))
    many_folder = contenders.fresh(folder, "many")
    with open(many_folder / "proxy.conf", "w") as file:
        print(f"listen = unix:{many_folder}/s", file=file)
        for number in range(DEVICES):
            print(f"[device d{number}]\ntitle = Device {number}\nlink = unix:{links}/d{number}", file=file)
    begin = time.monotonic()
    many = start(contenders.Process(
        0, many_folder, [options.byway, "proxy", "--config", many_folder / "proxy.conf"], many_folder / "s"))
    started = time.monotonic() - begin
    for number in range(USED):
        subprocess.run(
            [contenders.program("curl", "curl"), "-qsf", "-o", "/dev/null", "--unix-socket", many.socket,
             f"http://d{number}.localhost/"], check=True)
    memory = many.memory()[0]

    rows = {"one link": (one, "http://localhost/"), f"{DEVICES} by name": (many, "http://d7.localhost/")}
    lines = [
        f"start with {DEVICES} devices: {started * 1000:.0f} ms; resident, {USED} of them used: {memory:.1f} MiB", "",
        *contenders.compare(rows, options)]
    return "\n".join(lines)


if __name__ == "__main__":
    contenders.run(__doc__, measure, rounds=7)
