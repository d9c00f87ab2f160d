"""Addons for Byway: hooks that see each request on its way to the origin, and each response on its way back.

    #!/usr/bin/env python3
    import byway_addon

    async def response(flow):
        flow.response.headers["x-seen-by"] = "my addon"

    byway_addon.run(response=response)

Start it with `byway proxy --interceptor exec:./addon.py …`. It needs Python 3.9 and nothing else.

An addon is an HTTP/2 server. It speaks on its standard streams if Byway has started it, and otherwise listens on a Unix socket. It sends
requests on to the next hop, whose address Byway gives in the field `byway-next` of each request.

If the file of the addon changes, its new hooks get the next requests. Running requests keep the hooks that they began with.
"""
import asyncio
import os
import re
import sys
import traceback
import types

__all__ = ["Body", "Flow", "Headers", "run"]

WINDOW = 256 * 1024
CONNECTION_WINDOW = 16 * 1024 * 1024
FRAME = 16384
HEAD_LIMIT = 256 * 1024
FIELD_LIMIT = 1000
STREAM_LIMIT = 1000
NOTE_LIMIT = 256
NOTES_LIMIT = 8
RELOAD_SECONDS = 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, WITH_PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
CONNECTION_FIELDS = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL = 0, 2, 7, 8


# ---- For hooks


class Headers:
    """The fields of a message, in order. Names are in lower case."""

    def __init__(self, items=()):
        self.items = []
        if isinstance(items, dict):
            for name, value in items.items():
                self.add(name, value)
        else:
            self.items = [(name.lower(), str(value)) for name, value in items]

    def get(self, name, default=None):
        """Returns the first value of a field."""
        return next((value for known, value in self.items if known == name.lower()), default)

    def get_all(self, name):
        return [value for known, value in self.items if known == name.lower()]

    def add(self, name, value):
        """Adds a line, even if the field is there already. Raises a ValueError for a field that no message may have."""
        name, value = name.lower(), str(value)
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9a-z-]+", name):
            raise ValueError(f"{name!r} is not the name of a field")
        if name in CONNECTION_FIELDS or name == "te" and value.lower() != "trailers":
            raise ValueError(f"{name} belongs to a connection, not to a message: leave it out")
        if re.search(r"[\r\n\0]", value):
            raise ValueError(f"the value of {name} has a line break: {value!r}")
        if any(ord(letter) > 255 for letter in value):
            raise ValueError(f"the value of {name} has letters that no field can carry: {value!r}")
        if name == "content-length":
            if not re.fullmatch("[0-9]+", value):
                raise ValueError(f"content-length is {value!r}, and not a number of bytes")
            if name in self:
                raise ValueError(f"content-length is {self[name]} already: a message has one")
        self.items.append((name, value))

    def pop(self, name, default=None):
        value = self.get(name, default)
        self.items = [item for item in self.items if item[0] != name.lower()]
        return value

    def __getitem__(self, name):
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __setitem__(self, name, value):
        """Replaces all lines of a field with one."""
        self.pop(name)
        self.add(name, value)

    def __delitem__(self, name):
        self.pop(name)

    def __contains__(self, name):
        return self.get(name) is not None

    def __iter__(self):
        return iter(self.items)


class Body:
    """A body that arrives: an asynchronous iterator of chunks. `trailers` is known at its end."""

    def __init__(self, stream):
        self._stream = stream

    @property
    def trailers(self):
        return self._stream.trailers

    @property
    def is_empty(self):
        """Whether it is certain that nothing follows."""
        return self._stream.is_empty

    def __aiter__(self):
        return self

    async def __anext__(self):
        chunk = await self._stream.receive()
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    async def read(self, limit=16 * 1024 * 1024):
        """Returns all of it. Raises ValueError if it is longer than the limit."""
        parts, size = [], 0
        async for chunk in self:
            size += len(chunk)
            if size > limit:
                raise ValueError(f"the body is longer than {limit} bytes")
            parts.append(chunk)
        return b"".join(parts)


