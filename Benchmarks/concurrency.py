#!/usr/bin/env python3
"""Simulates ways to carry concurrent HTTP requests over a serial line, in virtual time: docs/design/concurrent-requests.md.

A page is a file of HTML and 20 resources. A browser asks for up to six at once. At the same time an event stream may be open, and a slow
endpoint may be asked before the page. The line has the frames and acknowledgements of docs/wire-protocol.md and loses nothing. Results are
the same in each run.

    Benchmarks/concurrency.py [--streams N] [--trip MS]
"""
import argparse
import collections
import heapq
import math
import random

RATE = 11_520  # bytes a second at 115,200 baud
DATA, ACK = 9, 11  # bytes of a frame besides its payload, and of an acknowledgement
REQUEST, HEAD = 350, 120  # bytes of a request, and of the head of a response
PATIENCE = 60.0  # after this time the proxy fails a request that waits
EVENT, EVENTS = 50, 0.25  # bytes of an event, and seconds between two of them
SLOW = 3.0
HTML = 4096

# The bytes that a stream may send to the device and to the proxy before it is granted more. Half of it is granted at once, in two bytes.
CREDIT_OF_DEVICE, CREDIT_OF_PROXY, GRANT = 256, 16_320, 2
NEVER = 1 << 40


def resources():
    """Returns 20 sizes from 0.5 to 20 KB, evenly spread on a logarithmic scale, in a fixed random order."""
    sizes = [round(512 * 40 ** (index / 19)) for index in range(20)]
    random.Random(1).shuffle(sizes)
    return sizes


class Clock:
    def __init__(self):
        self.now, self.count, self.events = 0.0, 0, []

    def after(self, delay, action):
        self.count += 1
        heapq.heappush(self.events, (self.now + delay, self.count, action))

    def run(self, is_done):
        while self.events and not is_done() and self.now < PATIENCE:
            self.now, _, action = heapq.heappop(self.events)
            action()


class Sender:
    """What an end sends on one session: bytes of streams, with the overhead of the way for each piece."""

    def __init__(self, way, credit):
        self.way, self.credit = way, collections.defaultdict(lambda: credit)
        self.waiting = collections.OrderedDict()  # bytes by stream, the next one to send first

    def add(self, stream, count):
        self.waiting[stream] = self.waiting.get(stream, 0) + count

    def take(self, room):
        """Returns bytes of payload, and the bytes of streams in it."""
        pieces, used = [], 0
        for stream in list(self.waiting):
            count = min(self.waiting[stream], room - used - self.way.piece, self.credit[stream])
            if self.way.is_ordered and count <= 0:
                break
            if count <= 0:
                continue
            used += count + self.way.piece
            self.credit[stream] -= count
            left = self.waiting.pop(stream) - count
            if left:
                self.waiting[stream] = left
                if self.way.is_ordered:
                    self.waiting.move_to_end(stream, last=False)
            pieces.append((stream, count))
        return used, pieces


