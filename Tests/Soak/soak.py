#!/usr/bin/env python3
"""Gateways and proxies over every kind of link, with random faults. Linux, Python 3.11, OpenSSH's server and
mosquitto.

    python3 soak.py --byway .build/debug/byway --minutes 30

Meanwhile clients ask for small, large, slow, streamed and stalled answers and upload. At random: SIGKILL, SIGTERM and SIGSTOP
to the gateway, links that are cut in good order and hard, origins that refuse, hang, close and answer garbage, clients that
leave; and system calls of both ends fail, by the library of Tests/Faults. It fails where a request is older than its deadline, a byte is
wrong, a process ends by itself, a gateway outlasts its drain, no fault was injected; and at the end where requests do not succeed again,
descriptors, threads or memory are not as at the start, or the processor does not rest. With --undisturbed faults are all that happens.
"""
import argparse
import asyncio
import collections
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time

import soak_faults
import soak_links
import soak_process
from soak_origin import Origin, pattern

LINK_TIMEOUT, RESPONSE_TIMEOUT, BODY_TIMEOUT, DRAIN = 3, 4, 5, 4
# Four attempts of which each may wait for a stopped gateway, for a response and for a link; on a line, whose session lives
# on for a while without it, twice that. Then the body.
DEADLINE = {"unix": 45, "tcp": 45, "ssh": 60, "serial": 90, "ws": 45, "virtio": 90, "mqtt": 90}
SIZES = {"small": 300, "slow": 300, "hang": 1, "stall": 20_000, "stream": 20_000, "large": 1_000_000, "upload": 200_000}
FAILURES = {502, 503, 504}


