#!/usr/bin/env python3
"""POSTs through a proxy and a gateway to origins that close each connection 0, 1, 20 and 300 ms after their answer, without
having said so. Linux, Python 3.11.

    python3 posts.py --byway .build/debug/byway --count 10000

Fails unless every POST is answered with 200 and arrives exactly once.
"""
import argparse
import asyncio
import json
import pathlib
import sys
import tempfile
import time

ORIGIN = pathlib.Path(__file__).parent.parent / "Support" / "origin.py"
PAUSES = [0, 1, 20, 300]
POST = b"POST /count HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx"
GET = b"GET /count HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def started(arguments, mark):
    """Starts a process. Returns it and the word after the mark in its output."""
    process = await asyncio.create_subprocess_exec(
        *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
    while line := (await asyncio.wait_for(process.stdout.readline(), 10)).decode():
        if mark in line:
            return process, line.split(mark)[1].split()[0]
    raise SystemExit(f"{' '.join(map(str, arguments))} ended")


async def answer(reader, writer, request):
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(head.split("content-length:")[1].split()[0])
    return int(head.split()[1]), await reader.readexactly(length)


async def client(address, count):
    """Sends POSTs one after another and counts failures. A failure closes its connection."""
    failures, connection = 0, None
    for _ in range(count):
        connection = connection or await asyncio.open_connection(*address)
        try:
            status, _ = await answer(*connection, POST)
        except (asyncio.IncompleteReadError, ConnectionError):
            status = 0
        if status != 200:
            failures += 1
            connection[1].close()
            connection = None
    return failures


async def run(options, pause, folder):
    origin, place = await started(
        [sys.executable, ORIGIN, "--listen", "127.0.0.1:0", "--drop-after", "1", "--drop-ms", str(pause)], "ready ")
    link = f"unix:{folder}/{pause}"
    gateway, _ = await started(
        [options.byway, "gateway", "--link", link, "--origin", f"http://{place}"], "ready on ")
    proxy, url = await started([options.byway, "proxy", "--link", link, "--listen", "127.0.0.1:0"], "ready on ")
    host, port = url.removeprefix("http://").rstrip(",").split(":")
    address = host, int(port)
    start = time.monotonic()
    each = [options.count // options.clients] * options.clients
    lost = sum(await asyncio.gather(*(client(address, count) for count in each)))
    rate = sum(each) / (time.monotonic() - start)
    reader, writer = await asyncio.open_connection(*address)
    _, body = await answer(reader, writer, GET)
    arrived = json.loads(body).get("posts")
    writer.close()
    for process in (proxy, gateway, origin):
        process.terminate()
        await process.wait()
    print(f"closes after {pause:3} ms: {sum(each)} sent, {lost} lost, {arrived} arrived, {rate:.0f}/s", flush=True)
    return lost == 0 and arrived == sum(each)


async def main():
    arguments = argparse.ArgumentParser(description="POSTs to origins that close their connections")
    arguments.add_argument("--byway", required=True)
    arguments.add_argument("--count", type=int, default=10_000)
    arguments.add_argument("--clients", type=int, default=4)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = [await run(options, pause, folder) for pause in PAUSES]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    asyncio.run(main())
