#!/usr/bin/env python3
"""The memory that hostile peers can occupy in a proxy and a gateway, and whether another client is served meanwhile.

    /usr/bin/python3 -B Benchmarks/held.py --byway .build/release/byway

Needs python3-h2 of Debian and curl. Each attack runs against new processes that have served one request. The figures are the peak of
resident memory minus the memory before the attack. The exit status is 1 if a process grows by more than 128 MiB, or if the other client
gets neither its response nor 503 within 12 s.

128 MiB are twice the memory budget. The budget counts bytes of messages. Resident memory also has objects, read buffers and freed memory
that the C library keeps: docs/design/memory.md.
"""
import argparse
import asyncio
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import h2.config
import h2.connection
import h2.events

from unread import memory, start

LIMIT = 128 * 1024
# A request waits 10 s for its turn.
PATIENCE = 12
MARK = "ready"


class Peer:
    """An HTTP/2 connection with blocking calls."""

    def __init__(self, stream, client):
        self.stream = stream
        self.sent = 0
        self.http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=client, header_encoding=None))
        self.http.initiate_connection()
        self.flush()

    def flush(self):
        self.send(self.http.data_to_send())

    def send(self, data):
        self.sent += len(data)
        self.stream.sendall(data)

    def events(self):
        data = self.stream.recv(65536)
        return self.http.receive_data(data) if data else None

    def block(self, stream, fields, flags):
        """Returns one HEADERS frame, without the checks of the library."""
        block = self.http.encoder.encode(fields)
        return len(block).to_bytes(3, "big") + bytes([1, flags]) + stream.to_bytes(4, "big") + block


def gateway(path, count):
    """Serves as a gateway that answers /flood with this many informational responses."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print(MARK, flush=True)
    stream, _ = listener.accept()
    peer = Peer(stream, False)
    while (events := peer.events()) is not None:
        for event in events:
            if isinstance(event, h2.events.RequestReceived):
                answer(peer, event, count)
        peer.flush()


def answer(peer, event, count):
    if dict(event.headers)[b":path"] != b"/flood":
        return peer.http.send_headers(event.stream_id, [(":status", "204")], end_stream=True)
    fields = [(":status", "103"), ("x-early", "e" * 3000)]
    peer.send(peer.block(event.stream_id, fields, 4))
    frame = peer.block(event.stream_id, fields, 4)
    for _ in range(count // 1000):
        peer.send(frame * 1000)


def origin(path):
    """Serves as an origin that answers GET /ok, and reads only the heads of other requests."""
    async def serve(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"GET /ok"):
            return await asyncio.sleep(3600)
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def run():
        server = await asyncio.start_unix_server(serve, path, limit=65536)
        print(MARK, flush=True)
        await server.serve_forever()
    asyncio.run(run())


def far_end(_):
    """Opens a port that accepts connections and reads nothing."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
    print(MARK, listener.getsockname()[1], flush=True)
    kept = []
    while True:
        kept.append(listener.accept())


ROLES = {"gateway": lambda path: gateway(path, 300_000), "origin": origin, "far-end": far_end}


# The attacks. Each returns the number of sent bytes, and the objects that must stay open.

def informational(address, reads):
    stream = socket.create_connection(address)
    stream.sendall(b"GET /flood HTTP/1.1\r\nHost: %s:%d\r\n\r\n" % (address[0].encode(), address[1]))
    deadline = time.monotonic() + 8
    stream.settimeout(1)
    while reads and time.monotonic() < deadline:
        try:
            if not stream.recv(1 << 20):
                break
        except TimeoutError:
            continue
    return 300_000 * 11, [stream]


def uploads(address):
    peers = [Peer(socket.create_connection(address), True) for _ in range(60)]
    for peer in peers:
        peer.stream.settimeout(0.2)
        for index in range(90):
            peer.http.send_headers(2 * index + 1, [
                (":method", "POST"), (":path", f"/unread{index}"), (":scheme", "http"),
                (":authority", "%s:%d" % address)])
    chunk = bytes(16384)
    for _ in range(3):
        for peer in peers:
            try:
                peer.flush()
                peer.events()
                for index in range(90):
                    fill(peer, 2 * index + 1, chunk)
                peer.flush()
            except (TimeoutError, OSError, h2.exceptions.ProtocolError):
                pass
    return sum(peer.sent for peer in peers), peers


def fill(peer, stream, chunk):
    try:
        while (room := peer.http.local_flow_control_window(stream)) > 0:
            peer.http.send_data(stream, chunk[:min(room, 16384)])
    except h2.exceptions.ProtocolError:
        # The stream has ended.
        pass


