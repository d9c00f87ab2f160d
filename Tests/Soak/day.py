#!/usr/bin/env python3
"""A day of two daemons compressed to an hour: three links, 50 clients, restarts and link failures. Linux, Python 3.11.

    python3 day.py --byway .build/release/byway --minutes 60

One gateway daemon and one proxy daemon with a section for each link. Every 20 s a link is cut and is away for two seconds; every
minute both daemons reload another configuration; every 90 s the origin is restarted. All the time 50 clients ask for small,
large and streamed answers, and upload. It fails where a byte is wrong, where a request fails that no cut and no restart
explains, where a daemon ends, or where descriptors, threads or memory are not as at the start in the end.

The start is when all of this has gone on for a tenth of the time, four minutes at least, and has rested: what a first crowd, a
first cut and a first reload take is kept for the next. Every tenth of the time a line on standard error says how it is.
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

import soak_links
import soak_process

LINKS = 3
CLIENTS = 50
LINK_TIMEOUT = 5
SIZES = {"small": 300, "large": 1_000_000, "stream": 60_000, "upload": 200_000}
# The time after a cut or a restart in which failures are expected: the request's wait plus the detection time.
EXPLAINED = LINK_TIMEOUT + 20
FAILURES = {502, 503, 504}
# Idle connections to origins are closed after 50 s.
REST = 60


def pattern(size):
    return (b"0123456789abcdef" * (size // 16 + 1))[:size]


async def serve(reader, writer):
    """The origin: responds with as many bytes as the path says, in pieces if streamed, and with an upload's digest."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, path, _ = head.split(" ", 2)
            length = next((int(l.split(":")[1]) for l in head.lower().split("\r\n") if l.startswith("content-length:")), 0)
            body = await reader.readexactly(length)
            if method == "PUT":
                answer = hashlib.sha256(body).hexdigest().encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
            elif path == "/stream":
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for start in range(0, SIZES["stream"], 6000):
                    piece = pattern(SIZES["stream"])[start:start + 6000]
                    writer.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
                    await writer.drain()
                    await asyncio.sleep(0.05)
                writer.write(b"0\r\n\r\n")
            else:
                answer = pattern(SIZES[path[1:]])
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, ValueError, KeyError):
        pass
    finally:
        writer.close()