class End:
    """An end of the line, with one or several sessions."""

    def __init__(self, rig, window, credit):
        self.rig, self.window = rig, window
        self.consumed = collections.defaultdict(int)  # and not granted again yet
        self.grants = []
        count = rig.streams if rig.way.has_sessions else 1
        self.sessions = [Sender(rig.way, credit) for _ in range(count)]
        self.flight = [0] * count
        self.unacknowledged = [collections.deque() for _ in range(count)]  # of the peer's frames
        self.is_due = [False] * count
        self.is_busy, self.turn = False, 0

    def sender(self, stream):
        return self.sessions[stream % len(self.sessions)]

    def send(self, stream, count):
        self.sender(stream).add(stream, count)
        self.kick()

    def kick(self):
        if self.is_busy:
            return
        frame = self.acknowledgement() or self.data()
        if frame is None:
            return
        size, arrive = frame
        self.is_busy = True
        self.rig.wire += size

        def sent():
            self.is_busy = False
            self.rig.clock.after(self.rig.trip / 2, arrive)
            self.kick()

        self.rig.clock.after(size / RATE, sent)

    def acknowledgement(self):
        for session, frames in enumerate(self.unacknowledged):
            if self.is_due[session] or len(frames) >= 2:
                self.is_due[session] = False
                total = sum(frames)
                frames.clear()
                return ACK + self.rig.way.frame, lambda: self.other.acknowledged(session, total)
        return None

    def acknowledged(self, session, count):
        self.flight[session] -= count
        self.kick()

    def data(self):
        for step in range(len(self.sessions)):
            session = (self.turn + step) % len(self.sessions)
            room = min(self.rig.payload, self.window - self.flight[session])
            if room < self.rig.payload:
                continue
            grants, self.grants = self.grants, []
            used, pieces = self.sessions[session].take(room - GRANT * len(grants))
            used += GRANT * len(grants)
            if used > 0:
                self.turn = session + 1
                self.flight[session] += math.ceil(used / 16) * 16
                return used + DATA + self.rig.way.frame, lambda: self.other.arrived(session, used, pieces, grants)
        return None

    def arrived(self, session, used, pieces, grants):
        frames = self.unacknowledged[session]
        frames.append(math.ceil(used / 16) * 16)
        self.rig.clock.after(0.01, lambda: self.acknowledge(session, frames))
        for stream, count in grants:
            self.sender(stream).credit[stream] += count
        for stream, count in pieces:
            if self.rig.way.has_credit:
                self.consume(stream, count)
            self.deliver(stream, count)
        self.kick()

    def consume(self, stream, count):
        """A reader takes bytes at once. When half of the credit is used, it grants as much again."""
        self.consumed[stream] += count
        if self.consumed[stream] >= self.first_credit // 2:
            self.grants.append((stream, self.consumed.pop(stream)))

    def acknowledge(self, session, frames):
        if frames:
            self.is_due[session] = True
            self.kick()


class Device(End):
    """Answers each request when it is complete, and the slow endpoint after its time."""
    first_credit = CREDIT_OF_DEVICE

    def deliver(self, stream, count):
        request = self.rig.requests[stream]
        request.unsent -= count
        if request.unsent == 0:
            self.rig.clock.after(request.delay, lambda: self.answer(stream, request))

    def answer(self, stream, request):
        request.is_answered = True
        if not self.rig.way.is_ordered:
            return self.begin(stream, request)
        # Answers leave in the order of the requests.
        queue = self.rig.order
        while queue and self.rig.requests[queue[0]].is_answered:
            first = queue[0]
            self.begin(first, self.rig.requests[first])
            if self.rig.requests[first].is_endless:
                return
            queue.popleft()

    def begin(self, stream, request):
        self.send(stream, self.rig.way.head + request.size)
        if request.is_endless:
            self.event(stream)

    def event(self, stream):
        self.send(stream, EVENT)
        self.rig.clock.after(EVENTS, lambda: self.event(stream))


class Proxy(End):
    first_credit = CREDIT_OF_PROXY

    def deliver(self, stream, count):
        self.rig.received(stream, count)


class Request:
    def __init__(self, name, size, delay=0.0, is_endless=False):
        self.name, self.size, self.delay, self.is_endless = name, size, delay, is_endless
        self.is_answered, self.unsent, self.missing = False, 0, 0


class Way:
    """A way to carry requests. Sizes are bytes."""

    def __init__(self, name, at_once=None, piece=0, frame=0, request=REQUEST, head=HEAD, start=0,
                 is_ordered=False, has_sessions=False, has_credit=False, is_large=False):
        self.name, self.at_once, self.piece, self.frame = name, at_once, piece, frame
        self.request, self.head, self.start = request, head, start
        self.is_ordered, self.has_sessions, self.has_credit, self.is_large = is_ordered, has_sessions, has_credit, is_large