class Message:
    """A request or a response: its headers, and its body as bytes, text, or an asynchronous iterator of chunks."""

    def __init__(self, headers, body):
        self.headers = headers
        self._given = self.body = body
        self._length = headers.get("content-length")

    @property
    def trailers(self):
        return self.body.trailers if isinstance(self.body, Body) else None

    @property
    def is_empty(self):
        """Whether it is certain that there is no body, and no trailers."""
        return self.body.is_empty if isinstance(self.body, Body) else isinstance(self.body, (bytes, bytearray, str)) and not self.body

    def _head(self):
        """Returns the fields to send. A body that a hook has replaced has another length."""
        if self.body is self._given:
            length = self.headers.get("content-length")
            if length not in (None, self._length):
                raise ValueError(f"content-length is {length}, and the body has not changed with it: set the body, and leave content-length out")
            return self.headers.items
        if isinstance(self.body, str):
            self.body = self.body.encode()
        self.headers.pop("content-length")
        if isinstance(self.body, (bytes, bytearray)):
            self.headers.add("content-length", len(self.body))
        return self.headers.items


class Request(Message):
    def __init__(self, fields, body):
        pseudo = {name: value for name, value in fields if name.startswith(":")}
        super().__init__(Headers(item for item in fields if not item[0].startswith(":")), body)
        self.method = pseudo.get(":method", "")
        self.path = pseudo.get(":path")
        self.authority = pseudo.get(":authority")
        self.scheme = pseudo.get(":scheme")
        self.protocol = pseudo.get(":protocol")

    def _fields(self):
        pseudo = {":method": self.method, ":scheme": self.scheme, ":authority": self.authority, ":path": self.path,
                  ":protocol": self.protocol}
        return [item for item in pseudo.items() if item[1] is not None] + self._head()


class Response(Message):
    def __init__(self, status, headers, body):
        super().__init__(headers, body)
        self.status = status

    @property
    def status(self):
        return self._status

    @status.setter
    def status(self, status):
        try:
            number = int(status)
        except (TypeError, ValueError):
            number = 0
        if not 200 <= number <= 599:
            raise ValueError(f"{status!r} is not a status of a response: write one from 200 to 599")
        self._status = number

    def _fields(self):
        return [(":status", str(self.status))] + self._head()


class Flow:
    """A request, and its response as soon as there is one. It is the same object in both hooks."""

    def __init__(self, request, connect):
        self.request = request
        self.response = None
        self.notes = []
        self._connect = connect
        self._exchange = request.headers.get("byway-exchange", "")
        self._running = []

    def reply(self, status, headers=None, body=b""):
        """Answers the request. In the hook `request` it is then not sent on."""
        self.response = Response(status, Headers(headers or ()), b"")
        self.response.body = body
        self.response._given = None

    def note(self, text):
        """Writes a line about this request, which Byway puts into its log. It keeps the first eight of a request with its record."""
        text = "".join(letter if letter.isprintable() else " " for letter in str(text))
        self.notes.append(text)
        print(f"{self.request.method} {self.request.path}: {text}", file=sys.stderr, flush=True)

    async def send(self, target, method="GET", headers=None, body=b"", timeout=30):
        """Sends a request of the addon's own, and returns the response, whose body is to be read before the hook ends.

        target: a path, for the next hop with the host of this request, or the URL of any other server.
        timeout: the seconds until the head of the response. Raises an OSError or asyncio.TimeoutError if there is none.
        """
        headers = Headers(headers or ())
        if target.startswith("/"):
            pseudo = [(":method", method), (":scheme", self.request.scheme), (":authority", self.request.authority), (":path", target)]
            headers["byway-exchange"] = self._exchange
            request = Request(pseudo + headers.items, b"")
            request.body = body
            return await asyncio.wait_for(self._forward(request), timeout)
        if isinstance(body, (Body, str)):
            body = body.encode() if isinstance(body, str) else await body.read()
        other = await asyncio.to_thread(_OtherServer, target, method, headers, body, timeout)
        self._running.append(other)
        return Response(other.response.status, Headers(other.response.getheaders()), Body(other))

    async def _forward(self, request, on_informational=None):
        """Sends a request to the next hop, and returns the response as soon as its head is there."""
        # Before the stream exists: a field that cannot be sent is an error of the hook.
        fields = request._fields()
        stream = (await self._connect()).open()
        self._running.append(stream)
        stream.on_informational = on_informational
        stream.task = asyncio.ensure_future(_upload(stream, fields, request))
        fields = await stream.response()
        status = next(value for name, value in fields if name == ":status")
        return Response(status, Headers(item for item in fields if not item[0].startswith(":")), Body(stream))

    def _fields(self):
        """Returns the head of the response, with the notes."""
        notes = [note.encode()[:NOTE_LIMIT].decode("utf-8", "ignore").encode().decode("latin-1") for note in self.notes[:NOTES_LIMIT]]
        return self.response._fields() + [("byway-note", note) for note in notes]

    def _end(self):
        for stream in self._running:
            if stream.task:
                stream.task.cancel()
            stream.reset(CANCEL)