class Cable:
    """A link between proxy and gateway that can be cut: bytes in flight are lost, and connecting fails for a while."""

    def __init__(self, near, far):
        self.near, self.far, self.writers = near, far, set()

    async def plug(self):
        self.server = await asyncio.start_unix_server(self.connect, self.near)

    async def cut(self, pause):
        self.server.close()
        for writer in list(self.writers):
            writer.transport.abort()
        if os.path.exists(self.near):
            os.unlink(self.near)
        await asyncio.sleep(pause)
        await self.plug()

    async def connect(self, reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(self.far)
        except OSError:
            return writer.close()
        self.writers |= {writer, far_writer}
        await asyncio.gather(soak_links.pump(reader, far_writer), soak_links.pump(far_reader, writer), return_exceptions=True)
        for end in (writer, far_writer):
            self.writers.discard(end)
            end.close()


class Daemon:
    def __init__(self, byway, kind, folder):
        self.kind, self.file, self.log = kind, f"{folder}/{kind}.conf", f"{folder}/{kind}.log"
        self.arguments = [byway, kind, "--config", self.file]

    async def start(self, environment):
        self.process = await asyncio.create_subprocess_exec(
            *self.arguments, stdin=asyncio.subprocess.DEVNULL, stderr=open(self.log, "a"), env=environment)
        for _ in range(500):
            if open(self.log, errors="replace").read().count(" ready on ") == LINKS:
                return
            await asyncio.sleep(0.05)
        raise SystemExit(f"{self.kind} did not become ready: {open(self.log).read()}")

    def cost(self):
        return soak_process.cost(self.process.pid)


class Day:
    def __init__(self, byway, folder, seed, pause):
        self.folder, self.random, self.pause = folder, random.Random(seed), pause
        self.gateway, self.proxy = Daemon(byway, "gateway", folder), Daemon(byway, "proxy", folder)
        self.cables = [Cable(f"{folder}/near{i}", f"{folder}/far{i}") for i in range(LINKS)]
        self.cuts = [0.0] * LINKS
        self.restarted = 0.0
        self.done, self.failed, self.problems = collections.Counter(), collections.Counter(), []
        self.reloads = 0

    def configure(self, round):
        with open(self.gateway.file, "w") as file:
            print(f"origin = unix:{self.folder}/origin\nresponse-timeout = {30 + round % 7}", file=file)
            print(f"access-log = {self.folder}/access.log\nmetrics = unix:{self.folder}/metrics", file=file)
            for i in range(LINKS):
                print(f"[gateway g{i}]\nlink = unix:{self.folder}/far{i}", file=file)
                if round % 2:
                    print(f"link = unix:{self.folder}/spare{i}", file=file)
        with open(self.proxy.file, "w") as file:
            print(f"link-timeout = {LINK_TIMEOUT}\nmetrics = unix:{self.folder}/pmetrics", file=file)
            for i in range(LINKS):
                print(f"[proxy p{i}]\nlink = unix:{self.folder}/near{i}\nlisten = unix:{self.folder}/p{i}", file=file)
                print(f"name = round{round}.example", file=file)

    async def start_origin(self):
        self.origin = await asyncio.start_unix_server(serve, f"{self.folder}/origin", limit=1 << 20)

    async def cutting(self):
        while True:
            await asyncio.sleep(20)
            i = self.random.randrange(LINKS)
            self.cuts[i] = time.monotonic()
            await self.cables[i].cut(2)
            self.cuts[i] = time.monotonic()

    async def restarting(self):
        while True:
            await asyncio.sleep(90)
            self.restarted = time.monotonic()
            self.origin.close()
            os.unlink(f"{self.folder}/origin")
            await asyncio.sleep(1)
            await self.start_origin()
            self.restarted = time.monotonic()

    async def reloading(self):
        while True:
            await asyncio.sleep(60)
            self.reloads += 1
            self.configure(self.reloads)
            for daemon in (self.gateway, self.proxy):
                daemon.process.send_signal(signal.SIGHUP)

    async def client(self, number):
        while True:
            kind = self.random.choice(list(SIZES))
            i = self.random.randrange(LINKS)
            begin = time.monotonic()
            try:
                problem = await asyncio.wait_for(self.ask(i, kind), 120)
            except asyncio.TimeoutError:
                self.problems.append(f"{kind} on link {i} took 120 s")
                continue
            if problem is None:
                self.done[kind] += 1
            elif max(self.cuts[i], self.restarted) > begin - EXPLAINED:
                self.failed[problem] += 1
            else:
                self.problems.append(f"{kind} on link {i}: {problem}, and nothing was cut")
            await asyncio.sleep(self.random.random() * self.pause)

    async def ask(self, i, kind):
        """Returns the error of a request, or nothing."""
        try:
            reader, writer = await asyncio.open_unix_connection(f"{self.folder}/p{i}")
        except OSError as error:
            return f"no connection: {error}"
        try:
            body = pattern(SIZES[kind]) if kind == "upload" else b""
            method = "PUT" if body else "GET"
            length = f"Content-Length: {len(body)}\r\n" if body else ""
            writer.write(f"{method} /{kind} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{length}\r\n".encode() + body)
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            status = int(head.split(" ")[1])
            rest = await reader.read()
            if status in FAILURES:
                return f"status {status}"
            if status != 200:
                self.problems.append(f"{kind}: status {status}")
                return None
            chunked = "transfer-encoding: chunked" in head.lower()
            content = unchunk(rest) if chunked else rest
            if content is None:
                return "cut short"
            if not chunked:
                declared = next(int(l.split(":")[1]) for l in head.lower().split("\r\n") if l.startswith("content-length:"))
                if len(content) < declared:
                    return "cut short"
            wanted = hashlib.sha256(body).hexdigest().encode() if body else pattern(SIZES[kind])
            if content != wanted:
                self.problems.append(f"{kind}: wrong content, {len(content)} bytes")
            return None
        except (asyncio.IncompleteReadError, ConnectionError, OSError) as error:
            return f"no answer: {type(error).__name__}"
        finally:
            writer.close()

    async def run(self, minutes):
        environment = dict(os.environ, XDG_RUNTIME_DIR=self.folder)
        self.configure(0)
        await self.start_origin()
        await self.gateway.start(environment)
        for cable in self.cables:
            await cable.plug()
        await self.proxy.start(environment)
        await self.work(max(4, minutes / 10))
        before = await self.rested()
        await self.work(minutes, tenths=True)
        after = await self.rested()
        self.report(before, after, minutes)
        for daemon in (self.gateway, self.proxy):
            daemon.process.terminate()
            if await asyncio.wait_for(daemon.process.wait(), 20) != 0:
                self.problems.append(f"{daemon.kind} ended with {daemon.process.returncode}")

    async def work(self, minutes, tenths=False):
        """Runs all clients and events for the given time."""
        daemons = (self.gateway, self.proxy)
        tasks = [asyncio.create_task(work()) for work in (self.cutting, self.restarting, self.reloading)]
        tasks += [asyncio.create_task(self.client(number)) for number in range(CLIENTS)]
        ends = [asyncio.create_task(daemon.process.wait()) for daemon in daemons]
        for tenth in range(1, 11):
            await asyncio.wait(ends, timeout=minutes * 6, return_when=asyncio.FIRST_COMPLETED)
            if tenths:
                print(f"{tenth}/10: {sum(self.done.values())} requests, "
                      + ", ".join(f"{daemon.kind} {daemon.cost()}" for daemon in daemons if daemon.process.returncode is None),
                      file=sys.stderr, flush=True)
        for task in tasks + ends:
            task.cancel()
        for daemon in daemons:
            if daemon.process.returncode is not None:
                raise SystemExit(f"{daemon.kind} ended with {daemon.process.returncode}: {open(daemon.log).read()[-3000:]}")
        errors = [error for error in await asyncio.gather(*tasks, return_exceptions=True)
                  if not isinstance(error, asyncio.CancelledError)]
        self.problems += [repr(error) for error in errors]

    async def rested(self):
        """Measures the daemons' resources after an idle time."""
        self.configure(0)
        for daemon in (self.gateway, self.proxy):
            daemon.process.send_signal(signal.SIGHUP)
        for cable in self.cables:
            if not os.path.exists(cable.near):
                await cable.plug()
        if not os.path.exists(f"{self.folder}/origin"):
            await self.start_origin()
        await asyncio.sleep(REST)
        await self.warm()
        return [daemon.cost() for daemon in (self.gateway, self.proxy)]

    async def warm(self):
        for i in range(LINKS):
            for kind in SIZES:
                if problem := await self.ask(i, kind):
                    self.problems.append(f"at rest, {kind} on link {i}: {problem}")
        await asyncio.sleep(2)

    def report(self, before, after, minutes):
        print(f"{minutes:g} minutes, {self.reloads} reloads, {sum(self.done.values())} requests: {dict(self.done)}")
        print(f"explained by a cut or a restart: {dict(self.failed)}")
        print("| | descriptors | threads | KiB |\n|---|---|---|---|")
        for daemon, start, end in zip((self.gateway, self.proxy), before, after):
            print(f"| {daemon.kind} | " + " | ".join(f"{start[k]} → {end[k]}" for k in start) + " |")
            for key, allowed in (("descriptors", 3), ("threads", 2), ("KiB", 6144)):
                if end[key] > start[key] + allowed:
                    self.problems.append(f"{daemon.kind}: {key} {start[key]} → {end[key]}")
        wrong = open(self.gateway.log, errors="replace").read().count("stays in force")
        if wrong:
            self.problems.append(f"{wrong} reloads were refused")


def unchunk(data):
    content = b""
    while True:
        line, separator, data = data.partition(b"\r\n")
        if not separator:
            return None
        size = int(line, 16)
        if size == 0:
            return content
        if len(data) < size + 2:
            return None
        content, data = content + data[:size], data[size + 2:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--pause", type=float, default=0.2, help="longest pause of a client between two requests (default: 0.2 s)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="day") as folder:
        day = Day(os.path.abspath(options.byway), folder, options.seed, options.pause)
        asyncio.run(day.run(options.minutes))
    counts = collections.Counter(day.problems)
    for problem, count in counts.most_common(20):
        print(f"PROBLEM ({count} times): {problem}")
    print("no problem" if not counts else f"{len(day.problems)} problems, seed {options.seed}")
    sys.exit(bool(counts))


if __name__ == "__main__":
    main()
