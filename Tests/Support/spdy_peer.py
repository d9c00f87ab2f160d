#!/usr/bin/env python3
"""A kubectl and a Kubernetes API server, limited to the upgrade of a POST to SPDY/3.1 by `kubectl exec`.

    spdy_peer.py serve SOCKET           answers, echoes frames, and ends each stream as its client does; says "ready"
    spdy_peer.py use HOST:PORT PATH     writes what came back as JSON
"""

import json
import os
import socket
import struct
import sys
import threading

PATIENCE = 20
COUNT = 200


def read_head(connection):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            break
        head += byte
    return head.decode()


def read_frame(stream):
    """A SPDY frame's header of eight bytes, and its data (draft-mbelshe-httpbis-spdy-00 §2.2)."""
    header = stream.read(8)
    if len(header) < 8:
        return None
    return header + stream.read(int.from_bytes(header[5:8], "big"))


def serve(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    while True:
        threading.Thread(target=answer, args=[listener.accept()[0]], daemon=True).start()


def answer(connection):
    connection.settimeout(PATIENCE)
    head = read_head(connection)
    wanted = ["POST /api/exec", "\r\nUpgrade: SPDY/3.1\r\n", "\r\nConnection: upgrade\r\n", "\r\nContent-Length: 0\r\n"]
    if "POST /api/old" in head:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nno upgrade here")
        connection.close()
        return
    if not all(part in head for part in wanted) or "byway-upgrade" in head.lower():
        body = head.encode()
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        connection.close()
        return
    connection.sendall(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        b"X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n")
    stream = connection.makefile("rb")
    count = 0
    while frame := read_frame(stream):
        connection.sendall(frame)
        count += 1
    # The client has ended its direction and receives the number of frames.
    connection.sendall(struct.pack(">II", 0, 4) + struct.pack(">I", count))
    connection.close()


def use(address, path):
    host, port = address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
    connection.sendall(
        f"POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        "X-Stream-Protocol-Version: v4.channel.k8s.io\r\nContent-Length: 0\r\n\r\n".encode())
    head = read_head(connection)
    if not head.startswith("HTTP/1.1 101 "):
        print(json.dumps({"head": head, "echoed": 0, "counted": 0}))
        return
    frames = [struct.pack(">II", index + 1, size) + os.urandom(size) for index, size in enumerate([0, 1, 5000] * COUNT)]

    def send():
        for frame in frames:
            connection.sendall(frame)
        connection.shutdown(socket.SHUT_WR)

    threading.Thread(target=send, daemon=True).start()
    stream = connection.makefile("rb")
    echoed = sum(read_frame(stream) == frame for frame in frames)
    counted = struct.unpack(">I", read_frame(stream)[8:])[0]
    print(json.dumps({"head": head, "echoed": echoed, "counted": counted}))


if __name__ == "__main__":
    {"serve": serve, "use": use}[sys.argv[1]](*sys.argv[2:])
