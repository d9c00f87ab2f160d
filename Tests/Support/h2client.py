#!/usr/bin/env python3
"""An HTTP/2 client on the stock `h2` package (apt: python3-h2), with prior knowledge. Prints one JSON object.

    h2client.py unix:/run/gateway.sock /echo --count 3 -H 'x-a: 1' -X POST --data hello
    h2client.py unix:/run/gateway.sock /websocket --websocket

Every response is given with informational heads, head, trailers, length and SHA-256 of the body, and how it ended.
"""
import argparse
import hashlib
import json
import selectors
import socket
import time

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

import h1client
import websocket


class Response:
    def __init__(self):
        self.informational, self.fields, self.trailers = [], [], []
        self.sha, self.length, self.start, self.end = hashlib.sha256(), 0, b"", None

    def take(self, data):
        self.sha.update(data)
        self.length += len(data)
        if len(self.start) < 4096:
            self.start += data

    def json(self):
        return {"status": int(dict(self.fields).get(":status", 0)), "fields": self.fields,
                "informational": self.informational, "trailers": self.trailers, "length": self.length,
                "sha256": self.sha.hexdigest(), "text": self.start[:4096].decode("latin-1"), "end": self.end or "none"}


class Client:
    def __init__(self, options):
        self.options = options
        self.stream = h1client.connect(options.address, options.deadline)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="latin-1"))
        self.h2.initiate_connection()
        self.h2.increment_flow_control_window(1 << 24)
        self.responses = {}
        self.pending = {}
        self.goaway = None
        self.extended_connect = False

    def request(self, fields, body=b"", trailers=(), ends=True):
        number = self.h2.get_next_available_stream_id()
        empty = ends and not body and not trailers
        self.h2.send_headers(number, fields, end_stream=empty)
        self.responses[number] = Response()
        if not empty:
            self.pending[number] = [body, list(trailers), ends]
        return number

    def flush(self):
        """Sends as much as flow control allows."""
        for number, (body, trailers, ends) in list(self.pending.items()):
            while body:
                room = min(self.h2.local_flow_control_window(number), self.h2.max_outbound_frame_size, len(body))
                if room == 0:
                    break
                self.h2.send_data(number, body[:room])
                body = body[room:]
            self.pending[number][0] = body
            if not body:
                del self.pending[number]
                if trailers:
                    self.h2.send_headers(number, trailers, end_stream=True)
                elif ends:
                    self.h2.end_stream(number)
        self.stream.sendall(self.h2.data_to_send())

    def step(self):
        """Reads once; False if the peer has closed."""
        self.flush()
        data = self.stream.recv(1 << 18)
        if not data:
            return False
        for event in self.h2.receive_data(data):
            self.handle(event)
        self.flush()
        return True

    def handle(self, event):
        response = self.responses.get(getattr(event, "stream_id", None))
        if isinstance(event, h2.events.ConnectionTerminated):
            self.goaway = int(event.error_code)
        elif isinstance(event, h2.events.RemoteSettingsChanged):
            setting = event.changed_settings.get(h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL)
            self.extended_connect = self.extended_connect or bool(setting and setting.new_value)
        elif response is None:
            return
        elif isinstance(event, h2.events.InformationalResponseReceived):
            response.informational.append(list(event.headers))
        elif isinstance(event, h2.events.ResponseReceived):
            response.fields = list(event.headers)
        elif isinstance(event, h2.events.TrailersReceived):
            response.trailers = list(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            response.take(event.data)
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            response.end = f"reset {int(event.error_code)}"
        elif isinstance(event, h2.events.StreamEnded):
            response.end = "complete"

    def run(self):
        """Runs until every response has ended, the peer closes or the time is up."""
        deadline = time.monotonic() + self.options.deadline
        while any(response.end is None for response in self.responses.values()) and time.monotonic() < deadline:
            try:
                if not self.step():
                    break
            except (TimeoutError, ConnectionError):
                break


def head(options, method):
    fields = [(":method", method), (":scheme", "http"), (":authority", options.host), (":path", options.target)]
    return fields + [tuple(field.split(": ", 1)) for field in options.field]


def requests(options):
    client = Client(options)
    trailers = [tuple(field.split(": ", 1)) for field in options.trailer]
    body = b"\0" * options.size if options.size else options.data.encode()
    for _ in range(options.count):
        client.request(head(options, options.method), body, trailers)
    client.run()
    return {"responses": [response.json() for response in client.responses.values()], "goaway": client.goaway}


class WebSocketStream:
    """A file-like view of an extended CONNECT stream (RFC 8441)."""

    def __init__(self, client, number):
        self.client, self.number, self.data = client, number, b""
        client.responses[number].take = self.take

    def take(self, data):
        self.data += data

    def read(self, count):
        while len(self.data) < count and self.client.responses[self.number].end is None and self.client.step():
            pass
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def write(self, data):
        self.client.pending[self.number] = [data, [], False]
        while self.number in self.client.pending:
            self.client.flush()
            if self.number in self.client.pending:
                self.client.step()


def websocket_echo(options):
    client = Client(options)
    while not client.extended_connect and client.step():
        pass
    fields = head(options, "CONNECT")
    number = client.request(fields + [(":protocol", "websocket"), ("sec-websocket-version", "13")], ends=False)
    del client.pending[number]
    stream = WebSocketStream(client, number)
    while not client.responses[number].fields and client.step():
        pass
    answer = {"status": client.responses[number].json()["status"], "echoed": []}
    if answer["status"] == 200:
        peer = websocket.Peer(stream, stream.write, masks=True)
        for size in (5, 70_000):
            peer.send(b"w" * size)
            if peer.receive() == (websocket.BINARY, b"w" * size):
                answer["echoed"].append(size)
    return answer


def crowd(options):
    """Opens idle tunnels to a local listener on several connections, or sends requests for the target."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    authority = "127.0.0.1:%d" % listener.getsockname()[1]
    clients = [Client(options) for _ in range(options.crowd)]
    for client in clients:
        # The package rejects a CONNECT without a path.
        client.h2.config.validate_outbound_headers = False
        while client.h2.remote_settings.max_concurrent_streams > 1 << 20 and client.step():
            pass
        for _ in range(options.count):
            if options.requests:
                client.request(head(options, options.method))
                continue
            number = client.request([(":method", "CONNECT"), (":authority", authority)], ends=False)
            del client.pending[number]
        client.flush()
    selector = selectors.DefaultSelector()
    for client in clients:
        selector.register(client.stream, selectors.EVENT_READ, client)
    deadline, told = time.monotonic() + options.deadline, False
    while time.monotonic() < deadline:
        ready = selector.select(0.5)
        for key, _ in ready:
            if not key.data.step():
                selector.unregister(key.fileobj)
        if not ready and not told:
            told = True
            print("crowded", flush=True)
    return {}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("target")
    parser.add_argument("-X", dest="method", default="GET")
    parser.add_argument("-H", dest="field", action="append", default=[])
    parser.add_argument("--trailer", action="append", default=[])
    parser.add_argument("--data", default="")
    parser.add_argument("--size", type=int, default=0, help="a body of so many zeros")
    parser.add_argument("--count", type=int, default=1, help="requests at once, on one connection")
    parser.add_argument("--crowd", type=int, default=0, help="connections, with --count idle tunnels on each")
    parser.add_argument("--requests", action="store_true", help="with --crowd: requests instead of tunnels")
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--deadline", type=float, default=30)
    parser.add_argument("--websocket", action="store_true")
    options = parser.parse_args()
    if options.crowd:
        return crowd(options)
    print(json.dumps(websocket_echo(options) if options.websocket else requests(options)))


if __name__ == "__main__":
    main()