def run(request=None, response=None, listen=None):
    """Serves until Byway closes its end.

    request, response: the hooks, asynchronous functions of a `Flow`; either may be left out.
    listen: the path of a Unix socket, for an addon that Byway does not start itself.
    """
    if _Addon.reloading is not None:
        _Addon.reloading.hooks = request, response
        return
    if listen is None and "BYWAY_NEXT" not in os.environ:
        sys.exit("Byway starts this addon: --interceptor exec:… . To start it yourself, give run() a path to listen on.")
    asyncio.run(_serve(request, response, listen))


# ---- The addon

# The output of print() must not get into the stream of frames, also if it comes before run().
_frames = None
if "BYWAY_NEXT" in os.environ:
    _frames = os.dup(1)
    os.dup2(2, 1)


class _Addon:
    # The addon whose file is running again.
    reloading = None

    def __init__(self, request, response):
        self.hooks = request, response
        self.hops = {}
        self.lock = asyncio.Lock()

    async def hop(self, address):
        """Returns a connection to the next hop that has room for a request."""
        async with self.lock:
            for known in list(self.hops):
                self.hops[known] = [connection for connection in self.hops[known] if not connection.is_closed]
                if not self.hops[known]:
                    del self.hops[known]
            connections = self.hops.setdefault(address, [])
            for connection in connections:
                if connection.has_room:
                    return connection
            scheme, _, path = address.partition(":")
            if scheme != "unix":
                raise OSError(f"{address} is not the address of a next hop")
            connection = _Connection(*await asyncio.open_unix_connection(path))
            connection.start()
            connections.append(connection)
            return connection

    async def handle(self, stream):
        flow = None
        try:
            request_hook, response_hook = self.hooks
            request = Request(stream.head, Body(stream))
            has_body = request.method != "HEAD"
            address = request.headers.pop("byway-next") or os.environ.get("BYWAY_NEXT", "")
            flow = Flow(request, lambda: self.hop(address))
            if request_hook:
                await request_hook(flow)
            if flow.response is None:
                flow.response = await flow._forward(request, stream.send_headers)
            if response_hook:
                await response_hook(flow)
            await stream.send_message(flow._fields(), flow.response, has_body and flow.response.status not in (204, 304))
        except asyncio.CancelledError:
            stream.reset(CANCEL)
            raise
        except Exception as error:
            if not isinstance(error, StreamEnded):
                traceback.print_exc()
            stream.reset(INTERNAL_ERROR)
        finally:
            if flow:
                flow._end()
            stream.finish()

    async def watch(self, path):
        """Loads the file again whenever it changes. If it fails, the old hooks stay."""
        before = _version(path)
        while before:
            await asyncio.sleep(RELOAD_SECONDS)
            now = _version(path)
            if now in (None, before):
                continue
            before = now
            main = sys.modules["__main__"]
            fresh = types.ModuleType("__main__")
            fresh.__file__ = path
            sys.modules["__main__"] = fresh
            _Addon.reloading = self
            try:
                with open(path, "rb") as file:
                    exec(compile(file.read(), path, "exec"), fresh.__dict__)
                print(f"{os.path.basename(path)} has changed, and is loaded again", file=sys.stderr, flush=True)
            except (Exception, SystemExit):
                sys.modules["__main__"] = main
                traceback.print_exc()
            finally:
                _Addon.reloading = None


