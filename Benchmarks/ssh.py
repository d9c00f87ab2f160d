#!/usr/bin/env python3
"""A link over SSH next to `ssh -L`, with the same cipher, to the same nginx, through the same sshd.

    python3 Benchmarks/ssh.py --byway .build/release/byway

Both reach the socket of an HTTP/1.1 server on the other machine: `byway proxy --link ssh://…?http=1.1`, and `ssh -L` as it is. A relay
between them and sshd adds a round trip if requested. Rounds are interleaved; medians are printed, as ratios to
`ssh -L` next to the numbers themselves, which hold for this machine and this hour only.
"""
import argparse
import asyncio
import contextlib
import getpass
import os
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time

import contenders
from processes import MEBIBYTE, configure_sshd, free_port, stop

BODY_SIZE = 64 << 20
CIPHER, MAC = "aes128-ctr", "hmac-sha2-256"


def main():
    options = parse()
    with contenders.workplace() as (folder, running, _):
        rig = Rig(options, folder, running)
        print("| measure | target | ratio to `ssh -L` | byway | ssh -L |\n|---|---|---|---|---|")
        throughput(options, rig, "64 MiB down on loopback, MiB/s", "", rig.direct, "down")
        throughput(options, rig, "64 MiB up on loopback, MiB/s", "", rig.direct, "up")
        throughput(options, rig, "64 MiB down with 100 ms of round trip, MiB/s", "> 1.5", rig.delayed, "down")
        throughput(options, rig, "64 MiB up with 100 ms of round trip, MiB/s", "", rig.delayed, "up")
        small(options, rig)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", metavar="PATH", required=True, help="the command, built for release")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--round-trip", type=int, default=100, metavar="MS")
    options = parser.parse_args()
    if not os.access(options.byway, os.X_OK):
        parser.error(f"{options.byway} is not a command: swift build -c release --product byway")
    return options


