"""A dialer of a line with streams, on the minimal end of the protocol's test vectors. Its user writes the pieces."""
import contextlib
import os
import pathlib
import random
import select
import struct
import sys
import time
import tty

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Tests/LineLayerTests/Vectors"))
import minimal  # noqa: E402


class StreamDialer(minimal.End):
    """A session, from the beginning of the block to its end."""

    def __init__(self, device, streams=16, credit=255, window=256):
        super().__init__("dial")
        self.path, self.streams, self.credit, self.window = device, streams, credit, window
        # The number of the unit that is acknowledged, whatever else has arrived.
        self.late = None
        self.received, self.announced = bytearray(), None
        self.run = bytearray()
        self.granted = {}

    def __enter__(self):
        self.device = os.open(self.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        tty.setraw(self.device)
        self.line_back()
        self.tick()
        self.number = self.session.number
        return self

    def __exit__(self, *_):
        if self.is_open():
            self.reset(self.session.number, minimal.ABORTED)
            self.over(minimal.ABORTED)
        self.carry(lambda: not self.output and not self.control, 2)
        os.close(self.device)

    def is_open(self):
        return self.session is not None

    def question(self):
        super().question()
        if not self.session.confirmed and self.session.incarnation and self.announced:
            # The OPEN that was written has no streams, and is no answer to anything: this one takes its place.
            self.output = bytearray()
            fields = (minimal.OPEN, minimal.VERSION, self.session.number, self.session.incarnation, minimal.PAYLOAD, self.window)
            self.write(struct.pack(">BBIIHHBBB", *fields, 0, self.streams, self.credit))

    def on_hello(self, content):
        if len(content) >= 11:
            self.announced = tuple(content[9:11])
        super().on_hello(content)

    def report(self, token=None):
        session = self.session
        arrived = session.next
        if self.late is not None:
            # An ANSWER would make the other end send all of it again.
            session.next, token = self.late, None
        super().report(token)
        session.next = arrived

    def on_data(self, content):
        session = self.session
        session.pending, pending = bytearray(), session.pending
        super().on_data(content)
        if self.session is session:
            # The minimal end would return what it has received.
            self.received += session.pending
            session.pending = pending

    def carry(self, condition, seconds):
        """Carries frames until the condition holds. Returns whether it does."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            if self.session:
                self.tick()
            self.transmit()
            readable, writable, _ = select.select([self.device], [self.device] if self.output else [], [], 0.02)
            received = b""
            # A terminal may be ready and then take or have nothing.
            with contextlib.suppress(BlockingIOError):
                if writable:
                    del self.output[: os.write(self.device, self.output)]
            with contextlib.suppress(BlockingIOError):
                if readable:
                    received = os.read(self.device, 4096)
            for byte in received:
                if byte:
                    self.run.append(byte)
                    continue
                if self.run:
                    self.receive(bytes(self.run))
                self.run = bytearray()
        return True

    def upload(self, stream, content, patience):
        """Sends bytes of a stream as credit comes. Returns how many, if none comes for so many seconds."""
        began, granted = self.granted.get(stream, 0), self.granted_of
        sent = 0
        while sent < len(content):
            if not self.carry(lambda: granted(stream) > began + sent, patience):
                break
            part = content[sent : sent + granted(stream) - began - sent][:255]
            self.send(data(stream, part))
            sent += len(part)
        self.granted[stream] = began + sent
        return sent

    def granted_of(self, stream):
        """Returns how many bytes of a stream the other end has granted."""
        return 64 * (self.announced[1] + sum(units for kind, number, units in pieces(self.received) if (kind, number) == (4, stream)))

    def send(self, pieces=None):
        """Writes pieces. Without any, sends what waits, as the minimal end does."""
        if pieces is None:
            return super().send()
        return self.session.pending.extend(pieces)


def data(stream, content):
    """Returns DATA pieces."""
    parts = [content[at : at + 255] for at in range(0, len(content), 255)]
    return b"".join(bytes([0x10 | stream, len(part)]) + part for part in parts)


def contents(received):
    """Returns the bytes of each stream."""
    streams = {}
    for kind, stream, content in pieces(received):
        if kind == 1:
            streams[stream] = streams.get(stream, b"") + content
    return streams


def pieces(received):
    """Returns the pieces: kind, stream, and the bytes of DATA or the units of CREDIT. A last one may be incomplete."""
    found, at = [], 0
    while at < len(received):
        kind, stream = received[at] >> 4, received[at] & 15
        count = received[at + 1] if kind in (1, 4) and at + 1 < len(received) else 0
        if kind in (1, 4) and at + 1 == len(received):
            break
        found.append((kind, stream, bytes(received[at + 2 : at + 2 + count]) if kind == 1 else count))
        at += 2 + count if kind == 1 else 2 if kind == 4 else 1
    return found


def open_frame(session, incarnation):
    """Returns an OPEN on the wire."""
    content = struct.pack(">BBIIHH", minimal.OPEN, minimal.VERSION, session, incarnation, minimal.PAYLOAD, 256)
    return b"\0" + minimal.stuff(content + struct.pack(">I", minimal.crc32c(content))) + b"\0"


# Pieces that a client must not send: a kind, a length, units, an end or data behind an end, and credit without limit.
BROKEN = [b"\0", b"\x5f", b"\xff", b"\x10\0", b"\x10\1x\x40\0", b"\x20\x20", b"\x10\1x\x20\x10\1x", b"\x10\1x" + b"\x40\xff" * 8]


def random_pieces(seed):
    """Returns pieces of which most are valid one by one."""
    source = random.Random(seed)
    pieces = []
    for _ in range(60):
        stream = source.randrange(16)
        pieces.append(source.choice([data(stream, source.randbytes(source.randrange(1, 300))), bytes([0x20 | stream]), bytes([0x30 | stream]),
                                     bytes([0x40 | stream, source.randrange(1, 20)])]))
    return b"".join(pieces) + source.randbytes(source.randrange(3))