def _version(path):
    try:
        status = os.stat(path)
    except (OSError, TypeError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


async def _upload(stream, fields, request):
    try:
        await stream.send_message(fields, request)
    except asyncio.CancelledError:
        raise
    except Exception as error:
        if not isinstance(error, StreamEnded):
            traceback.print_exc()
        stream.reset(CANCEL)


async def _serve(request_hook, response_hook, listen):
    addon = _Addon(request_hook, response_hook)

    def connect(reader, writer):
        connection = _Connection(reader, writer, addon.handle)
        connection.start()
        return connection

    addon.watching = asyncio.ensure_future(addon.watch(getattr(sys.modules["__main__"], "__file__", None)))
    if listen is not None:
        if os.path.exists(listen):
            os.unlink(listen)
        server = await asyncio.start_unix_server(connect, listen)
        os.chmod(listen, 0o600)
        async with server:
            await server.serve_forever()
    loop = asyncio.get_running_loop()
    output = os.fdopen(_frames, "wb", 0)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, output)
    await connect(reader, asyncio.StreamWriter(transport, protocol, None, loop)).task


class _OtherServer:
    """A request to a server elsewhere, in HTTP/1.1, and the source of its response's body."""

    is_empty = False
    trailers = None
    task = None

    def __init__(self, url, method, headers, body, timeout):
        import http.client
        from urllib.parse import urlsplit
        parts = urlsplit(url)
        kind = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}.get(parts.scheme)
        if kind is None:
            raise OSError(f"{url} is neither a path nor the URL of a server")
        self.connection = kind(parts.hostname, parts.port, timeout=timeout)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            self.connection.request(method, target, body or None, dict(headers))
            self.response = self.connection.getresponse()
        except http.client.HTTPException as error:
            self.connection.close()
            raise OSError(f"{url} did not answer: {error!r}") from error

    async def receive(self):
        return await asyncio.to_thread(self.response.read1, 65536) or None

    def reset(self, code):
        self.connection.close()


# ---- HTTP/2 (RFC 9113)


class StreamEnded(Exception):
    """The other end has cancelled the stream, or its connection has ended."""


class _Stream:
    def __init__(self, connection, number):
        self.connection = connection
        self.number = number
        self.head = None
        self.trailers = None
        self.on_informational = None
        self.window = connection.peer_window
        self.chunks = []
        self.unread = 0
        self.unacknowledged = 0
        self.has_ended = False
        self.has_sent_end = False
        self.error = None
        self.task = None
        self.waiter = None

    # Receiving

    def wake(self):
        if self.waiter and not self.waiter.done():
            self.waiter.set_result(None)

    async def wait(self):
        self.waiter = asyncio.get_running_loop().create_future()
        await self.waiter

    async def response(self):
        while self.head is None:
            if self.error:
                raise self.error
            await self.wait()
        return self.head

    async def receive(self):
        """Returns the next chunk, or None at the end."""
        while not self.chunks:
            if self.error:
                raise self.error
            if self.has_ended:
                return None
            await self.wait()
        chunk = b"".join(self.chunks)
        self.chunks.clear()
        self.unread = 0
        self.unacknowledged += len(chunk)
        if not self.has_ended and self.unacknowledged >= WINDOW // 2:
            self.connection.send(WINDOW_UPDATE, 0, self.number, self.unacknowledged.to_bytes(4, "big"))
            self.unacknowledged = 0
        return chunk

    @property
    def is_empty(self):
        return self.has_ended and not self.chunks and self.trailers is None and self.error is None

    def fail(self, error):
        if self.error is None:
            self.error = error
        self.wake()
        self.connection.wake_senders()

    # Sending

    def send_headers(self, fields, flags=0):
        if not self.has_sent_end and self.error is None:
            self.connection.send_head(self.number, fields, flags)

    async def send_message(self, fields, message, has_body=True):
        """Sends a head with the rest. A message without a body is a single frame, as gRPC and old servers expect."""
        if has_body and not message.is_empty:
            self.send_headers(fields)
            await self.send_body(message.body)
            return
        self.send_headers(fields, END_STREAM)
        await self.connection.writer.drain()
        self.has_sent_end = True
        self.close_if_done()

    async def send_body(self, body):
        if isinstance(body, str):
            body = body.encode()
        if isinstance(body, (bytes, bytearray)):
            await self.send(bytes(body), END_STREAM)
            return
        async for chunk in body:
            if chunk:
                await self.send(chunk)
        trailers = getattr(body, "trailers", None)
        if trailers:
            self.send_headers(trailers, END_STREAM)
        else:
            await self.send(b"", END_STREAM)
        self.has_sent_end = True
        self.close_if_done()

    async def send(self, data, flags=0):
        connection = self.connection
        view = memoryview(data)
        while True:
            while len(view) and min(connection.window, self.window) <= 0 and self.error is None:
                await connection.wait_for_window()
            if self.error:
                raise self.error
            size = min(len(view), connection.window, self.window, FRAME) if len(view) else 0
            self.window -= size
            connection.window -= size
            is_last = size == len(view)
            connection.send(DATA, flags if is_last else 0, self.number, view[:size])
            view = view[size:]
            await connection.writer.drain()
            if is_last:
                break
        if flags & END_STREAM:
            self.has_sent_end = True
            self.close_if_done()

    def reset(self, code):
        """Ends the stream at once, unless both directions have ended."""
        if self.error is None and not (self.has_ended and self.has_sent_end):
            self.connection.send(RST_STREAM, 0, self.number, code.to_bytes(4, "big"))
            self.fail(StreamEnded("reset here"))
        self.connection.forget(self)

    def finish(self):
        """The response is complete: the rest of the request is of no use."""
        if not self.has_ended and self.has_sent_end:
            self.reset(NO_ERROR)

    def close_if_done(self):
        if self.has_ended and self.has_sent_end:
            self.connection.forget(self)


