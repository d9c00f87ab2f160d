#!/usr/bin/env python3
"""An HTTP/1.1 and WebSocket client for what curl cannot do. Standard library only; prints one JSON object.

    h1client.py events ADDRESS TARGET          when each server-sent event came, and how late
    h1client.py websocket ADDRESS TARGET       echo of messages of several sizes
    h1client.py burst ADDRESS TARGET           so many requests at once, each on a connection of its own
    h1client.py crowd ADDRESS TARGET           so many connections with half a request each, and holds them
    h1client.py pipeline ADDRESS TARGET        so many requests in one go, whose answers it does not read
    h1client.py crawl ADDRESS TARGET           reads a body slowly, then quickly
    h1client.py raw ADDRESS                    sends a given text, shows the answer

ADDRESS is unix:PATH or HOST:PORT.
"""
import argparse
import base64
import hashlib
import json
import os
import socket
import threading
import time

import websocket


def connect(address, deadline):
    if address.startswith("unix:"):
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(deadline)
        stream.connect(address.removeprefix("unix:"))
        return stream
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), deadline)


def get(options, extra=""):
    """Sends a GET. Returns the reader, positioned after the head, and the head's lines."""
    stream = connect(options.address, options.deadline)
    stream.sendall(f"GET {options.target} HTTP/1.1\r\nhost: {options.host}\r\n{extra}\r\n".encode())
    reader = stream.makefile("rb")
    return stream, reader, read_head(reader)


def read_head(reader):
    lines = []
    while line := reader.readline().decode("latin-1").rstrip("\r\n"):
        lines.append(line)
    return lines


def status(head):
    return int(head[0].split(" ")[1]) if head else 0


def events(options):
    stream, reader, head = get(options)
    delays = []
    for line in reader:
        if line.startswith(b"data: "):
            delays.append(time.time() - float(line[6:]))
        if len(delays) == options.count:
            break
    stream.close()
    return {"status": status(head), "count": len(delays), "slowest": max(delays, default=-1)}


def websocket_echo(options):
    key = base64.b64encode(os.urandom(16)).decode()
    stream, reader, head = get(
        options,
        f"connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n")
    answer = {"status": status(head), "echoed": [], "closed": False}
    if answer["status"] != 101:
        return answer
    fields = dict(line.lower().split(": ", 1) for line in head[1:])
    answer["accepted"] = fields.get("sec-websocket-accept") == websocket.accept(key).lower()
    peer = websocket.Peer(reader, stream.sendall, masks=True)
    for size in options.sizes:
        data = hashlib.sha256(str(size).encode()).digest() * (size // 32 + 1)
        data = data[:size]
        peer.send(data, pieces=options.pieces)
        message = peer.receive()
        if message is None or message[1] != data:
            return answer
        answer["echoed"].append(size)
    peer.close()
    answer["closed"] = True
    return answer


def burst(options):
    results, lock, together = [], threading.Lock(), threading.Barrier(options.count)

    def one():
        try:
            together.wait(options.deadline)
            stream, reader, head = get(options, "connection: close\r\n")
            result = [status(head), hashlib.sha256(reader.read()).hexdigest()]
        except (OSError, threading.BrokenBarrierError) as error:
            result = [0, str(error)]
        with lock:
            results.append(result)

    threads = [threading.Thread(target=one, daemon=True) for _ in range(options.count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(options.deadline)
    return {"statuses": sorted({code for code, _ in results}), "answers": len(results),
            "bodies": len({body for _, body in results})}


def crowd(options):
    """Opens many connections with half a request each. Runs until it is ended or the server has closed all of them."""
    streams = []
    for _ in range(options.count):
        stream = connect(options.address, options.deadline)
        stream.sendall(f"GET {options.target} HTTP/1.1\r\nhost: {options.host}\r\n".encode())
        streams.append(stream)
    print("crowded", flush=True)
    for stream in streams:
        stream.settimeout(None)
        try:
            while stream.recv(1 << 16):
                pass
        except OSError:
            pass
    return {}


def pipeline(options):
    """Sends pipelined requests and reads no response."""
    stream = connect(options.address, options.deadline)
    request = f"GET {options.target} HTTP/1.1\r\nhost: {options.host}\r\n\r\n".encode()
    try:
        stream.settimeout(options.ms / 1000)
        stream.sendall(request * options.count)
    except OSError:
        pass
    time.sleep(options.ms / 1000)
    return {}


def crawl(options):
    """Pauses while it reads: a hop must not buffer what is not read."""
    stream, reader, head = get(options, "connection: close\r\n")
    sha, length, start = hashlib.sha256(), 0, time.monotonic()
    while piece := reader.read1(1 << 16):
        sha.update(piece)
        length += len(piece)
        if time.monotonic() - start < options.ms / 1000:
            time.sleep(0.01)
    return {"status": status(head), "length": length, "sha256": sha.hexdigest()}


def raw(options):
    stream = connect(options.address, options.deadline)
    stream.sendall(options.text.encode("latin-1").decode("unicode_escape").encode("latin-1"))
    start, data = time.monotonic(), b""
    try:
        while piece := stream.recv(1 << 16):
            data += piece
        end = "closed"
    except TimeoutError:
        end = "open"
    except OSError:
        end = "reset"
    return {"text": data.decode("latin-1"), "end": end, "seconds": time.monotonic() - start}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = {"events": events, "websocket": websocket_echo, "burst": burst, "crowd": crowd, "pipeline": pipeline, "crawl": crawl, "raw": raw}
    parser.add_argument("command", choices=commands)
    parser.add_argument("address")
    parser.add_argument("target", nargs="?", default="/")
    parser.add_argument("--host", default="localhost", help="the Host field")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--ms", type=int, default=2000)
    parser.add_argument("--sizes", type=int, nargs="*", default=[0, 5, 125, 126, 65535, 65536, 70000])
    parser.add_argument("--pieces", type=int, default=1, help="frames a message is sent in")
    parser.add_argument("--text", default="", help="for raw; backslash escapes are read")
    parser.add_argument("--deadline", type=float, default=30)
    options = parser.parse_args()
    print(json.dumps(commands[options.command](options)))


if __name__ == "__main__":
    main()