WAYS = [
    Way("one at a time", at_once=1, is_ordered=True),
    Way("pipelining", is_ordered=True),
    # A byte in each frame names the session. Each session has its own windows and acknowledgements.
    Way("sessions", frame=1, has_sessions=True),
    Way("streams", piece=2, has_credit=True),
    # Heads as HPACK leaves them after the first ones, and both prefaces with SETTINGS.
    Way("HTTP/2", piece=9, request=70, head=40, start=130, is_large=True),
]


class Rig:
    def __init__(self, way, payload, streams, trip):
        self.way, self.payload, self.streams, self.trip = way, payload, streams, trip
        self.clock, self.wire, self.http = Clock(), way.start, 0
        # Four frames are under way at most: the device has no memory for more. A Linux system has.
        window = 16_384 if way.is_large else 4 * payload
        self.device = Device(self, window, CREDIT_OF_PROXY if way.has_credit else NEVER)
        self.proxy = Proxy(self, window, CREDIT_OF_DEVICE if way.has_credit else NEVER)
        self.device.other, self.proxy.other = self.proxy, self.device
        self.requests, self.order = {}, collections.deque()
        self.free, self.next = list(range(streams)), 0
        self.pending, self.browser, self.done = collections.deque(), collections.deque(), {}
        self.running = 0  # of the browser, which has six connections

    # The browser.

    def ask(self, request):
        self.browser.append(request)
        self.start()

    def start(self):
        while self.browser and self.running < 6:
            self.running += 1
            self.pending.append(self.browser.popleft())
        self.forward()

    # The proxy.

    def forward(self):
        limit = self.way.at_once or (6 if self.way.is_ordered else self.streams)
        while self.pending and len(self.requests) < limit:
            request = self.pending.popleft()
            if self.way.is_ordered:
                stream, self.next = self.next, self.next + 1
            else:
                stream = self.free.pop(0)
            request.unsent, request.missing = self.way.request, self.way.head + request.size
            self.http += REQUEST + HEAD + request.size
            self.requests[stream] = request
            self.order.append(stream)
            self.proxy.send(stream, self.way.request)

    def received(self, stream, count):
        request = self.requests[stream]
        request.missing -= count
        if request.is_endless or request.missing > 0:
            return
        self.done[request.name] = self.clock.now
        del self.requests[stream]
        self.running -= 1
        if not self.way.is_ordered:
            self.free.append(stream)
        if request.name == "html":
            for index, size in enumerate(resources()):
                self.ask(Request(index, size))
        self.start()

    def run(self, has_events, has_slow):
        """Returns when each part of the page was complete."""
        if has_events:
            self.ask(Request("events", 0, is_endless=True))
        if has_slow:
            self.ask(Request("slow", 100, delay=SLOW))
        self.ask(Request("html", HTML))
        self.clock.run(lambda: all(name in self.done for name in ("html", *range(20))))
        return {name: self.done.get(name, math.inf) for name in ("html", *range(20))}


def row(way, payload, streams, trip):
    rig = Rig(way, payload, streams, trip)
    alone = rig.run(False, False)
    times = [alone]
    for has_events, has_slow in ((True, False), (False, True), (True, True)):
        times.append(Rig(way, payload, streams, trip).run(has_events, has_slow))
    # The order of the resources may change, so equal ranks are compared.
    delay = max(b - a for a, b in zip(sorted(alone.values()), sorted(times[2].values())))
    cells = [f"{max(each.values()):.1f} s" if math.isfinite(max(each.values())) else "never" for each in times]
    return [way.name, str(payload), *cells, f"{delay:.1f} s", f"{rig.wire - rig.http:,}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--streams", type=int, default=4, help="requests that the device takes at once")
    parser.add_argument("--trip", type=float, default=16, help="milliseconds of a round trip besides the bytes")
    options = parser.parse_args()
    total = HTML + sum(resources())
    print(f"The page has {total:,} bytes: {total / RATE:.1f} s of the line.\n")
    heads = ["way", "payload", "page", "with events", "slow first", "both", "delay by slow", "overhead"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for way in WAYS:
        for payload in (64, 256):
            print("| " + " | ".join(row(way, payload, options.streams, options.trip / 1000)) + " |")


if __name__ == "__main__":
    main()
