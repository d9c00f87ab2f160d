#!/usr/bin/env python3
"""An HTTP/1.1 origin whose paths show the good and bad behavior of real origins. Standard library only.

    python3 origin.py --listen unix:/tmp/origin.sock
    python3 origin.py --listen 127.0.0.1:0            any free port

Prints one line, "ready ADDRESS", once it accepts. What a path does stands at its function in origin_answers.py and
origin_faults.py; numbers come in the query: /events?count=3&ms=50.
"""
import argparse
import itertools
import os
import socket
import threading
import time

import origin_answers
import origin_faults
from origin_http import Connection, Gone, Malformed

ROUTES = {**origin_answers.ROUTES, **origin_faults.ROUTES}


def main():
    arguments = argparse.ArgumentParser(description="an HTTP/1.1 origin for tests")
    arguments.add_argument("--listen", required=True, help="unix:PATH or HOST:PORT")
    arguments.add_argument(
        "--drop-after", type=int, default=0, metavar="N",
        help="close each connection after N responses, unannounced: the keep-alive race")
    arguments.add_argument("--drop-ms", type=int, default=0, metavar="MS", help="delay of that close")
    arguments.add_argument("--backlog", type=int, default=512, metavar="N")
    arguments.add_argument("--accept-ms", type=int, default=0, metavar="MS", help="pause between two accepts")
    options = arguments.parse_args()

    listener, address = listen(options.listen, options.backlog)
    print(f"ready {address}", flush=True)
    for number in itertools.count(1):
        stream, _ = listener.accept()
        threading.Thread(target=serve, args=(stream, number, options), daemon=True).start()
        time.sleep(options.accept_ms / 1000)


def listen(address, backlog):
    if address.startswith("unix:"):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address.removeprefix("unix:"))
        os.chmod(address.removeprefix("unix:"), 0o666)
    else:
        host, _, port = address.rpartition(":")
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, int(port)))
        address = f"{host}:{listener.getsockname()[1]}"
    listener.listen(backlog)
    return listener, address


def serve(stream, number, options):
    connection = Connection(stream, number)
    try:
        for count in itertools.count(1):
            exchange = connection.next_exchange(count)
            if exchange is None:
                break
            ROUTES.get(exchange.path, origin_answers.not_found)(exchange)
            if not exchange.finish():
                break
            if count == options.drop_after:
                time.sleep(options.drop_ms / 1000)
                break
    except (Gone, Malformed, OSError):
        pass
    finally:
        connection.close()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
