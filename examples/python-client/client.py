#!/usr/bin/env python3
"""GET over a gateway's Unix socket with the stock h2 package: client.py SOCKET [PATH]

The link carries plain HTTP/2 with prior knowledge, so any HTTP/2 library will do.
"""
import socket
import sys

import h2.config
import h2.connection
import h2.events


def get(path, target):
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(10)
    link.connect(path)
    http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
    http.initiate_connection()
    stream = http.get_next_available_stream_id()
    fields = [(":method", "GET"), (":scheme", "http"), (":authority", "device"), (":path", target)]
    http.send_headers(stream, fields, end_stream=True)
    status, body = None, b""
    while True:
        link.sendall(http.data_to_send())
        received = link.recv(65536)
        if not received:
            raise ConnectionError("the gateway closed the link")
        for event in http.receive_data(received):
            if isinstance(event, h2.events.ResponseReceived):
                status = dict(event.headers)[":status"]
            elif isinstance(event, h2.events.DataReceived):
                body += event.data
                http.acknowledge_received_data(event.flow_controlled_length, stream)
            elif isinstance(event, h2.events.StreamReset):
                raise ConnectionError(f"the gateway gave the request up: {event.error_code}")
            elif isinstance(event, h2.events.StreamEnded):
                return status, body


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    status, body = get(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "/")
    print(status)
    sys.stdout.buffer.write(body)
