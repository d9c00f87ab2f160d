"""The peers of a plugin: an origin and a client in HTTP/1.1, and the daemon between them."""
import asyncio
import base64
import contextlib
import hashlib
import inspect
import json
import os
import pathlib
import signal
import socket
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEADLINE = 20
CHUNK = 1 << 16
PATTERN = bytes(index % 251 for index in range(251 + (1 << 20)))


def numbered(position, count):
    """Returns bytes that depend on their position. 251 is no divisor of the size of a frame."""
    return PATTERN[position % 251:position % 251 + count]


async def soon(condition, what, seconds=DEADLINE):
    """Waits until the condition holds, which may be a coroutine."""
    deadline = time.monotonic() + seconds
    while True:
        holds = condition()
        if await holds if inspect.isawaitable(holds) else holds:
            return
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.01)


async def listens(path, process):
    """Waits until a program accepts connections on a Unix socket. The socket is there a moment earlier."""
    async def accepts():
        try:
            _, writer = await asyncio.open_unix_connection(str(path))
        except OSError:
            assert process.returncode is None, "the program has ended"
            return False
        writer.close()
        return True

    await soon(accepts, f"{path} accepts no connection")


# ---- HTTP/1.1


async def read_head(reader):
    """Returns the first line, and the fields as pairs."""
    text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = text[:-4].split("\r\n")
    return first, [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]


def field(fields, name):
    return next((value for known, value in fields if known == name), None)


class Incoming:
    """A body that arrives: its chunks, and its trailers at the end."""

    def __init__(self, reader, fields, until_end=False):
        self.reader, self.trailers = reader, []
        self.is_chunked = (field(fields, "transfer-encoding") or "").lower() == "chunked"
        self.length = None if until_end else int(field(fields, "content-length") or 0)

    async def __aiter__(self):
        if self.is_chunked:
            while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
                while size:
                    chunk = await self.reader.read(min(size, CHUNK))
                    if not chunk:
                        raise asyncio.IncompleteReadError(b"", size)
                    size -= len(chunk)
                    yield chunk
                await self.reader.readexactly(2)
            while (line := await self.reader.readline()) not in (b"\r\n", b""):
                name, _, value = line.decode("latin-1").partition(":")
                self.trailers.append((name.lower(), value.strip()))
            return
        left = self.length
        while left is None or left > 0:
            chunk = await self.reader.read(CHUNK if left is None else min(left, CHUNK))
            if not chunk:
                if left is None:
                    return
                raise asyncio.IncompleteReadError(b"", left)
            if left is not None:
                left -= len(chunk)
            yield chunk

    async def read(self):
        return b"".join([chunk async for chunk in self])


class Answer:
    """A response as the client sees it."""

    def __init__(self, status, fields, informational, body):
        self.status, self.fields, self.informational, self.body = status, fields, informational, body

    def __getitem__(self, name):
        return field(self.fields, name)

    @property
    def text(self):
        return self.content.decode()


class Exchange:
    """One request on a connection of its own."""

    def __init__(self, path):
        self.socket = path

    async def __aenter__(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.setblocking(False)

        def connects():
            try:
                connection.connect(self.socket)
            except BlockingIOError:
                # The queue of connections that wait to be accepted is full. asyncio would take this for a connection.
                return False
            return True

        await soon(connects, "the queue of connections stays full")
        self.reader, self.writer = await asyncio.open_unix_connection(sock=connection, limit=1 << 20)
        return self

    async def __aexit__(self, *_):
        self.writer.close()

    def send(self, method, path, fields=(), body=b"", host="device.example"):
        fields = list(dict(fields).items()) if isinstance(fields, dict) else list(fields)
        if isinstance(body, bytes) and (body or method == "POST") and not any(name == "content-length" for name, _ in fields):
            fields.append(("content-length", str(len(body))))
        lines = [f"{method} {path} HTTP/1.1", f"host: {host}", *(f"{name}: {value}" for name, value in fields)]
        self.writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b""))
        self.method = method

    def chunk(self, data):
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def head(self):
        informational = []
        while True:
            first, fields = await read_head(self.reader)
            status = int(first.split()[1])
            if status >= 200 or status == 101:
                break
            informational.append((status, fields))
        until_end = "content-length" not in dict(fields) and "transfer-encoding" not in dict(fields)
        body = Incoming(self.reader, [] if self.method == "HEAD" or status in (204, 304) else fields,
                        until_end and self.method != "HEAD" and status not in (204, 304))
        return Answer(status, fields, informational, body)


