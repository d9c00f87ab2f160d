"""An HTTP/1.1 origin in the soak's event loop, with predictable responses and failures on request."""
import asyncio
import hashlib


def pattern(name, size):
    """Returns the bytes of a body, which depend on its name and are known to both ends."""
    seed = hashlib.sha256(name.encode()).digest()
    return (seed * (size // len(seed) + 1))[:size]


class Origin:
    def __init__(self, path):
        self.path = path
        self.server = None
        self.mood = "well"
        self.connections = set()

    async def start(self):
        self.server = await asyncio.start_unix_server(self.serve, self.path)

    async def refuse(self, seconds):
        """Stops listening for a while, and cuts open connections."""
        await self.stop()
        await asyncio.sleep(seconds)
        await self.start()

    async def stop(self):
        self.server.close()
        for writer in list(self.connections):
            writer.transport.abort()

    async def serve(self, reader, writer):
        self.connections.add(writer)
        try:
            while await self.answer(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError, ValueError):
            pass
        finally:
            self.connections.discard(writer)
            writer.close()

    async def answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        fields = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        body = b""
        if "content-length" in fields:
            body = await reader.readexactly(int(fields["content-length"]))
        elif "chunked" in fields.get("transfer-encoding", ""):
            body = await self.chunks(reader)
        if self.mood == "hangs":
            await asyncio.sleep(600)
        if self.mood == "closes":
            return False
        if self.mood == "garbage":
            writer.write(b"\x00\x01 nonsense\r\n\r\n")
            return False
        _, kind, size, name = target.split("/")
        if kind == "slow":
            await asyncio.sleep(1.5)
        if kind == "hang":
            await asyncio.sleep(600)
        content = hashlib.sha256(body).hexdigest().encode() if kind == "upload" else pattern(name, int(size))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content))
        if kind == "stall":
            writer.write(content[: len(content) // 2])
            await writer.drain()
            await asyncio.sleep(600)
        if kind == "stream":
            for index in range(0, len(content), 512):
                writer.write(content[index : index + 512])
                await writer.drain()
                await asyncio.sleep(0.05)
        else:
            writer.write(content)
        await writer.drain()
        return True

    async def chunks(self, reader):
        body = b""
        while True:
            size = int((await reader.readline()).split(b";")[0], 16)
            body += await reader.readexactly(size)
            await reader.readline()
            if size == 0:
                return body
