"""Faults of an origin. Each must cause a clear failure at the client, never a truncated success."""
import time

ROUTES = {}


def fault(path):
    """Every fault ends its connection."""
    def enter(function):
        def run(exchange):
            exchange.ends_connection = True
            function(exchange)
        run.__doc__ = function.__doc__
        ROUTES[path] = run
        return function
    return enter


@fault("/hang-up")
def hang_up(exchange):
    """Closes without a response."""


@fault("/silent")
def silent(exchange):
    """Keeps the connection open and sends nothing."""
    time.sleep(exchange.number("ms", 60_000) / 1000)


@fault("/half-head")
def half_head(exchange):
    exchange.send(b"HTTP/1.1 200 OK\r\ncontent-le")


@fault("/truncated")
def truncated(exchange):
    """Sends a body shorter than declared."""
    exchange.head(200, [("content-length", exchange.number("declared", 1000))])
    exchange.send(b"x" * exchange.number("sent", 100))


@fault("/truncated-chunks")
def truncated_chunks(exchange):
    """Sends a chunked body without its last chunk."""
    exchange.head(200, [("transfer-encoding", "chunked")])
    exchange.chunk(b"x" * exchange.number("sent", 100))


@fault("/stall")
def stall(exchange):
    """Sends part of the body, then nothing more, and keeps the connection open."""
    exchange.head(200, [("content-length", 1000)])
    exchange.send(b"x" * 100)
    time.sleep(exchange.number("ms", 60_000) / 1000)


@fault("/reset")
def reset(exchange):
    """Resets the connection after `after` bytes of the body, or before the head with after=-1."""
    after = exchange.number("after", 100)
    if after >= 0:
        exchange.head(200, [("content-length", 1_000_000)])
        exchange.send(b"x" * after)
        time.sleep(0.02)  # a reset discards data that the peer has not read yet
    exchange.connection.reset()


@fault("/garbage")
def garbage(exchange):
    exchange.send(b"SSH-2.0-OpenSSH_9.2\r\n" + bytes(range(256)))


@fault("/conflicting-lengths")
def conflicting_lengths(exchange):
    exchange.head(200, [("content-length", 5), ("content-length", 6)])
    exchange.send(b"fiveor")


@fault("/length-and-chunked")
def length_and_chunked(exchange):
    """Sends two framings at once, as in response splitting (RFC 9112 §6.3)."""
    exchange.head(200, [("content-length", 3), ("transfer-encoding", "chunked")])
    exchange.chunk(b"hello")
    exchange.last_chunk()


@fault("/bad-chunk-size")
def bad_chunk_size(exchange):
    exchange.head(200, [("transfer-encoding", "chunked")])
    exchange.send(b"5\r\nhello\r\nfffffffffffffffff\r\nboom")


@fault("/control-in-field")
def control_in_field(exchange):
    exchange.head(200, [("x-bad", "a\0b"), ("content-length", 0)])


@fault("/folded-field")
def folded_field(exchange):
    """Obsolete line folding (RFC 9112 §5.2)."""
    exchange.head(200, [("x-folded", "a\r\n b"), ("content-length", 0)])


@fault("/endless-head")
def endless_head(exchange):
    exchange.send(b"HTTP/1.1 200 OK\r\n")
    for number in range(exchange.number("count", 100_000)):
        exchange.send(b"x-%d: %s\r\n" % (number, b"v" * 100))


@fault("/endless-informational")
def endless_informational(exchange):
    for _ in range(exchange.number("count", 10_000)):
        exchange.head(103, [("link", "</a>; rel=preload")])
    exchange.answer(body=b"at last\n")


@fault("/extra-bytes")
def extra_bytes(exchange):
    """Sends a second, unsolicited response, which must not be used for the next request."""
    exchange.ends_connection = False
    exchange.answer(body=b"mine\n")
    exchange.answer(body=b"not yours\n")
