"""Responses of a well-behaved origin."""
import base64
import hashlib
import random
import threading
import time

import websocket
from origin_http import Gone

ROUTES = {}
BLOCK = 1 << 16

_lock = threading.Lock()
_posts = 0
_uploads = []
_arrivals = []


def route(path):
    def enter(function):
        ROUTES[path] = function
        return function
    return enter


@route("/")
def hello(exchange):
    exchange.answer(body=b"hello, byway\n")


def not_found(exchange):
    exchange.answer(404, b"nothing here\n")


@route("/echo")
def echo(exchange):
    """Returns the request as it arrived: exact method and target, fields in order, body, and the connection's number."""
    body = b"".join(exchange.body())
    exchange.answer_json({
        "method": exchange.method, "target": exchange.target, "version": exchange.version,
        "fields": exchange.fields, "trailers": exchange.trailers, "body": body.decode("latin-1"),
        "connection": exchange.connection.number, "request": exchange.count,
    })


@route("/duplex")
def duplex(exchange):
    """Sends each piece of the body back as it arrives."""
    exchange.head(200, [("content-type", "application/octet-stream"), ("transfer-encoding", "chunked")])
    for piece in exchange.body():
        exchange.chunk(piece)
    exchange.last_chunk(exchange.trailers)


@route("/digest")
def digest(exchange):
    """Returns the length and SHA-256 of an upload. /uploads lists how each upload ended."""
    sha = hashlib.sha256()
    entry = {"complete": False, "length": 0}
    with _lock:
        _uploads.append(entry)
    for piece in exchange.body():
        sha.update(piece)
        entry["length"] = exchange.received
    entry["complete"] = True
    exchange.answer_json({"length": exchange.received, "sha256": sha.hexdigest(), "trailers": exchange.trailers})


@route("/uploads")
def uploads(exchange):
    """Lists the uploads, once `count` of them have begun or the time is up."""
    answer_later(exchange, _uploads, 3000)


def answer_later(exchange, notes, usual):
    """Lists notes, once there are `count` or `ms` have passed."""
    deadline = time.monotonic() + exchange.number("ms", usual) / 1000
    while len(notes) < exchange.number("count", 0) and time.monotonic() < deadline:
        time.sleep(0.005)
    with _lock:
        exchange.answer_json(list(notes))


@route("/sink")
def sink(exchange):
    """Discards an upload and returns its length only."""
    for _ in exchange.body():
        pass
    exchange.answer_json({"length": exchange.received})


@route("/count")
def count(exchange):
    """Returns the number of POSTs received here."""
    global _posts
    with _lock:
        _posts += exchange.method == "POST"
        exchange.answer_json({"posts": _posts})


@route("/held")
def held(exchange):
    """Reads the whole request, records its arrival, and sends its body back after `ms`."""
    body = b"".join(exchange.body())
    note_arrival(exchange)
    time.sleep(exchange.number("ms", 0) / 1000)
    exchange.answer(body=body)


@route("/noise")
def noise(exchange):
    """Records the arrival, and responds with `size` random bytes that depend on `seed`."""
    note_arrival(exchange)
    exchange.answer(body=random.Random(exchange.number("seed", 0)).randbytes(exchange.number("size", 1024)))


def note_arrival(exchange):
    with _lock:
        _arrivals.append(f"{exchange.method} {exchange.target}")


@route("/arrivals")
def arrivals(exchange):
    """Lists the requests to /held and /noise, once `count` have arrived or the time is up."""
    answer_later(exchange, _arrivals, 10_000)


