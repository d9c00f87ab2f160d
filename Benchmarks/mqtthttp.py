#!/usr/bin/env python3
"""HTTP over an MQTT broker, as small as it can be: a message for each request, and one for each response.

    mqtthttp.py device BROKER-PORT ORIGIN-PORT
    mqtthttp.py local BROKER-PORT PORT

The second one listens on loopback. Needs python3-paho-mqtt. transports.py compares it with a link over MQTT.
"""
import concurrent.futures
import http.client
import http.server
import itertools
import json
import queue
import socket
import sys

import paho.mqtt.client

TOPIC = "bench/plain"
SECONDS = 60


def main():
    role, broker, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    client = paho.mqtt.client.Client()
    # Otherwise a message waits for those before it to be acknowledged.
    client.max_inflight_messages_set(1000)
    client.on_socket_open = lambda _, __, stream: stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    {"device": serve_device, "local": serve_local}[role](client, broker, port)


def serve_device(client, broker, origin):
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        client.on_message = lambda _, __, message: pool.submit(answer, client, message, origin)
        client.on_connect = lambda *_: client.subscribe(f"{TOPIC}/requests/+", 1)
        client.connect("127.0.0.1", broker)
        client.loop_forever()


def answer(client, message, origin):
    head, _, body = message.payload.partition(b"\n")
    connection = http.client.HTTPConnection("127.0.0.1", origin, timeout=SECONDS)
    connection.request(*json.loads(head), body or None)
    response = connection.getresponse()
    head = json.dumps(response.status).encode()
    client.publish(message.topic.replace("/requests/", "/responses/"), head + b"\n" + response.read(), 1)
    connection.close()


def serve_local(client, broker, port):
    numbers, waiting = itertools.count(), {}

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body would otherwise be sent apart, and the second one late.
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_GET(self):
            number = str(next(numbers))
            answers = waiting[number] = queue.Queue(1)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            client.publish(f"{TOPIC}/requests/{number}", json.dumps([self.command, self.path]).encode() + b"\n" + body, 1)
            head, _, body = answers.get(timeout=SECONDS).partition(b"\n")
            del waiting[number]
            self.send_response(json.loads(head))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_GET

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 256

    client.on_message = lambda _, __, message: waiting[message.topic.rpartition("/")[2]].put(message.payload)
    client.on_connect = lambda *_: client.subscribe(f"{TOPIC}/responses/+", 1)
    client.connect("127.0.0.1", broker)
    client.loop_start()
    Server(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
