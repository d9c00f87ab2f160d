"""Plugins that do harm, and what a client gets then."""
import asyncio
import random

from peers import DEADLINE, Rig, peak

MEMORY = 128


class Hostile:
    """A plugin on a Unix socket that does the same with each connection."""

    def __init__(self, rig, behave):
        self.rig, self.behave, self.tasks = rig, behave, set()

    async def __aenter__(self):
        self.server = await asyncio.start_unix_server(self.accept, str(self.rig.folder / "plugin"))
        return self

    async def __aexit__(self, *_):
        self.server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def accept(self, reader, writer):
        self.tasks.add(asyncio.ensure_future(self.serve(reader, writer)))

    async def serve(self, reader, writer):
        try:
            await self.behave(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def expect(byway, behave, http="1.1", bypasses=True):
    """Checks both policies, and that memory stays bounded."""
    for policy, status in (("refuse", 502), ("bypass", 200 if bypasses else 502)):
        async with Rig(byway, f"unix:{{}}/plugin?http={http}&timeout=1&on-failure={policy}") as rig, Hostile(rig, behave):
            for answer in await asyncio.gather(*(rig.get("/text") for _ in range(3))):
                assert answer.status == status, f"{policy}: {answer.status}"
                assert (answer.text == "GET /text") == (status == 200) and (status == 200 or "plugin" in answer.text), answer.text
            assert peak(rig.proxy.pid) < MEMORY, f"{peak(rig.proxy.pid):.0f} MiB"


async def hangs(byway):
    """a plugin that never answers"""
    async def behave(reader, writer):
        await asyncio.Event().wait()
    await expect(byway, behave)
    await expect(byway, behave, "2")


async def garbage(byway):
    """a plugin that sends garbage"""
    async def behave(reader, writer):
        writer.write(random.Random(27).randbytes(100_000))
        await writer.drain()
        await reader.read()
    await expect(byway, behave)
    await expect(byway, behave, "2")


async def fields(byway):
    """a plugin that floods header fields"""
    async def behave(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(1_000_000):
            writer.write(b"x-field-%d: %s\r\n" % (number, b"x" * 100))
            await writer.drain()
            if writer.is_closing():
                return
    await expect(byway, behave)


async def informational(byway):
    """a plugin that sends 103 without end"""
    async def behave(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        while True:
            writer.write(b"HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n")
            await writer.drain()
            # Real time: it sends as fast as a machine can read, and no faster.
            await asyncio.sleep(0.001)
    for policy in ("refuse", "bypass"):
        async with Rig(byway, f"unix:{{}}/plugin?http=1.1&timeout=1&on-failure={policy}") as rig, Hostile(rig, behave):
            assert (await rig.get("/text")).status in (200, 502)
            assert peak(rig.proxy.pid) < MEMORY


async def framing(byway):
    """a plugin whose framing is ambiguous"""
    async def behave(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello")
        await writer.drain()
        await reader.read()
    await expect(byway, behave)


async def redirect(byway):
    """a plugin that redirects to a file: the client gets the redirect, and no file"""
    async def behave(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 302 Found\r\nlocation: file:///etc/passwd\r\nx-accel-redirect: /etc/passwd\r\n"
                     b"x-sendfile: /etc/passwd\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        await reader.read()
    async with Rig(byway, "unix:{}/plugin?http=1.1&timeout=1") as rig, Hostile(rig, behave):
        answer = await rig.get("/text")
        assert (answer.status, answer["location"], answer.content) == (302, "file:///etc/passwd", b""), answer.fields
        assert rig.origin.seen == []


async def reads_nothing(byway):
    """a plugin that reads no body"""
    async def behave(reader, writer):
        await asyncio.Event().wait()
    async with Rig(byway, "unix:{}/plugin?http=1.1&timeout=1") as rig, Hostile(rig, behave), asyncio.timeout(DEADLINE):
        async with rig.exchange() as exchange:
            exchange.send("POST", "/echo", {"content-length": str(1 << 28)}, None)

            async def upload():
                for _ in range(1 << 12):
                    exchange.writer.write(bytes(1 << 16))
                    await exchange.writer.drain()

            sending = asyncio.ensure_future(upload())
            assert (await exchange.head()).status == 502
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        assert peak(rig.proxy.pid) < MEMORY, f"{peak(rig.proxy.pid):.0f} MiB"


async def exits(byway):
    """a program that ends at once"""
    for policy, status in (("refuse", 502), ("bypass", 200)):
        async with Rig(byway, f"exec:/bin/false?timeout=2&on-failure={policy}") as rig:
            assert (await rig.get("/text")).status == status


CHECKS = (hangs, garbage, fields, informational, framing, redirect, reads_nothing, exits)
