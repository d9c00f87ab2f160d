"""A minimal HTTP/1.1 server for a test origin (RFC 9112), with control over every byte."""
import json
import socket
import struct
import urllib.parse

IDLE_SECONDS = 120
LARGEST_LINE = 1 << 20


class Gone(Exception):
    """The peer closed within a message."""


class Malformed(Exception):
    """The peer sent invalid HTTP/1.1."""


class Connection:
    def __init__(self, stream, number):
        stream.settimeout(IDLE_SECONDS)
        self.stream = stream
        self.number = number
        self.reader = stream.makefile("rb", 1 << 16)

    def next_exchange(self, count):
        """Returns the next request's exchange; None if the client closed between requests."""
        line = self.reader.readline(LARGEST_LINE)
        if not line:
            return None
        parts = line.decode("latin-1").rstrip("\r\n").split(" ")
        if len(parts) != 3:
            raise Malformed(line)
        return Exchange(self, count, *parts, self.read_fields())

    def read_fields(self):
        fields = []
        while True:
            line = self.read_line()
            if not line:
                return fields
            name, colon, value = line.partition(":")
            if not colon:
                raise Malformed(line)
            fields.append((name, value.strip(" \t")))

    def read_line(self):
        line = self.reader.readline(LARGEST_LINE)
        if not line.endswith(b"\n"):
            raise Gone
        return line.decode("latin-1").rstrip("\r\n")

    def close(self):
        try:
            self.stream.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self.reader.close()
        self.stream.close()

    def reset(self):
        """Closes with a reset on TCP, or with a plain end on a Unix socket."""
        self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.reader.close()
        self.stream.close()
        raise Gone


class Exchange:
    """A request, with methods to respond to it."""

    def __init__(self, connection, count, method, target, version, fields):
        self.connection = connection
        self.count = count
        self.method = method
        self.target = target
        self.version = version
        self.fields = fields
        self.path, _, query = target.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query))
        self.trailers = []
        self.received = 0
        self.ends_connection = "close" in (self.field("connection") or "").lower() or version == "HTTP/1.0"
        self._body = self._read_body()

    def number(self, name, default):
        return int(self.query.get(name, default))

    def field(self, name):
        return next((value for known, value in self.fields if known.lower() == name), None)

    # The request body

    def body(self):
        """Yields the body as it arrives; sends "100 Continue" first if the client expects it."""
        return self._body

    def _read_body(self):
        chunked = "chunked" in (self.field("transfer-encoding") or "").lower()
        length = int(self.field("content-length") or 0)
        if (chunked or length) and (self.field("expect") or "").lower() == "100-continue":
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not chunked:
            yield from self._take(length)
            return
        while size := int(self.connection.read_line().split(";")[0], 16):
            yield from self._take(size)
            self.connection.read_line()
        self.trailers = self.connection.read_fields()

    def _take(self, count):
        while count:
            piece = self.connection.reader.read1(min(count, 1 << 18))
            if not piece:
                raise Gone
            count -= len(piece)
            self.received += len(piece)
            yield piece

    # The answer

    def send(self, data):
        self.connection.stream.sendall(data)

    def head(self, status, fields=(), reason="Whatever"):
        lines = [f"HTTP/1.1 {status} {reason}"] + [f"{name}: {value}" for name, value in fields]
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def answer(self, status=200, body=b"", fields=(), type="text/plain"):
        fields = [("content-type", type), ("content-length", len(body)), *fields]
        self.head(status, fields)
        if self.method != "HEAD":
            self.send(body)

    def answer_json(self, value, status=200):
        self.answer(status, json.dumps(value).encode() + b"\n", type="application/json")

    def chunk(self, data):
        if data:
            self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def last_chunk(self, trailers=()):
        lines = "".join(f"{name}: {value}\r\n" for name, value in trailers)
        self.send(b"0\r\n" + lines.encode("latin-1") + b"\r\n")

    def finish(self):
        """Reads the rest of the request; False if the connection must end here."""
        if not self.ends_connection:
            for _ in self.body():
                pass
        return not self.ends_connection