# ---- The origin


class Origin:
    """A server whose paths are the behaviours of servers."""

    def __init__(self, path):
        self.socket = path
        self.seen = []
        self.left = 0
        self.tasks = set()
        self.events = asyncio.Queue()
        self.answers = {}

    async def __aenter__(self):
        self.server = await asyncio.start_unix_server(self.accept, self.socket, limit=1 << 20)
        return self

    async def __aexit__(self, *_):
        self.server.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def accept(self, reader, writer):
        task = asyncio.ensure_future(self.serve(reader, writer))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def serve(self, reader, writer):
        try:
            while True:
                first, fields = await read_head(reader)
                method, target, _ = first.split(" ")
                self.seen.append((method, target, fields))
                if field(fields, "expect") and target != "/late":
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                await self.answer(method, target, fields, Incoming(reader, fields), writer)
                await writer.drain()
                if field(fields, "connection") == "close":
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def head(self, writer, status=200, fields=()):
        lines = [f"HTTP/1.1 {status} Reason", *(f"{name}: {value}" for name, value in fields)]
        writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")

    def whole(self, writer, content, kind="text/plain", status=200, fields=(), is_head=False):
        content = content.encode() if isinstance(content, str) else content
        self.head(writer, status, [("content-type", kind), ("content-length", len(content)), *fields])
        if not is_head:
            writer.write(content)

    def chunk(self, writer, data):
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def answer(self, method, target, fields, body, writer):
        path, _, query = target.partition("?")
        name = path.split("/")[1]
        if path in self.answers:
            await body.read()
            answer = self.answers[path]
            answer = answer(method, query, fields) if callable(answer) else answer
            self.whole(writer, *answer, is_head=method == "HEAD")
        elif name == "page":
            self.whole(writer, "<p>Hello</p>", "text/html; charset=utf-8", is_head=method == "HEAD")
        elif name == "pages":
            self.head(writer, 200, [("content-type", "text/html"), ("transfer-encoding", "chunked"), ("trailer", "x-end")])
            for part in (b"<p>One", b"", b"Two</p>"):
                if part:
                    self.chunk(writer, part)
            writer.write(b"0\r\nx-end: yes\r\n\r\n")
        elif name == "packed":
            self.whole(writer, b"\x1f\x8bnot really", "text/html", fields=[("content-encoding", "gzip")])
        elif name == "bytes":
            size = int(path.split("/")[2])
            self.head(writer, 200, [("content-type", "application/octet-stream"), ("content-length", size)])
            for start in range(0, size, 1 << 20):
                writer.write(numbered(start, min(1 << 20, size - start)))
                await writer.drain()
        elif name == "return":
            self.whole(writer, await body.read(), "application/octet-stream")
        elif name in ("echo", "late"):
            if name == "late":
                self.whole(writer, "not wanted", status=417)
                writer.close()
                return
            self.head(writer, 200, [("content-type", "application/octet-stream"), ("transfer-encoding", "chunked")])
            async for part in body:
                self.chunk(writer, part)
                await writer.drain()
            writer.write(b"0\r\n" + b"".join(f"{name}: {value}\r\n".encode() for name, value in body.trailers) + b"\r\n")
        elif name == "trailers":
            self.head(writer, 200, [("content-type", "text/plain"), ("transfer-encoding", "chunked"), ("trailer", "x-end")])
            self.chunk(writer, b"chunk")
            writer.write(b"0\r\nx-end: last\r\n\r\n")
        elif name == "early":
            self.head(writer, 103, [("link", "</a.css>; rel=preload")])
            self.whole(writer, "early", is_head=method == "HEAD")
        elif name == "events":
            self.head(writer, 200, [("content-type", "text/event-stream"), ("transfer-encoding", "chunked")])
            while (event := await self.events.get()) is not None:
                self.chunk(writer, event)
                await writer.drain()
            writer.write(b"0\r\n\r\n")
        elif name == "socket":
            key = hashlib.sha1(f"{field(fields, 'sec-websocket-key')}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()
            accept = base64.b64encode(key).decode()
            self.head(writer, 101, [("upgrade", "websocket"), ("connection", "upgrade"), ("sec-websocket-accept", accept)])
            while data := await body.reader.read(CHUNK):
                writer.write(data)
                await writer.drain()
            raise ConnectionError
        elif name == "endless":
            self.head(writer, 200, [("content-type", "application/octet-stream"), ("transfer-encoding", "chunked")])
            try:
                while True:
                    self.chunk(writer, bytes(CHUNK))
                    await writer.drain()
            except ConnectionError:
                self.left += 1
                raise
        elif name == "seen":
            text = (await body.read()).decode("latin-1")
            self.whole(writer, json.dumps({"method": method, "target": target, "fields": dict(fields), "body": text}), "application/json")
        else:
            await body.read()
            self.whole(writer, f"{method} {path}", is_head=method == "HEAD")


# ---- Programs


class Program:
    """A process of this test. Its output is in a file, and it ends with the test."""

    def __init__(self, *command, env=None, log):
        self.command, self.env, self.log = [str(part) for part in command], env, log

    async def __aenter__(self):
        with open(self.log, "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.command, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **(self.env or {})})
        return self

    async def __aexit__(self, *_):
        await self.stop()

    @property
    def pid(self):
        return self.process.pid

    @property
    def output(self):
        return self.log.read_text(errors="replace")

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    async def stop(self):
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.terminate()
            try:
                await asyncio.wait_for(self.process.wait(), 5)
            except asyncio.TimeoutError:
                self.kill()
                await self.process.wait()


def peak(pid):
    """Returns the most memory that a process has had, in MiB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0


def children(pid):
    """Returns the processes that a process has started."""
    return [int(number) for task in pathlib.Path(f"/proc/{pid}/task").iterdir() for number in (task / "children").read_text().split()]


class Rig:
    """An origin, a proxy whose requests pass plugins, and what a client does."""

    def __init__(self, byway, *plugins, env=None):
        self.byway, self.plugins, self.env = byway, plugins, env

    async def __aenter__(self):
        self.stack = contextlib.AsyncExitStack()
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="bwp-", ignore_cleanup_errors=True)))
        try:
            self.origin = await self.stack.enter_async_context(Origin(str(self.folder / "origin")))
            self.socket = str(self.folder / "proxy")
            arguments = [part for plugin in self.plugins for part in ("--interceptor", plugin.replace("{}", str(self.folder)))]
            self.proxy = await self.stack.enter_async_context(Program(
                self.byway, "proxy", "--link", f"unix:{self.folder}/origin?http=1.1", "--listen", f"unix:{self.socket}", *arguments,
                "--drain", "1", env={"PYTHONPATH": str(ROOT / "plugins/python"), "PYTHONDONTWRITEBYTECODE": "1", **(self.env or {})},
                log=self.folder / "log"))
            await soon(lambda: "proxy ready" in self.log or self.proxy.process.returncode is not None, "the proxy has not started")
            assert self.proxy.process.returncode is None, self.log
        except BaseException:
            await self.stack.aclose()
            raise
        return self

    async def __aexit__(self, *_):
        await self.stack.aclose()

    @property
    def log(self):
        return self.proxy.output

    def exchange(self):
        return Exchange(self.socket)

    async def send(self, method, path, fields=(), body=b"", host="device.example"):
        """Returns the whole answer."""
        async with asyncio.timeout(DEADLINE), self.exchange() as exchange:
            exchange.send(method, path, fields, body, host)
            answer = await exchange.head()
            answer.content = await answer.body.read()
            return answer

    async def get(self, path, fields=(), **more):
        return await self.send("GET", path, fields, **more)

    async def post(self, path, body=b"", fields=(), **more):
        return await self.send("POST", path, fields, body, **more)


def end(pid):
    """Kills a process that this test has started."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
