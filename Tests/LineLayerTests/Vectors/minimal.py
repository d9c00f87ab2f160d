#!/usr/bin/env python3
"""A minimal end of a line, written from docs/wire-protocol.md: python3 minimal.py dial|listen DEVICE

It returns the bytes of the stream. It leaves out what section 3 allows a minimal end to leave out.
"""

import collections
import os
import random
import select
import struct
import sys
import time
import tty

from check import crc32c, stuff, unstuff

VERSION, PAYLOAD, WINDOW, UNIT = 1, 256, 4096, 16
FINISHED, UNKNOWN, ABORTED, SILENCE, BAD_VERSION, BOTH_DIAL = range(6)
HELLO, OPEN, RESET, POLL, ACK, ANSWER, DATA = 1, 2, 3, 4, 0x40, 0x41, 0x80
# Times of section 6, in seconds.
PATIENCE, OPENING, GRACE, CLOSING, PAUSE = 30, 5, 30, 5, 1


def units(payload):
    return max(-(-len(payload) // UNIT), 1)


def told(runs):
    """Returns how many units a list of runs covers, or None if it is invalid."""
    total = 0
    if len(runs) > 32:
        return None
    while runs:
        size = 2 if runs[0] & 0x80 else 1
        run = int.from_bytes(runs[:size], "big") & 0x7FFF
        if len(runs) < size or not run:
            return None
        total, runs = total + run, runs[size:]
    return total


class Session:
    def __init__(self, number, incarnation, limit, largest, now):
        self.number, self.incarnation = number, incarnation
        self.confirmed = False
        self.heard = now
        # Receiving: the number of the first missing unit.
        self.next = 0
        self.input_ended = False
        # Sending: unacknowledged frames from unit `first` on, bytes not sent yet, and the end of the peer's window.
        self.first, self.frames, self.pending = 0, collections.deque(), bytearray()
        self.offered, self.largest = limit, max(largest, 64)
        self.wants_end = self.end_sent = False
        # Questions to the peer.
        self.unanswered, self.since, self.ask, self.token, self.resend = 0, None, None, 0, False

    def seal(self):
        return struct.pack(">II", self.number, self.incarnation)

    def sent(self):
        """Returns the number of the first unit of the next frame."""
        return self.first + sum(units(payload) for payload, _ in self.frames)


class End:
    def __init__(self, role, clock=time.monotonic):
        self.dials, self.clock = role == "dial", clock
        self.incarnation = 0 if self.dials else random.randrange(1, 1 << 32)
        self.largest = PAYLOAD
        self.session, self.past = None, collections.deque(maxlen=16)
        self.output, self.control, self.answer, self.owes = bytearray(), [], None, False
        self.up, self.lost = False, clock()

    # Sending

    def write(self, content):
        seal = self.session.seal() if content[0] >= 0x40 else b""
        # With a zero before every frame, no clock is needed that tells when one is due.
        self.output += b"\0" + stuff(content + struct.pack(">I", crc32c(seal + content))) + b"\0"

    def say(self, content):
        if len(self.control) < 8:
            self.control.append(content)

    def hello(self):
        self.say(struct.pack(">BBIH", HELLO, VERSION, self.incarnation, PAYLOAD))

    def reset(self, number, reason):
        self.say(struct.pack(">BIB", RESET, number, reason))

    def question(self):
        session, now = self.session, self.clock()
        session.unanswered += 1
        session.since = session.since or now
        session.ask = now + min(0.3 * 2 ** (session.unanswered - 1), PAUSE)
        if session.confirmed:
            session.token = (session.token + 1) % 256
            return self.write(struct.pack(">BIB", POLL, session.number, session.token))
        fields = (OPEN, VERSION, session.number, session.incarnation, PAYLOAD, WINDOW // UNIT)
        return self.write(struct.pack(">BBIIHH", *fields))

    def report(self, token=None):
        head = bytes([ACK]) if token is None else bytes([ANSWER, token, 0])
        self.write(head + struct.pack(">HH", self.session.next % 65536, WINDOW // UNIT))
        self.owes, self.answer = False, None

    def transmit(self):
        """Writes all frames that may be sent now."""
        for content in self.control:
            self.write(content)
        self.control = []
        session = self.session
        if not session:
            return
        if session.incarnation and self.answer is not None:
            self.report(self.answer)
        if session.incarnation and self.owes:
            self.report()
        self.send()
        if session.frames and session.ask is None:
            session.ask = self.clock() + 0.3
        done = session.end_sent and not session.frames and session.input_ended
        if done:
            self.over(FINISHED)

    def send(self):
        session = self.session
        if not session.incarnation or session.unanswered >= 2:
            return
        if session.resend:
            session.resend = False
            number = session.first
            for payload, last in session.frames:
                self.data(number, payload, last)
                number += units(payload)
        while session.pending and session.sent() < session.offered and len(session.frames) < 16:
            room = min(session.largest, PAYLOAD, (session.offered - session.sent()) * UNIT)
            payload, session.pending = bytes(session.pending[:room]), session.pending[room:]
            self.add(payload, False)
        if session.wants_end and not session.pending and not session.end_sent and session.sent() < session.offered:
            session.end_sent = True
            self.add(b"", True)

    def add(self, payload, last):
        self.data(self.session.sent(), payload, last)
        self.session.frames.append((payload, last))

    def data(self, number, payload, last):
        self.write(struct.pack(">BH", DATA | (2 if last else 0), number % 65536) + payload)

    # Receiving

    def receive(self, run):
        content = unstuff(run) if len(run) <= PAYLOAD + 20 else None
        if content is None or len(content) < 5:
            return
        content, check = content[:-4], struct.unpack(">I", content[-4:])[0]
        sealed = content[0] >= 0x40
        if sealed and not (self.session and self.session.incarnation):
            return
        if crc32c((self.session.seal() if sealed else b"") + content) != check:
            return
        handler = {HELLO: self.on_hello, OPEN: self.on_open, RESET: self.on_reset, POLL: self.on_poll}
        handler |= {ACK: self.on_ack, ANSWER: self.on_answer, DATA: self.on_data, 0x81: self.on_data}
        handler |= {0x82: self.on_data, 0x83: self.on_data}
        try:
            handler.get(content[0], lambda content: None)(content)
        except struct.error:
            pass  # Fields are missing.

    def hear(self):
        session = self.session
        session.heard, session.since, session.unanswered = self.clock(), None, 0
        session.confirmed = True
        session.ask = None

    def on_hello(self, content):
        version, incarnation, largest = struct.unpack_from(">BIH", content, 1)
        if not self.dials or not incarnation:
            return
        if version != VERSION:
            return self.session and self.over(ABORTED)
        known, self.incarnation, self.largest = self.incarnation, incarnation, largest
        if self.session and not self.session.incarnation:
            self.session.incarnation = incarnation
            self.session.largest = max(largest, 64)
            self.question()
        elif self.session and known != incarnation:
            self.over(ABORTED)

    def on_open(self, content):
        version, number, incarnation, largest, window = struct.unpack_from(">BIIHH", content, 1)
        if self.dials:
            self.reset(number, BOTH_DIAL)
            return self.session and not self.session.confirmed and self.over(BOTH_DIAL)
        if version != VERSION:
            return self.reset(number, BAD_VERSION)
        if incarnation != self.incarnation:
            return self.hello()
        if not (self.session and self.session.number == number):
            reasons = [reason for past, reason in self.past if past == number]
            if reasons:
                return self.reset(number, reasons[0])
            if self.session:
                self.over(ABORTED)
            self.session = Session(number, incarnation, window, largest, self.clock())
            self.session.confirmed = True
            self.answer = None
        self.owes = True

    def on_reset(self, content):
        number, reason = struct.unpack_from(">IB", content, 1)
        if self.session and self.session.number == number:
            if reason == UNKNOWN and not self.session.confirmed:
                return self.question()
            self.over(ABORTED)

    def on_poll(self, content):
        number, token = struct.unpack_from(">IB", content, 1)
        if not (self.session and self.session.number == number):
            reasons = [reason for past, reason in self.past if past == number]
            return self.reset(number, reasons[-1] if reasons else UNKNOWN)
        if self.session.incarnation:
            self.hear()
            self.answer = token

    def on_ack(self, content, start=1):
        session = self.session
        number, window = struct.unpack_from(">HH", content, start)
        runs = told(content[start + 4 :])
        if runs is None:
            return False
        self.hear()
        advance = (number - session.first) % 65536
        if advance >= 32768:
            return True  # Older than an earlier one.
        if advance + runs > session.sent() - session.first:
            self.reset(session.number, ABORTED)
            self.over(ABORTED)
            return False
        while session.frames and advance >= units(session.frames[0][0]):
            taken = units(session.frames.popleft()[0])
            session.first, advance = session.first + taken, advance - taken
        session.offered = session.first + advance + window
        return True

    def on_answer(self, content):
        token, _ = struct.unpack_from(">BB", content, 1)
        if self.on_ack(content, 3) and self.session and token == self.session.token:
            # Everything unacknowledged was sent before the question.
            self.session.resend = True

    def on_data(self, content):
        number = struct.unpack_from(">H", content, 1)[0]
        start = 3
        if content[0] & 1:
            advanced = struct.unpack_from(">H", content, 3)[0]
            start = 5
            # It does not change the end of the window.
            offered = self.session.offered
            if not self.on_ack(bytes([ACK]) + struct.pack(">HH", advanced, 0)):
                return
            self.session.offered = offered
        self.hear()
        session = self.session
        self.owes = True
        payload, last = content[start:], content[0] & 2
        ahead = (number - session.next + 32768) % 65536 - 32768
        # Units ahead of a gap are not kept. If the peer cuts frames in another way than before, only some units may be new.
        if session.input_ended or ahead > 0 or ahead + units(payload) <= 0 or not (payload or last):
            return
        session.next += ahead + units(payload)
        session.pending += payload[-ahead * UNIT :]
        if last:
            session.input_ended = session.wants_end = True

    # Time

    def over(self, reason):
        if self.session.incarnation:
            self.past.append((self.session.number, reason))
        if reason == SILENCE and self.dials:
            self.incarnation = 0
        self.session, self.owes, self.answer = None, False, None

    def tick(self):
        now, session = self.clock(), self.session
        if session and not self.up:
            if now > self.lost + GRACE:
                self.over(SILENCE)
            return
        if not session:
            if self.dials and self.up:
                self.session = Session(random.randrange(1 << 32), self.incarnation, WINDOW // UNIT, self.largest, now)
                self.question()
            return
        blocked = session.pending and session.sent() >= session.offered
        lingers = session.end_sent and session.input_ended and not any(payload for payload, _ in session.frames)
        patience = CLOSING if lingers else PATIENCE if session.confirmed else OPENING
        if session.since and now > session.since + patience:
            if not lingers:
                self.reset(session.number, SILENCE)
            return self.over(FINISHED if lingers else SILENCE)
        if blocked and session.ask is None:
            session.ask = now + PAUSE
        if session.ask and now >= session.ask:
            self.question()
        if session.since is None and now > session.heard + (10 if self.dials else 25):
            self.question()

    def line_back(self):
        self.up = True
        if not self.session:
            return None if self.dials else self.hello()
        self.session.unanswered, self.session.since = 2, None
        return self.question()

    def line_lost(self):
        self.up, self.lost = False, self.clock()
        self.output, self.control = bytearray(), []


def carry(end, device):
    """Carries frames until the line is gone."""
    tty.setraw(device)
    end.line_back()
    run, too_long = bytearray(), False
    while True:
        end.tick()
        end.transmit()
        writable = [device] if end.output else []
        readable, writable, _ = select.select([device], writable, [], 0.005)
        if writable:
            del end.output[: os.write(device, end.output)]
        if not readable:
            continue
        heard = os.read(device, 4096)
        if not heard:
            return
        for byte in heard:
            if byte:
                too_long = too_long or len(run) > PAYLOAD + 20
                if not too_long:
                    run.append(byte)
                continue
            if run and not too_long:
                end.receive(bytes(run))
            run, too_long = bytearray(), False


def main(role, path):
    end = End(role)
    while True:
        try:
            device = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:
            end.tick()
            # Real time: the device may come back at any time, and timers go on.
            time.sleep(0.05)
            continue
        try:
            carry(end, device)
        except OSError:
            pass
        end.line_lost()
        os.close(device)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:3])
    except KeyboardInterrupt:
        pass