class Process:
    """A byway process with its resource use."""

    def __init__(self, arguments, log, faults):
        self.arguments, self.log, self.faults = arguments, log, faults

    async def start(self):
        begin = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        self.process = await asyncio.create_subprocess_exec(
            *self.arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
            stderr=open(self.log, "a"), env=self.faults.environment if self.faults else None)
        for _ in range(1500):
            text = open(self.log, errors="replace").read()[begin:]
            if " ready on " in text:
                return text.split(" ready on ")[1].split()[0].rstrip(",")
            if self.process.returncode is not None:
                raise SystemExit(f"{' '.join(self.arguments)}: {text}")
            await asyncio.sleep(0.02)
        raise SystemExit(f"{' '.join(self.arguments)}: did not become ready")

    def send(self, number):
        if self.process.returncode is None:
            self.process.send_signal(number)

    async def ended(self, within):
        try:
            return await asyncio.wait_for(self.process.wait(), within) is not None
        except asyncio.TimeoutError:
            return False

    def cost(self):
        return soak_process.cost(self.process.pid)

    def processor(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Passage:
    """Origin, gateway, link and proxy of one kind, with the findings."""

    def __init__(self, kind, folder, byway, seed, library, rate):
        self.kind, self.folder, self.rate = kind, folder, rate
        self.faults = [soak_faults.Faults(library, f"{folder}/{end}.faults", seed) for end in ("gateway", "proxy")]
        gateway_faults, proxy_faults = self.faults if rate else (None, None)
        self.random = random.Random(f"{seed} {kind}")
        self.link = soak_links.make(kind, folder, byway)
        self.origin = Origin(f"{folder}/origin")
        self.gateway = Process(
            [byway, "gateway", "--link", self.link.far, "--origin", f"unix:{folder}/origin", "--drain", str(DRAIN),
             "--response-timeout", str(RESPONSE_TIMEOUT), "--body-timeout", str(BODY_TIMEOUT)], f"{folder}/gateway.log", gateway_faults)
        self.proxy = Process(
            [byway, "proxy", "--link", self.link.near, "--listen", "127.0.0.1:0", "--link-timeout", str(LINK_TIMEOUT),
             "--drain", str(DRAIN)], f"{folder}/proxy.log", proxy_faults)
        self.problems, self.results, self.done = [], collections.Counter(), collections.Counter()
        self.slowest = 0
        self.number = 0

    async def start(self):
        await self.origin.start()
        await self.link.start()
        await self.gateway.start()
        self.port = int((await self.proxy.start()).rsplit(":", 1)[1])

    # Clients

    async def request(self, kind):
        self.number += 1
        name, size = f"{self.kind}{self.number}", SIZES[kind] // (10 if self.kind == "serial" else 1) or 1
        begin = time.monotonic()
        try:
            result = await asyncio.wait_for(self.exchange(kind, size, name), DEADLINE[self.kind])
        except asyncio.TimeoutError:
            result = "hung"
            self.problems.append(f"/{kind}/{size}/{name} is older than its deadline")
        except (OSError, asyncio.IncompleteReadError, ValueError, IndexError):
            result = "broken"
        self.slowest = max(self.slowest, time.monotonic() - begin)
        self.results[result] += 1
        return result

    async def exchange(self, kind, size, name):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            body = pattern(name, size) if kind == "upload" else b""
            method = self.random.choice(["POST", "PUT"]) if body else self.random.choice(["GET", "GET", "GET", "POST"])
            length = f"Content-Length: {len(body)}\r\n" if method != "GET" else ""
            writer.write(
                f"{method} /{kind}/{size}/{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{length}\r\n".encode())
            writer.write(body)
            if self.random.random() < 0.08:
                await asyncio.sleep(self.random.random())
                return "left"
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            status = int(head.split()[1])
            if status != 200:
                if status not in FAILURES:
                    self.problems.append(f"/{kind}/{size}/{name}: status {status}")
                return status
            expected = hashlib.sha256(body).hexdigest().encode() if body else pattern(name, size)
            answer = await reader.readexactly(len(expected))
            if answer != expected:
                self.problems.append(f"/{kind}/{size}/{name}: wrong bytes")
            return 200
        finally:
            writer.transport.abort()

    async def client(self, end):
        kinds = ["small"] * 8 + ["slow", "slow", "stream", "large", "upload", "upload", "hang", "stall"]
        while time.monotonic() < end:
            await self.request(self.random.choice(kinds))
            await asyncio.sleep(self.random.random() * 0.3)

    # Faults

    async def disturb(self, end, mayRestart):
        while (left := end() - time.monotonic()) > 0:
            await asyncio.sleep(min(left, self.random.uniform(0.3, 2.5)))
            chosen = self.random.choice(
                [self.stop_gateway, self.cut, self.cut, self.origin_refuses, self.moody_origin]
                + [self.kill_gateway, self.end_gateway] * (2 if mayRestart() else 0))
            self.done[chosen.__name__] += 1
            await chosen()

    def pause(self):
        return self.random.choice([0, 0, self.random.uniform(0, 1), self.random.uniform(1, 5)])

    async def kill_gateway(self):
        self.gateway.send(signal.SIGKILL)
        await self.gateway.ended(5)
        await self.start_gateway()

    async def end_gateway(self):
        self.gateway.send(signal.SIGTERM)
        if not await self.gateway.ended(DRAIN + 5):
            self.problems.append("a gateway outlasted its drain")
            self.gateway.send(signal.SIGKILL)
            await self.gateway.ended(5)
        await self.start_gateway()

    async def start_gateway(self):
        await asyncio.sleep(self.pause())
        await self.gateway.start()

    async def stop_gateway(self):
        self.gateway.send(signal.SIGSTOP)
        await asyncio.sleep(self.random.uniform(0.2, 3))
        self.gateway.send(signal.SIGCONT)

    async def cut(self):
        await self.link.cut(self.pause(), self.random.random() < 0.6)

    async def origin_refuses(self):
        await self.origin.refuse(self.pause())

    async def moody_origin(self):
        self.origin.mood = self.random.choice(["hangs", "closes", "garbage"])
        await asyncio.sleep(self.random.uniform(0.2, 2))
        self.origin.mood = "well"

    # The whole run

    def set_faults(self, rate):
        for faults in self.faults if self.rate else []:
            faults.set(rate)

    def check_faults(self):
        """Checks that faults were injected at both ends, and returns their counts."""
        counts = [faults.counts() for faults in self.faults] if self.rate else []
        self.problems += ["no faults were injected" for count in counts if not any(count.values())]
        return [{name: number for name, number in count.items() if number} for count in counts]

    def is_alive(self):
        """Checks that neither end has exited by itself."""
        ended = [(name, process.process.returncode) for name, process in [("proxy", self.proxy), ("gateway", self.gateway)]]
        self.problems += [f"the {name} has ended by itself: {code}" for name, code in ended if code is not None]
        return all(code is None for _, code in ended)

    async def calm(self, count):
        """Checks that new requests succeed soon."""
        for _ in range(count):
            begin = time.monotonic()
            results = await asyncio.gather(*[self.request(kind) for kind in ["small", "slow", "upload", "stream"]])
            if any(result not in (200, "left") for result in results):
                return f"{results} after {time.monotonic() - begin:.1f} s"
        return None

    async def settle(self):
        """Waits until the last fault has no effect any more: as long as a link needs to return."""
        end = time.monotonic() + 30
        while (problem := await self.calm(2)) and time.monotonic() < end:
            await asyncio.sleep(0.5)
        if problem:
            self.problems.append(f"does not work any more: {problem}")

    async def cost(self, idle):
        await asyncio.sleep(idle)
        return {"proxy": self.proxy.cost(), "gateway": self.gateway.cost()}

    async def run(self, seconds, clients, idle, undisturbed):
        await self.start()
        await self.settle()
        start = (await self.cost(idle))["proxy"]
        begin = time.monotonic()
        end = begin + seconds
        # In the last third the gateway is not restarted, so that its resource use can be compared.
        third = begin + seconds * 2 / 3
        asking = [asyncio.create_task(self.client(end)) for _ in range(clients)]
        before = (await self.cost(0))["gateway"]
        self.set_faults(self.rate)
        if not undisturbed:
            await self.disturb(lambda: third, lambda: True)
            before = self.gateway.cost()
            await self.disturb(lambda: end, lambda: False)
        await asyncio.gather(*asking)
        self.set_faults(0)
        faults = self.check_faults()
        if not self.is_alive():
            await self.link.stop()
            await self.origin.stop()
            return {"link": self.kind, "faults": faults, "problems": self.problems}
        await self.settle()
        after = await self.cost(idle)
        self.compare("proxy", start, after["proxy"], 2)
        # Idle connections to the origin are kept for 50 s: as many as there were concurrent requests, including abandoned ones
        # and the last check.
        self.compare("gateway", before, after["gateway"], 2 if idle > 50 else 2 * clients + 4)
        await self.rest()
        await self.end()
        return {
            "link": self.kind, "requests": self.number, "results": {str(k): v for k, v in self.results.items()},
            "disturbances": dict(self.done), "slowest": round(self.slowest, 1), "proxy at start": start, "at end": after,
            "faults": faults, "problems": self.problems[:12],
        }

    def compare(self, name, start, end, descriptors):
        if end["descriptors"] > start["descriptors"] + descriptors:
            self.problems.append(f"{name}: {start['descriptors']} descriptors, and {end['descriptors']} at the end")
        if end["threads"] > start["threads"] + 2:
            self.problems.append(f"{name}: {start['threads']} threads, and {end['threads']} at the end")
        if end["KiB"] > start["KiB"] + 40_000:
            self.problems.append(f"{name}: {start['KiB']} KiB, and {end['KiB']} at the end")

    async def rest(self):
        before = [process.processor() for process in (self.proxy, self.gateway)]
        await asyncio.sleep(2)
        for name, process, used in zip(["proxy", "gateway"], (self.proxy, self.gateway), before):
            if process.processor() - used > 0.2:
                self.problems.append(f"{name}: used {process.processor() - used:.1f} s of 2 s with nothing to do")

    async def end(self):
        """With a request that waits for its link, the proxy exits within the link timeout."""
        self.gateway.send(signal.SIGKILL)
        await self.gateway.ended(5)
        waiting = asyncio.create_task(self.request("small"))
        await asyncio.sleep(0.5)
        begin = time.monotonic()
        self.proxy.send(signal.SIGTERM)
        if not await self.proxy.ended(DRAIN + 4):
            self.problems.append(f"the proxy runs {time.monotonic() - begin:.1f} s after SIGTERM")
            self.proxy.send(signal.SIGKILL)
        await waiting
        await self.link.stop()
        await self.origin.stop()


async def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--byway", required=True, help="the command")
    arguments.add_argument("--minutes", type=float, default=30)
    arguments.add_argument("--links", default="unix,tcp,ssh,serial")
    arguments.add_argument("--clients", type=int, default=5, help="for each link")
    arguments.add_argument("--idle", type=float, default=None, help="idle seconds before resource use is measured")
    arguments.add_argument("--faults", type=int, default=10_000, help="faults per million system calls; 0 for none")
    arguments.add_argument("--undisturbed", action="store_true", help="inject faults of system calls only")
    arguments.add_argument("--seed", type=int, default=None)
    arguments.add_argument("--folder", default=None, help="folder in which the logs are kept")
    options = arguments.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    idle = options.idle if options.idle is not None else (55 if options.minutes >= 5 else 0.5)
    print(f"seed {seed}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="soak") as temporary:
        folder = options.folder or temporary
        passages = []
        library = soak_faults.build(temporary) if options.faults else None
        for kind in options.links.split(","):
            os.makedirs(f"{folder}/{kind}", exist_ok=True)
            passages.append(Passage(kind, f"{folder}/{kind}", os.path.abspath(options.byway), seed, library, options.faults))
        try:
            reports = await asyncio.gather(
                *[p.run(options.minutes * 60, options.clients, idle, options.undisturbed) for p in passages])
        finally:
            for passage in passages:
                for process in (passage.gateway, passage.proxy):
                    if hasattr(process, "process"):
                        process.send(signal.SIGKILL)
    for report in reports:
        print(json.dumps({"seed": seed, **report}))
    return 1 if any(report["problems"] for report in reports) else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
