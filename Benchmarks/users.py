#!/usr/bin/env python3
"""The cost of users at a proxy: a remembered login, a first login, and a flood of wrong logins.

    python3 -B Benchmarks/users.py --byway .build/release/byway

It sends the same small requests through a proxy without users, and through one whose client logs in with each request, in interleaved rounds. The
difference in processor time is the cost of a remembered login. Then it measures a first login, with bcrypt of cost 10. Finally it measures the
requests of alice, one after another, while others send wrong passwords for new names as fast as they get responses.
"""
import base64
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

import contenders

FLOODERS = 16


def measure(options, folder, start):
    files = contenders.fresh(folder, "files")
    origin = start(contenders.nginx_origin(1, contenders.fresh(folder, "origin"), files))
    link = contenders.fresh(folder, "link")
    start(contenders.Process(
        1, link, [options.byway, "gateway", "--origin", f"unix:{origin.socket}", "--link", f"unix:{link}/s"], link / "s"))
    users, rights = folder / "users", folder / "rights"
    subprocess.run(
        [contenders.program("htpasswd", "apache2-utils"), "-cbB", "-C", "10", users, "alice", "secret"], check=True,
        capture_output=True)
    users.chmod(0o600)
    rights.write_text("alice = printer\n")

    def proxy(name, more):
        place = contenders.fresh(folder, name)
        return start(contenders.Process(0, place, [
            options.byway, "proxy", "--device", f"printer=unix:{link}/s", "--listen", f"unix:{place}/s", *more], place / "s"))

    known = ["--rights", rights, "--users", users]
    url, field = "http://printer.localhost/", f"authorization: {login('alice', 'secret')}"
    rows = {"nobody is asked": (proxy("open", []), url), "a remembered login": (proxy("known", known), "-H", field, url)}
    lines = contenders.compare(rows, options)

    server = rows["a remembered login"][0]
    lines += ["", f"first login: {first_login(server) * 1000:.0f} ms"]
    crowd = proxy("crowd", known)
    # On any processor, as usual.
    for thread in os.listdir(f"/proc/{crowd.child.pid}/task"):
        os.sched_setaffinity(int(thread), range(os.cpu_count()))
    calm = latencies(crowd, options.seconds)
    stop = threading.Event()
    statuses = {}
    flooders = [threading.Thread(target=flood, args=(crowd, number, stop, statuses)) for number in range(FLOODERS)]
    for thread in flooders:
        thread.start()
    time.sleep(1)
    flooded = latencies(crowd, options.seconds)
    stop.set()
    for thread in flooders:
        thread.join()
    lines += [
        "", f"alice, who is known: median {calm[0]:.2f} ms, p99 {calm[1]:.2f} ms; during the flood {flooded[0]:.2f} ms, {flooded[1]:.2f} ms",
        f"the flood was answered: {', '.join(f'{count} × {status}' for status, count in sorted(statuses.items()))}"]
    return "\n".join(lines)


def login(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class Client:
    """An HTTP/1.1 connection that stays open."""

    def __init__(self, server):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(server.socket))
        self.rest = b""

    def get(self, authorization):
        self.socket.sendall(f"GET / HTTP/1.1\r\nHost: printer.localhost\r\nAuthorization: {authorization}\r\n\r\n".encode())
        while b"\r\n\r\n" not in self.rest:
            self.receive()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
        while len(self.rest) < length:
            self.receive()
        self.rest = self.rest[length:]
        return int(head.split()[1])

    def receive(self):
        more = self.socket.recv(65536)
        if not more:
            sys.exit("the proxy has closed a connection")
        self.rest += more


def first_login(server):
    """Returns the median seconds of several first logins. A reload clears remembered logins."""
    times = []
    for _ in range(7):
        server.child.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        client = Client(server)
        begin = time.monotonic()
        if client.get(login("alice", "secret")) != 200:
            sys.exit("alice was not let in")
        times.append(time.monotonic() - begin)
    return statistics.median(times)


def latencies(server, seconds):
    """Returns median and 99th percentile in milliseconds."""
    client = Client(server)
    client.get(login("alice", "secret"))
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        if client.get(login("alice", "secret")) != 200:
            sys.exit("alice was not let in")
        times.append((time.monotonic() - begin) * 1000)
        time.sleep(0.002)
    times.sort()
    return statistics.median(times), times[len(times) * 99 // 100]


def flood(server, number, stop, statuses):
    client = Client(server)
    count = 0
    while not stop.is_set():
        count += 1
        status = client.get(login(f"user{number}-{count}", "wrong"))
        statuses[status] = statuses.get(status, 0) + 1


if __name__ == "__main__":
    contenders.run(__doc__, measure, rounds=5)