def blocks(size):
    """Sends the bytes of MarkedFile in Swift: zeros, with each 64 KiB block beginning with its number."""
    zeros = bytes(BLOCK - 8)
    for index in range((size + BLOCK - 1) // BLOCK):
        yield (index.to_bytes(8, "big") + zeros)[:size - index * BLOCK]


@route("/bytes")
def some_bytes(exchange):
    size = exchange.number("size", 1024)
    chunked = exchange.number("chunked", 0)
    framing = ("transfer-encoding", "chunked") if chunked else ("content-length", size)
    exchange.head(200, [("content-type", "application/octet-stream"), framing])
    if exchange.method == "HEAD":
        return
    for block in blocks(size):
        exchange.chunk(block) if chunked else exchange.send(block)
    if chunked:
        exchange.last_chunk()


@route("/resumable")
def resumable(exchange):
    """Serves a file with a tag and ranges. A response with the whole file breaks off after half of it."""
    content = b"".join(blocks(exchange.number("size", 300_000)))
    start = exchange.field("range")
    if start and exchange.field("if-range") == '"v1"':
        start = int(start.removeprefix("bytes=").rstrip("-"))
        last = len(content) - 1
        exchange.head(206, [
            ("etag", '"v1"'), ("content-length", len(content) - start), ("content-range", f"bytes {start}-{last}/{last + 1}")])
        exchange.send(content[start:])
        return
    exchange.head(200, [("etag", '"v1"'), ("content-length", len(content))])
    exchange.send(content[:len(content) // 2])
    time.sleep(0.02)  # a reset discards data that the peer has not read yet
    exchange.connection.reset()


@route("/login")
def login(exchange):
    """Requires a name and a password, and returns them."""
    given = exchange.field("authorization")
    if given is None:
        exchange.answer(401, b"who is it?\n", fields=[("www-authenticate", 'Basic realm="test"')])
    else:
        exchange.answer(body=base64.b64decode(given.removeprefix("Basic ")))


@route("/moved")
def moved(exchange):
    exchange.answer(302, b"over there\n", fields=[("location", exchange.query.get("to", "/"))])


@route("/cookies")
def cookies(exchange):
    exchange.answer(body=b"two\n", fields=[("set-cookie", "a=1; Path=/"), ("set-cookie", "b=2, c; Path=/")])


@route("/trailers")
def trailers(exchange):
    exchange.head(200, [("trailer", "x-digest"), ("transfer-encoding", "chunked")])
    exchange.chunk(b"with trailers\n")
    exchange.last_chunk([("x-digest", "abc"), ("x-late", "yes")])


@route("/early-hints")
def early_hints(exchange):
    exchange.head(103, [("link", "</style.css>; rel=preload")], reason="Early Hints")
    time.sleep(exchange.number("ms", 0) / 1000)
    exchange.answer(body=b"hinted\n")


@route("/refuse-expectation")
def refuse_expectation(exchange):
    """Responds before the body that the client holds back, and ends the connection, as RFC 9110 §10.1.1 allows."""
    exchange.ends_connection = True
    exchange.answer(417, b"no\n", fields=[("connection", "close")])


@route("/early-answer")
def early_answer(exchange):
    """Rejects an upload that is still arriving."""
    exchange.ends_connection = True
    next(exchange.body(), None)
    exchange.answer(413, b"too much\n", fields=[("connection", "close")])


@route("/events")
def events(exchange):
    """Sends server-sent events, each with its time of sending in seconds since 1970."""
    exchange.head(200, [("content-type", "text/event-stream"), ("transfer-encoding", "chunked")])
    for number in range(exchange.number("count", 5)):
        exchange.chunk(b"id: %d\ndata: %.6f\n\n" % (number, time.time()))
        time.sleep(exchange.number("ms", 100) / 1000)
    exchange.last_chunk()


@route("/slow-head")
def slow_head(exchange):
    time.sleep(exchange.number("ms", 500) / 1000)
    exchange.answer(body=b"at last\n")


@route("/slow-body")
def slow_body(exchange):
    count = exchange.number("count", 5)
    exchange.head(200, [("content-length", count)])
    for _ in range(count):
        exchange.send(b".")
        time.sleep(exchange.number("ms", 100) / 1000)


@route("/until-close")
def until_close(exchange):
    exchange.ends_connection = True
    exchange.head(200, [("content-type", "text/plain")])
    exchange.send(b"the end is the end\n")


@route("/status")
def status(exchange):
    """Responds with a status; all but 204 and 304 have a body."""
    code = exchange.number("code", 204)
    if code in (204, 304):
        exchange.head(code, [("etag", '"v1"')])
    else:
        exchange.answer(code, b"status\n")


@route("/obs-text")
def obs_text(exchange):
    """Sends a field value in Latin-1, as old servers send file names."""
    exchange.answer(body=b"old\n", fields=[("x-name", "caf\xe9")])


@route("/large-fields")
def large_fields(exchange):
    """Sends `size` bytes of fields, which no hop may buffer without a limit."""
    value = "v" * 1000
    exchange.answer(fields=[(f"x-{n}", value) for n in range(exchange.number("size", 20_000) // 1000)])


@route("/websocket")
def websocket_echo(exchange):
    """Echoes messages; with fragment=1 each in three frames."""
    key = exchange.field("sec-websocket-key")
    if (exchange.field("upgrade") or "").lower() != "websocket" or not key:
        return exchange.answer(426, fields=[("upgrade", "websocket")])
    exchange.ends_connection = True
    fields = [("upgrade", "websocket"), ("connection", "Upgrade"), ("sec-websocket-accept", websocket.accept(key))]
    exchange.head(101, fields, reason="Switching Protocols")
    peer = websocket.Peer(exchange.connection.reader, exchange.send, masks=False)
    try:
        while (message := peer.receive()) is not None:
            opcode, data = message
            peer.send(data, opcode, pieces=3 if exchange.number("fragment", 0) else 1)
    except EOFError:
        raise Gone from None
