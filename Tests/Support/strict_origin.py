#!/usr/bin/env python3
"""An origin that checks the host name of requests, as Jupyter, Transmission and CUPS do. Standard library only.

    strict_origin.py tcp            prints "ready PORT"
    strict_origin.py PATH           the same on a Unix socket

Another Host than its own gets 421, and an Origin of another site 403. /redirect answers with its own name in each field that can have it,
an upgrade to websocket with 101, everything else with the lines of the request.
"""
import base64
import hashlib
import os
import socketserver
import sys


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        lines = []
        while line := self.rfile.readline().decode("latin-1").rstrip("\r\n"):
            lines.append(line)
        if not lines:
            return
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        host = fields.get("host")
        if host not in self.server.names:
            return self.answer(421, f"{host} is not {sorted(self.server.names)}")
        own = f"http://{host}"
        if fields.get("origin", own) != own:
            return self.answer(403, f"{fields['origin']} is not {own}")
        if fields.get("upgrade", "").lower() == "websocket":
            digest = hashlib.sha1((fields["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
            accept = f"Sec-WebSocket-Accept: {base64.b64encode(digest).decode()}"
            return self.answer(101, "", "Upgrade: websocket", "Connection: upgrade", accept)
        if lines[0].split()[1] == "/redirect":
            return self.answer(
                302, "", f"Location: {own}/there", f"Content-Location: {own}/here", f"Refresh: 0; url={own}/soon",
                f"Link: <{own}/next>; rel=next", f"Set-Cookie: a=1; Domain={host.partition(':')[0]}; Path=/")
        self.answer(200, "\n".join(lines))

    def answer(self, status, text, *fields):
        length = [] if status == 101 else [f"Content-Length: {len(text.encode())}", "Connection: close"]
        head = "\r\n".join([f"HTTP/1.1 {status} Answer", *fields, *length])
        self.wfile.write(f"{head}\r\n\r\n{text}".encode())


def main(place):
    kind = socketserver.ThreadingTCPServer if place == "tcp" else socketserver.ThreadingUnixStreamServer
    server = kind(("127.0.0.1", 0) if place == "tcp" else place, Handler)
    server.daemon_threads = True
    port = server.server_address[1] if place == "tcp" else 0
    server.names = {f"127.0.0.1:{port}", f"localhost:{port}"} if port else {"localhost"}
    print(f"ready {port}", flush=True)
    try:
        server.serve_forever()
    finally:
        if place != "tcp":
            os.unlink(place)


if __name__ == "__main__":
    main(sys.argv[1])