class _Connection:
    """One end of a connection. With a handler it is the server, which runs it for each request."""

    def __init__(self, reader, writer, handler=None):
        self.reader = reader
        self.writer = writer
        self.handler = handler
        self.streams = {}
        self.window = 65535
        self.peer_window = 65535
        self.peer_limit = 100
        self.next_number = 1
        self.last_number = 0
        self.is_closed = False
        self.senders = []
        self.unacknowledged = 0
        self.decoder = _Decoder()
        self.task = None

    @property
    def has_room(self):
        return not self.is_closed and len(self.streams) < self.peer_limit and self.next_number < 1 << 31

    def start(self):
        self.task = asyncio.ensure_future(self.run())
        settings = [(3, STREAM_LIMIT), (4, WINDOW), (6, HEAD_LIMIT), (8, 1)] if self.handler else [(2, 0), (4, WINDOW)]
        if not self.handler:
            self.writer.write(PREFACE)
        self.send(SETTINGS, 0, 0, b"".join(name.to_bytes(2, "big") + value.to_bytes(4, "big") for name, value in settings))
        self.send(WINDOW_UPDATE, 0, 0, (CONNECTION_WINDOW - 65535).to_bytes(4, "big"))

    def open(self):
        stream = _Stream(self, self.next_number)
        self.next_number += 2
        self.streams[stream.number] = stream
        return stream

    def forget(self, stream):
        self.streams.pop(stream.number, None)

    async def run(self):
        try:
            if self.handler and await self.reader.readexactly(len(PREFACE)) != PREFACE:
                raise ConnectionError("this is not HTTP/2")
            while True:
                head = await self.reader.readexactly(9)
                length = int.from_bytes(head[:3], "big")
                if length > FRAME:
                    raise ConnectionError("a frame is too long")
                payload = await self.reader.readexactly(length)
                await self.receive(head[3], head[4], int.from_bytes(head[5:], "big") & 0x7FFFFFFF, payload)
        except (asyncio.IncompleteReadError, ConnectionError, IndexError, ValueError) as error:
            if not isinstance(error, asyncio.IncompleteReadError):
                print(f"A connection has failed: {error}", file=sys.stderr, flush=True)
        finally:
            self.is_closed = True
            for stream in list(self.streams.values()):
                stream.fail(StreamEnded("the connection has ended"))
                if stream.task:
                    stream.task.cancel()
            self.writer.close()

    # Sending

    def send(self, kind, flags, number, payload=b""):
        if self.writer.is_closing():
            return
        head = len(payload).to_bytes(3, "big") + bytes((kind, flags)) + number.to_bytes(4, "big")
        self.writer.write(b"".join((head, payload)))

    def send_head(self, number, fields, flags=0):
        block = b"".join(_literal(name, value) for name, value in fields)
        parts = [block[start:start + FRAME] for start in range(0, len(block), FRAME)] or [b""]
        for index, part in enumerate(parts):
            ends = END_HEADERS if index == len(parts) - 1 else 0
            self.send(CONTINUATION if index else HEADERS, ends | (0 if index else flags), number, part)

    async def wait_for_window(self):
        waiter = asyncio.get_running_loop().create_future()
        self.senders.append(waiter)
        await waiter

    def wake_senders(self):
        senders, self.senders = self.senders, []
        for waiter in senders:
            if not waiter.done():
                waiter.set_result(None)

    # Receiving

    async def receive(self, kind, flags, number, payload):
        stream = self.streams.get(number)
        if kind == DATA:
            self.unacknowledged += len(payload)
            if self.unacknowledged >= CONNECTION_WINDOW // 2:
                self.send(WINDOW_UPDATE, 0, 0, self.unacknowledged.to_bytes(4, "big"))
                self.unacknowledged = 0
            data = payload[1:len(payload) - payload[0]] if flags & PADDED else payload
            if stream:
                if data:
                    stream.chunks.append(data)
                    stream.unread += len(data)
                    if stream.unread > WINDOW:
                        raise ConnectionError("a stream has sent more than its window")
                self.ended(stream, flags)
        elif kind == HEADERS:
            if flags & PADDED:
                payload = payload[1:len(payload) - payload[0]]
            if flags & WITH_PRIORITY:
                payload = payload[5:]
            block = payload
            is_whole = flags & END_HEADERS
            while not is_whole:
                head = await self.reader.readexactly(9)
                length = int.from_bytes(head[:3], "big")
                if head[3] != CONTINUATION or int.from_bytes(head[5:], "big") != number or length > FRAME:
                    raise ConnectionError("a head is not complete")
                block += await self.reader.readexactly(length)
                if len(block) > 2 * HEAD_LIMIT:
                    raise ConnectionError("a head is too large")
                is_whole = head[4] & END_HEADERS
            self.head(number, stream, self.decoder.decode(block), flags)
        elif kind == RST_STREAM:
            if stream:
                stream.fail(StreamEnded("reset by the other end"))
                self.forget(stream)
                if stream.task:
                    stream.task.cancel()
        elif kind == SETTINGS and not flags & ACK:
            self.settings(payload)
            self.send(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            self.send(PING, ACK, 0, payload)
        elif kind == GOAWAY:
            self.peer_limit = 0
        elif kind == WINDOW_UPDATE:
            size = int.from_bytes(payload, "big") & 0x7FFFFFFF
            if number == 0:
                self.window += size
            elif stream:
                stream.window += size
            self.wake_senders()

    def head(self, number, stream, fields, flags):
        if stream is None:
            if not self.handler or number <= self.last_number:
                return
            self.last_number = number
            if len(self.streams) >= STREAM_LIMIT:
                self.send(RST_STREAM, 0, number, REFUSED_STREAM.to_bytes(4, "big"))
                return
            if fields is None:
                self.send_head(number, [(":status", "431")], END_STREAM)
                if not flags & END_STREAM:
                    self.send(RST_STREAM, 0, number, NO_ERROR.to_bytes(4, "big"))
                return
            stream = self.streams[number] = _Stream(self, number)
            stream.head = fields
            stream.has_ended = bool(flags & END_STREAM)
            stream.task = asyncio.ensure_future(self.handler(stream))
            return
        if fields is None:
            print("A head with too many fields has arrived", file=sys.stderr, flush=True)
            stream.reset(CANCEL)
            return
        status = next((value for name, value in fields if name == ":status"), None)
        if status and status.startswith("1"):
            if stream.on_informational:
                stream.on_informational(fields)
        elif stream.head is None:
            stream.head = fields
        else:
            stream.trailers = fields
        self.ended(stream, flags)

    def ended(self, stream, flags):
        if flags & END_STREAM:
            stream.has_ended = True
            stream.close_if_done()
        stream.wake()

    def settings(self, payload):
        for start in range(0, len(payload) - 5, 6):
            name = int.from_bytes(payload[start:start + 2], "big")
            value = int.from_bytes(payload[start + 2:start + 6], "big")
            if name == 3:
                self.peer_limit = value
            elif name == 4:
                for stream in self.streams.values():
                    stream.window += value - self.peer_window
                self.peer_window = value
                self.wake_senders()


# ---- HPACK (RFC 7541): heads are sent as literals, and received in any form

STATIC = [tuple((entry + "=").split("=")[:2]) for entry in (
    ":authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|:status=204|"
    ":status=206|:status=304|:status=400|:status=404|:status=500|accept-charset|accept-encoding=gzip, deflate|"
    "accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control|"
    "content-disposition|content-encoding|content-language|content-length|content-location|content-range|content-type|"
    "cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|"
    "last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|"
    "server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate").split("|")]

# The length of the code of each byte, and of the end; "A" is 5. The codes follow from the lengths.
LENGTHS = (
    "ISXXXXXXXTZXXZXXXXXXXXZXXXXXXXXXBFFHIBDGFFDGDBBBAAABBBBBBBCDKBHFIBCCCCCCCCCCCCCCCCCCCCCCDCDIOIJBKABABABBBACCBBBAB"
    "CBAABCCCCCKGJIXPRPPRRRSRSSSSSTSTTRSTSSSSQRSRSSTRQPRRSSQSRRTQRSSQQRQSRSSPRRRSRRSVVPORSRUVVVWWVTUOQVWWVWTQQVVXWWWPT"
    "PQRQQSRRUUTTVSVWVVWWWWWXWWWWWVZ")


def _codes():
    """Returns the byte of each code. The key is the code with a 1 in front of it."""
    codes, code, before = {}, 0, 0
    for length, symbol in sorted((ord(letter) - 60, symbol) for symbol, letter in enumerate(LENGTHS)):
        code <<= length - before
        codes[1 << length | code] = symbol
        code, before = code + 1, length
    return codes


CODES = _codes()


def _literal(name, value):
    """Encodes a field that no table keeps."""
    name, value = name.encode("latin-1"), value.encode("latin-1")
    return b"\0" + _integer(len(name)) + name + _integer(len(value)) + value


def _integer(number):
    if number < 127:
        return bytes((number,))
    parts, number = [127], number - 127
    while number >= 128:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes(parts + [number])


class _Decoder:
    def __init__(self):
        self.table = []
        self.size = 0
        self.limit = 4096

    def decode(self, block):
        """Returns the fields, or None if they are too many or too large. The table is right in both cases."""
        self.block, self.at = block, 0
        fields, size = [], 0
        while self.at < len(block):
            first = block[self.at]
            if first & 0x80:
                field = self.entry(self.number(7))
            elif first & 0xC0 == 0x40:
                field = self.field(6)
                self.keep(field)
            elif first & 0xE0 == 0x20:
                self.limit = min(self.number(5), 4096)
                self.evict()
                continue
            else:
                field = self.field(4)
            size += len(field[0]) + len(field[1]) + 32
            if size <= HEAD_LIMIT and len(fields) <= FIELD_LIMIT:
                fields.append(field)
        return fields if size <= HEAD_LIMIT and len(fields) <= FIELD_LIMIT else None

    def field(self, bits):
        index = self.number(bits)
        name = self.entry(index)[0] if index else self.text()
        return name, self.text()

    def entry(self, index):
        if index == 0:
            raise ConnectionError("a field has the index 0")
        return STATIC[index - 1] if index <= len(STATIC) else self.table[index - len(STATIC) - 1]

    def keep(self, field):
        self.table.insert(0, field)
        self.size += len(field[0]) + len(field[1]) + 32
        self.evict()

    def evict(self):
        while self.size > self.limit:
            name, value = self.table.pop()
            self.size -= len(name) + len(value) + 32

    def number(self, bits):
        mask = (1 << bits) - 1
        value = self.block[self.at] & mask
        self.at += 1
        if value < mask:
            return value
        for shift in range(0, 28, 7):
            byte = self.block[self.at]
            self.at += 1
            value += (byte & 127) << shift
            if byte < 128:
                return value
        raise ConnectionError("a number is too large")

    def text(self):
        is_huffman = self.block[self.at] & 0x80
        length = self.number(7)
        data = self.block[self.at:self.at + length]
        if len(data) != length:
            raise ConnectionError("a field is cut short")
        self.at += length
        return (_huffman(data) if is_huffman else data).decode("latin-1")


def _huffman(data):
    result, key = bytearray(), 1
    for byte in data:
        for shift in range(7, -1, -1):
            key = key << 1 | byte >> shift & 1
            symbol = CODES.get(key)
            if symbol is not None:
                result.append(symbol)
                key = 1
    return bytes(result)