def headers(address):
    fields = [(":method", "GET"), (":path", "/unread"), (":scheme", "http"), (":authority", "%s:%d" % address)]
    fields += [("x-large", "h" * 3800)] * 7
    peers = [Peer(socket.create_connection(address), True) for _ in range(200)]
    for peer in peers:
        try:
            peer.send(b"".join(peer.block(2 * index + 1, fields, 5) for index in range(100)))
        except OSError:
            pass
    return sum(peer.sent for peer in peers), peers


def tunnels(address, port):
    sent = 0
    streams = [socket.create_connection(address) for _ in range(230)]
    for stream in streams:
        stream.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (port, port))
    for stream in streams:
        stream.settimeout(10)
        stream.recv(1024)
        stream.setblocking(False)
        try:
            while True:
                sent += stream.send(bytes(65536))
        except OSError:
            pass
    for stream in streams:
        stream.close()
    return sent, []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byway", default=".build/release/byway")
    parser.add_argument("--role", choices=ROLES, help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        return ROLES[options.role](options.path)
    attacks = {
        "300,000 informational responses that no client reads": lambda place: informational(place[0], False),
        "300,000 informational responses, read": lambda place: informational(place[0], True),
        "60 connections with 90 uploads each, which no origin reads": lambda place: uploads(place[0]),
        "200 connections with 100 requests of 27 KB each": lambda place: headers(place[0]),
        "230 clients that leave their tunnels": lambda place: tunnels(*place),
    }
    print("| attack | sent, MiB | held by the proxy, MiB | by the gateway, MiB | by the proxy 12 s later, MiB | another client |")
    print("|---|---|---|---|---|---|")
    isBad = False
    for name, attack in attacks.items():
        sent, growth, left, (status, isInTime) = measure(options.byway, attack, hostile="informational" in name)
        isBad = isBad or max(growth) > LIMIT or not isInTime
        figures = " | ".join(f"{number / 1024:.1f}" for number in growth)
        print(f"| {name} | {sent / 2**20:.1f} | {figures} | {left / 1024:.1f} | {status} |", flush=True)
    sys.exit(isBad)


def measure(byway, attack, hostile):
    with tempfile.TemporaryDirectory() as folder:
        programs = []
        link = f"unix:{folder}/link"
        this = [sys.executable, "-B", __file__]
        try:
            port = 0
            if hostile:
                start(programs, [*this, "--role", "gateway", "--path", f"{folder}/link"], MARK, "stdout")
                processes = []
            else:
                start(programs, [*this, "--role", "origin", "--path", f"{folder}/origin"], MARK, "stdout")
                _, line = start(programs, [*this, "--role", "far-end"], MARK, "stdout")
                port = int(line.split()[1])
                processes = [start(programs, [
                    byway, "gateway", "--link", link, "--origin", f"unix:{folder}/origin", "--allow",
                    f"127.0.0.1:{port}"], "ready on")[0]]
            proxy, line = start(programs, [byway, "proxy", "--link", link, "--listen", "127.0.0.1:0"], "ready on")
            processes.insert(0, proxy)
            host, number = line.split("http://")[1].split()[0].rstrip("/,").split(":")
            address = (host, int(number))
            served(address)
            for process in processes:
                pathlib.Path(f"/proc/{process.pid}/clear_refs").write_text("5")
            before = [memory(process, "VmRSS") for process in processes]
            sent, kept = attack((address, port))
            time.sleep(3)
            status = served(address)
            growth = [memory(process, "VmHWM") - low for process, low in zip(processes, before)]
            for peer in kept:
                getattr(peer, "stream", peer).close()
            time.sleep(12)
            left = memory(proxy, "VmRSS") - before[0]
            return sent, (growth + [0])[:2], left, status
        finally:
            for process in reversed(programs):
                process.kill()
                process.wait()


def served(address):
    """Sends a request as another client. Returns the outcome, and whether it came in time."""
    answer = subprocess.run(
        ["curl", "-sS", "-o", "/dev/null", "-m", "30", "-w", "%{http_code} %{time_total}",
         f"http://{address[0]}:{address[1]}/ok"],
        capture_output=True, text=True)
    code, seconds = answer.stdout.split()
    isInTime = code in ("204", "503") and float(seconds) <= PATIENCE
    return "served" if code == "204" else f"{code} after {float(seconds):.0f} s", isInTime


if __name__ == "__main__":
    main()
