"""Addons for Byway: hooks that see each request on its way to the origin, and each response on its way back.

    #!/usr/bin/env python3
    import byway_addon

    async def response(flow):
        flow.response.headers["x-seen-by"] = "my addon"

    byway_addon.run(response=response)

Start it with `byway proxy --interceptor exec:./addon.py …`. It needs Python 3.9 and nothing else.

An addon is an HTTP/2 server. It speaks on its standard streams if Byway has started it, and otherwise listens on a Unix socket. It sends
requests on to the next hop, whose address Byway gives in the field `byway-next` of each request.
"""
import asyncio
import os
import sys
import traceback

__all__ = ["Body", "Flow", "Headers", "run"]

WINDOW = 256 * 1024
CONNECTION_WINDOW = 16 * 1024 * 1024
FRAME = 16384
HEAD_LIMIT = 256 * 1024
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, WITH_PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL = 0, 1, 2, 7, 8


# ---- For hooks


class Headers:
    """The fields of a message, in order. Names are in lower case."""

    def __init__(self, items=()):
        self.items = [(name.lower(), value) for name, value in (items.items() if isinstance(items, dict) else items)]

    def get(self, name, default=None):
        """Returns the first value of a field."""
        return next((value for known, value in self.items if known == name.lower()), default)

    def get_all(self, name):
        return [value for known, value in self.items if known == name.lower()]

    def add(self, name, value):
        """Adds a line, even if the field is there already."""
        self.items.append((name.lower(), str(value)))

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

    @property
    def trailers(self):
        return self.body.trailers if isinstance(self.body, Body) else None

    def _head(self):
        """Returns the fields to send. A body that a hook has replaced has another length."""
        if self.body is self._given:
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
        self.status = int(status)

    def _fields(self):
        return [(":status", str(self.status))] + self._head()


class Flow:
    """A request, and its response as soon as there is one. It is the same object in both hooks."""

    def __init__(self, request):
        self.request = request
        self.response = None
        self.notes = []

    def reply(self, status, headers=None, body=b""):
        """Answers the request. In the hook `request` it is then not sent on."""
        self.response = Response(status, Headers(headers or ()), b"")
        self.response.body = body
        self.response._given = None

    def note(self, text):
        """Writes a line about this request, which Byway puts into its log, and into the record of the exchange.

        A note that comes after the head of the response is only in the log.
        """
        self.notes.append(" ".join(str(text).split()))
        print(f"{self.request.method} {self.request.path}: {text}", file=sys.stderr, flush=True)


def run(request=None, response=None, listen=None):
    """Serves until Byway closes its end.

    request, response: the hooks, asynchronous functions of a `Flow`; either may be left out.
    listen: the path of a Unix socket, for an addon that Byway does not start itself.
    """
    if listen is None and "BYWAY_NEXT" not in os.environ:
        sys.exit("Byway starts this addon: --interceptor exec:… . To start it yourself, give run() a path to listen on.")
    asyncio.run(_serve(_Addon(request, response), listen))


# ---- The addon


class _Addon:
    def __init__(self, request, response):
        self.request_hook = request
        self.response_hook = response
        self.hops = {}

    async def hop(self, address):
        """Returns a connection to the next hop that has room for a request."""
        connections = self.hops.setdefault(address, [])
        connections[:] = [connection for connection in connections if not connection.is_closed]
        for connection in connections:
            if connection.has_room:
                return connection
        scheme, path = address.split(":", 1)
        if scheme != "unix":
            raise OSError(f"{address} is not the address of a next hop")
        connection = _Connection(*await asyncio.open_unix_connection(path))
        connection.start()
        connections.append(connection)
        return connection

    async def handle(self, stream):
        sent = None
        upload = None
        try:
            flow = Flow(Request(stream.head, Body(stream)))
            address = flow.request.headers.pop("byway-next") or os.environ.get("BYWAY_NEXT", "")
            if self.request_hook:
                await self.request_hook(flow)
            if flow.response is None:
                sent = (await self.hop(address)).open()
                sent.on_informational = stream.send_headers
                sent.send_headers(flow.request._fields())
                upload = asyncio.ensure_future(self.upload(sent, flow.request))
                fields = await sent.response()
                status = next(value for name, value in fields if name == ":status")
                headers = Headers(item for item in fields if not item[0].startswith(":"))
                flow.response = Response(status, headers, Body(sent))
            if self.response_hook:
                await self.response_hook(flow)
            # A value of a field is bytes: UTF-8.
            notes = [("byway-note", note.encode().decode("latin-1")) for note in flow.notes]
            stream.send_headers(flow.response._fields() + notes)
            await stream.send_body(flow.response.body)
        except asyncio.CancelledError:
            stream.reset(CANCEL)
            raise
        except Exception as error:
            if not isinstance(error, StreamEnded):
                traceback.print_exc()
            stream.reset(INTERNAL_ERROR)
        finally:
            if upload:
                upload.cancel()
            if sent:
                sent.reset(CANCEL)
            stream.finish()

    @staticmethod
    async def upload(sent, request):
        try:
            await sent.send_body(request.body)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            if not isinstance(error, StreamEnded):
                traceback.print_exc()
            sent.reset(CANCEL)


async def _serve(addon, listen):
    def connect(reader, writer):
        connection = _Connection(reader, writer, addon.handle)
        connection.start()
        return connection

    if listen is not None:
        if os.path.exists(listen):
            os.unlink(listen)
        server = await asyncio.start_unix_server(connect, listen)
        os.chmod(listen, 0o600)
        async with server:
            await server.serve_forever()
    loop = asyncio.get_running_loop()
    # The output of print() in a hook must not get into the stream of frames.
    output = os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, output)
    await connect(reader, asyncio.StreamWriter(transport, protocol, None, loop)).task


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
        chunk = self.chunks.pop(0)
        if not self.has_ended:
            self.connection.send(WINDOW_UPDATE, 0, self.number, len(chunk).to_bytes(4, "big"))
        return chunk

    def fail(self, error):
        if self.error is None:
            self.error = error
        self.wake()
        self.connection.wake_senders()

    # Sending

    def send_headers(self, fields, flags=0):
        if not self.has_sent_end and self.error is None:
            self.connection.send_head(self.number, fields, flags)

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
        self.decoder = _Decoder()
        self.task = None

    @property
    def has_room(self):
        return not self.is_closed and len(self.streams) < self.peer_limit

    def start(self):
        self.task = asyncio.ensure_future(self.run())
        settings = [(3, 1000), (4, WINDOW), (8, 1)] if self.handler else [(2, 0), (4, WINDOW)]
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
        self.writer.write(len(payload).to_bytes(3, "big") + bytes((kind, flags)) + number.to_bytes(4, "big"))
        if len(payload):
            self.writer.write(payload)

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
            if payload:
                self.send(WINDOW_UPDATE, 0, 0, len(payload).to_bytes(4, "big"))
            data = payload[1:len(payload) - payload[0]] if flags & PADDED else payload
            if stream:
                if data:
                    stream.chunks.append(data)
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
                if head[3] != CONTINUATION or len(block) > HEAD_LIMIT:
                    raise ConnectionError("a head is not complete")
                block += await self.reader.readexactly(int.from_bytes(head[:3], "big"))
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
            stream = self.streams[number] = _Stream(self, number)
            stream.head = fields
            stream.has_ended = bool(flags & END_STREAM)
            stream.task = asyncio.ensure_future(self.handler(stream))
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
            if size > HEAD_LIMIT:
                raise ConnectionError("a head is too large")
            fields.append(field)
        return fields

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
