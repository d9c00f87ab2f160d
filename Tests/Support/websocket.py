"""WebSocket framing (RFC 6455), both roles, for the test origin and the test client."""
import base64
import hashlib
import os

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


def accept(key):
    """Returns the Sec-WebSocket-Accept value for a client's key (§4.2.2)."""
    return base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()


class Peer:
    """`reader` is a binary file; `write` takes bytes; a client masks what it sends (§5.3)."""

    def __init__(self, reader, write, masks):
        self.reader = reader
        self.write = write
        self.masks = masks

    def send(self, data, opcode=BINARY, pieces=1):
        size = max(1, -(-len(data) // pieces))
        parts = [data[at:at + size] for at in range(0, len(data), size)] or [b""]
        for index, part in enumerate(parts):
            self._send_frame(part, opcode if index == 0 else CONTINUATION, index == len(parts) - 1)

    def receive(self):
        """Returns the next message as (opcode, bytes); None after a close. Answers pings and closes."""
        kind, parts = None, []
        while True:
            final, opcode, data = self._receive_frame()
            if opcode == CLOSE:
                self._send_frame(data, CLOSE, True)
                return None
            if opcode == PING:
                self._send_frame(data, PONG, True)
                continue
            if opcode == PONG:
                continue
            kind = kind or opcode
            parts.append(data)
            if final:
                return kind, b"".join(parts)

    def close(self):
        self._send_frame((1000).to_bytes(2, "big"), CLOSE, True)
        while self._receive_frame()[1] != CLOSE:
            pass

    def _send_frame(self, data, opcode, final):
        mask_bit = 0x80 if self.masks else 0
        head = bytes([(0x80 if final else 0) | opcode])
        if len(data) < 126:
            head += bytes([mask_bit | len(data)])
        elif len(data) < 1 << 16:
            head += bytes([mask_bit | 126]) + len(data).to_bytes(2, "big")
        else:
            head += bytes([mask_bit | 127]) + len(data).to_bytes(8, "big")
        if self.masks:
            key = os.urandom(4)
            head += key
            data = mask(data, key)
        self.write(head + data)

    def _receive_frame(self):
        first, second = self._exactly(2)
        length = second & 0x7F
        if length >= 126:
            length = int.from_bytes(self._exactly(2 if length == 126 else 8), "big")
        key = self._exactly(4) if second & 0x80 else None
        data = self._exactly(length)
        return bool(first & 0x80), first & 0x0F, mask(data, key) if key else data

    def _exactly(self, count):
        data = self.reader.read(count)
        if len(data) < count:
            raise EOFError("the peer closed in the middle of a frame")
        return data


def mask(data, key):
    repeated = (key * (len(data) // 4 + 1))[:len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(data), "big")
