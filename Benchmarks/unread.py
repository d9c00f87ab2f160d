#!/usr/bin/env python3
"""The largest memory that a client which reads nothing can occupy in a gateway and in a proxy.

    /usr/bin/python3 -B Benchmarks/unread.py --byway .build/release/byway

Needs python3-h2 of Debian. Each attack runs against new processes that have served one request. The exit status is 1 if one
costs more than 8 MiB.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

SUPPORT = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Support"
LIMIT = 8 * 1024
ATTACKS = {
    "256 streams over HTTP/2 whose windows stay closed": ["h2raw.py", "zero-window"],
    "256 streams over HTTP/2 on a connection that is not read": ["h2raw.py", "deaf"],
    "1,000 requests pipelined over HTTP/1.1": None,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", default=".build/release/byway")
    parser.add_argument("--seconds", type=float, default=8)
    options = parser.parse_args()
    print("| requested and not read | gateway, MiB | proxy, MiB |\n|---|---|---|")
    worst = 0
    for name, attack in ATTACKS.items():
        costs = measure(options, attack)
        worst = max(worst, *costs)
        print(f"| {name} | {costs[0] / 1024:.1f} | {costs[1] / 1024:.1f} |", flush=True)
    sys.exit(worst > LIMIT)


def measure(options, attack):
    with tempfile.TemporaryDirectory() as folder:
        programs = []
        try:
            origin, link = f"unix:{folder}/origin", f"unix:{folder}/link"
            start(programs, [sys.executable, "-B", SUPPORT / "origin.py", "--listen", origin], "ready", "stdout")
            gateway, _ = start(programs, [options.byway, "gateway", "--link", link, "--origin", origin], "ready on")
            proxy, line = start(
                programs, [options.byway, "proxy", "--link", link, "--listen", "127.0.0.1:0"], "ready on")
            address = line.split("http://")[1].split()[0]
            subprocess.run(["curl", "-sS", "-o", "/dev/null", f"http://{address}/bytes?size=1000"], check=True)
            for process in (gateway, proxy):
                # Resets the peak, because the peak at the start includes memory of the dynamic linker that was released.
                pathlib.Path(f"/proc/{process.pid}/clear_refs").write_text("5")
            before = [memory(process, "VmRSS") for process in (gateway, proxy)]
            subprocess.run(command(address, attack, options.seconds), check=True, stdout=subprocess.DEVNULL)
            after = [memory(process, "VmHWM") for process in (gateway, proxy)]
            return [high - low for high, low in zip(after, before)]
        finally:
            for process in reversed(programs):
                process.terminate()
                process.wait()


def command(address, attack, seconds):
    if attack is None:
        return [sys.executable, "-B", SUPPORT / "h1client.py", "pipeline", address, "/bytes?size=200000", "--count",
                "1000", "--ms", str(int(seconds * 1000))]
    script, name = attack
    return [sys.executable, "-B", SUPPORT / script, address, name, "--streams", "256", "--target",
            "/bytes?size=4194304", "--deadline", str(seconds)]


def start(programs, arguments, mark, output="stderr"):
    """Returns the process, and the line that reports its readiness."""
    pipes = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, output: subprocess.PIPE}
    process = subprocess.Popen(list(map(str, arguments)), text=True, **pipes)
    programs.append(process)
    deadline = time.monotonic() + 10
    for line in getattr(process, output):
        if mark in line:
            return process, line
        if time.monotonic() > deadline:
            break
    raise SystemExit(f"{arguments[0]} did not start")


def memory(process, name):
    """In KiB."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(name + ":"))


if __name__ == "__main__":
    main()
