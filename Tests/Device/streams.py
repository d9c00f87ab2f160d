"""Concurrent requests, a WebSocket and server-sent events over a proxy, in the device or on this machine."""
import contextlib
import re
import socket
import struct

from report import expect

AT_ONCE = 200
# The server's next event comes after 20 s.
EVENT_SECONDS = 15
SECONDS = 60
# An emulated processor starts the programs of all clients.
CROWD_SECONDS = 120


def crowd(shell, port, page):
    """Checks concurrent requests of the device."""
    url = f"http://127.0.0.1:{port}/"
    # A bare wait would also wait for the gateway, which the same shell has started.
    jobs = f"jobs=; for i in $(seq {AT_ONCE}); do wget -q -O - {url} >>/tmp/crowd & jobs=\"$jobs $!\"; done; wait $jobs"
    shell.run(f"rm -f /tmp/crowd; {jobs}", CROWD_SECONDS)
    count = int(shell.run(f"grep -c '{page.decode().strip()}' /tmp/crowd", check=False))
    expect(count == AT_ONCE, f"{count} of {AT_ONCE} requests were answered")


def web_socket(shell, port):
    text = shell.run(f"rm -f /tmp/websocket; timeout 20 socat TCP:127.0.0.1:{port} EXEC:websocket-client 2>&1; cat /tmp/websocket", SECONDS)
    expect("101" in text and text.endswith("hello"), f"the WebSocket has no echo: {text}")


def events(shell, port):
    # A client that only closes its connection may still wait for the end, and a reset says that it does not.
    text = shell.run(f"rm -f /tmp/events; timeout {EVENT_SECONDS} socat TCP:127.0.0.1:{port},linger=0 EXEC:events-client 2>&1; cat /tmp/events", SECONDS)
    expect("first" in text, f"no event arrives: {text}")


def host_crowd(proxy, page):
    """Checks concurrent requests of this machine."""
    with contextlib.ExitStack() as running:
        transfers = [running.enter_context(proxy.start("/")) for _ in range(AT_ONCE)]
        for transfer in transfers:
            expect(transfer.finish(SECONDS) == page, "it is another page")


def host_web_socket(proxy):
    fields = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    with connected(proxy) as stream, stream.makefile("rwb") as file:
        file.write(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:81\r\n{fields}\r\n".encode())
        file.flush()
        head = [line := file.readline()]
        while line.strip():
            head.append(line := file.readline())
        expect(b" 101 " in head[0], f"the WebSocket is refused: {head}")
        # A text of five bytes, with a mask of zeros.
        frame = b"\x81\x85\0\0\0\0hello"
        file.write(frame)
        file.flush()
        answer = file.read(len(frame))
        expect(answer == frame, f"the echo is {answer}")


def host_events(proxy):
    with connected(proxy) as stream, stream.makefile("rwb") as file:
        file.write(b"GET /cgi-bin/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        file.flush()
        stream.settimeout(EVENT_SECONDS)
        while not (line := file.readline()).startswith(b"data: first"):
            expect(line, "no event arrives")
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def connected(proxy):
    host, port = re.fullmatch(r"http://(.*):(\d+)", proxy.address).groups()
    return socket.create_connection((host, int(port)), SECONDS)