class Rig:
    """sshd, nginx behind it, and the ports that lead there."""

    def __init__(self, options, folder, running):
        self.options, self.folder, self.running = options, folder, running
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        self.port = free_port()
        configuration = configure_sshd(folder, self.port, f"Ciphers {CIPHER}\nMACs {MAC}")
        sshd = shutil.which("sshd") or "/usr/sbin/sshd"
        self.start([sshd, "-D", "-e", "-f", configuration], self.port)
        self.files = contenders.fresh(folder, "files")
        self.body = self.files / "body.bin"
        self.body.write_bytes(os.urandom(MEBIBYTE) * (BODY_SIZE // MEBIBYTE))
        core = min(os.sched_getaffinity(0))
        self.origin = contenders.nginx_origin(core, contenders.fresh(folder, "origin"), self.files)
        running.callback(self.origin.stop)
        self.sink = contenders.sink_origin(core, contenders.fresh(folder, "sink"))
        running.callback(self.sink.stop)
        relay = Relay(self.port, options.round_trip / 1000)
        self.direct = self.ways(self.port)
        self.delay_port = relay.port
        self.delayed = self.ways(relay.port)

    def ways(self, port):
        """Returns the ports of loopback that lead to the origin and to the sink, by the name of the program under test."""
        hosts = self.folder / f"known_hosts-{port}"
        hosts.write_text(f"[127.0.0.1]:{port} {(self.folder / 'host.pub').read_text()}")
        ways = {}
        for kind, place in (("down", self.origin.socket), ("up", self.sink.socket)):
            ssh, byway = free_port(), free_port()
            self.start(self.ssh(port, hosts) + ["-N", "-L", f"127.0.0.1:{ssh}:{place}"], ssh)
            link = f"ssh://{getpass.getuser()}@127.0.0.1:{port}{place}?http=1.1&config=none"
            link += f"&identity={self.folder / 'user'}&known_hosts={hosts}"
            self.start([self.options.byway, "proxy", "--link", link, "--listen", f"127.0.0.1:{byway}"], byway)
            ways[kind] = {"byway": byway, "ssh": ssh}
        return ways

    def fresh_login(self):
        """Returns the seconds from the start of `ssh -L` to the response."""
        local, far = free_port(), self.delay_port
        begun = time.monotonic()
        process = subprocess.Popen(
            self.ssh(far, self.folder / f"known_hosts-{far}") + ["-N", "-L", f"127.0.0.1:{local}:{self.origin.socket}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            await_port(local, process)
            curl(f"http://127.0.0.1:{local}/")
            return time.monotonic() - begun
        finally:
            stop(process, limit=5)

    def ssh(self, port, hosts):
        return [
            "ssh", "-F", "none", "-p", str(port), "-i", self.folder / "user", "-o", f"UserKnownHostsFile={hosts}",
            "-o", "IdentitiesOnly=yes", "-o", "LogLevel=ERROR", "-c", CIPHER, "-m", MAC, "127.0.0.1"]

    def start(self, command, port):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.running.callback(stop, process, limit=5)
        await_port(port, process)


def throughput(options, rig, title, target, ways, kind):
    rates = {"byway": [], "ssh": []}
    for number in range(options.rounds):
        for name in sorted(rates, reverse=number % 2 == 1):
            url = f"http://127.0.0.1:{ways[kind][name]}"
            seconds = (curl(f"{url}/body.bin") if kind == "down" else curl("-T", rig.body, "-H", "Expect:", f"{url}/sink"))
            rates[name].append(BODY_SIZE / MEBIBYTE / seconds)
    ours, theirs = (statistics.median(rates[name]) for name in ("byway", "ssh"))
    print(f"| {title} | {target} | {ours / theirs:.2f} | {ours:,.1f} | {theirs:,.1f} |", flush=True)


def small(options, rig):
    """Measures a new small request: over the existing link, and over a new connection through `ssh -L`."""
    times = {"byway": [], "ssh": []}
    ways = rig.delayed["down"]
    curl(f"http://127.0.0.1:{ways['byway']}/")
    # These requests are short and differ by milliseconds, so there are more of them.
    for _ in range(7 * options.rounds):
        for name in times:
            times[name].append(curl(f"http://127.0.0.1:{ways[name]}/"))
    ours, theirs = (statistics.median(times[name]) * 1000 for name in ("byway", "ssh"))
    title = f"a new small request with {options.round_trip} ms of round trip"
    print(f"| {title}, ms | ≤ 0.5 | {ours / theirs:.2f} | {ours:,.1f} | {theirs:,.1f} |", flush=True)
    fresh = statistics.median(rig.fresh_login() for _ in range(options.rounds)) * 1000
    print(f"| {title}, with `ssh -L` started for it, ms | ≤ 0.5 | {ours / fresh:.2f} | {ours:,.1f} | {fresh:,.1f} |", flush=True)


def curl(*arguments):
    """Returns the seconds of one transfer on a new connection."""
    command = ["curl", "-q", "-sS", "-f", "--noproxy", "*", "-o", "/dev/null", "-w", "%{time_total}", "-m", "300", *arguments]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


class Relay:
    """A relay that delays bytes by half a round trip in each direction, without a limit of bandwidth."""

    WINDOW = 64 << 20

    def __init__(self, target, round_trip):
        self.target, self.delay = target, round_trip / 2
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self.run, args=(ready,), daemon=True).start()
        ready.wait(5)

    def run(self, ready):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self.accept, "127.0.0.1", 0, limit=1 << 20))
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self.loop.run_forever()

    async def accept(self, reader, writer):
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target, limit=1 << 20)
        for stream in (writer, far_writer):
            stream.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream.transport.set_write_buffer_limits(high=self.WINDOW)
        await asyncio.gather(self.carry(reader, far_writer), self.carry(far_reader, writer))

    async def carry(self, reader, writer):
        pieces = asyncio.Queue()
        deliver = asyncio.ensure_future(self.deliver(pieces, writer))
        try:
            while piece := await reader.read(1 << 20):
                pieces.put_nowait((time.monotonic() + self.delay, piece))
        except OSError:
            pass
        pieces.put_nowait((time.monotonic() + self.delay, b""))
        await deliver

    async def deliver(self, pieces, writer):
        with contextlib.suppress(OSError):
            while True:
                due, piece = await pieces.get()
                await asyncio.sleep(max(0, due - time.monotonic()))
                if not piece:
                    break
                writer.write(piece)
                await writer.drain()
        writer.close()


def await_port(port, process):
    for _ in range(500):
        if process.poll() is not None:
            sys.exit(f"{process.args[0]} ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    sys.exit(f"{process.args[0]} does not listen on {port}")


if __name__ == "__main__":
    main()
