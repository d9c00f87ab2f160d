"""The frames of byway_addon.py, seen by a peer that reads each of them."""
import asyncio
import contextlib
import pathlib
import sys
import tempfile

from peers import DEADLINE, ROOT, Program, listens, soon

sys.path.insert(0, str(ROOT / "plugins/python"))
import byway_addon  # noqa: E402

HEAD = [(":method", "GET"), (":scheme", "http"), (":authority", "device.example"), (":path", "/")]


class Frames(byway_addon._Connection):
    """A connection that notes the frames that arrive."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.seen = []

    async def receive(self, kind, flags, number, payload):
        if kind in (byway_addon.DATA, byway_addon.HEADERS, byway_addon.RST_STREAM):
            self.seen.append((kind, flags & byway_addon.END_STREAM, len(payload)))
        await super().receive(kind, flags, number, payload)


class Bench:
    """An addon, a client in front of it, and a next hop behind it."""

    def __init__(self, text, answer=None):
        self.text, self.answer = text, answer
        self.hops = []

    async def __aenter__(self):
        self.stack = contextlib.AsyncExitStack()
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="bwp-")))
        self.server = await asyncio.start_unix_server(self.accept, str(self.folder / "next"))
        self.stack.callback(self.server.close)
        (self.folder / "addon.py").write_text(f"import byway_addon\n{self.text}\nbyway_addon.run(**hooks, listen={str(self.folder / 'addon')!r})\n")
        self.program = await self.stack.enter_async_context(Program(
            sys.executable, "-B", self.folder / "addon.py", env={"PYTHONPATH": str(ROOT / "plugins/python")}, log=self.folder / "log"))
        await listens(self.folder / "addon", self.program.process)
        self.client = await self.connect()
        return self

    async def connect(self):
        client = Frames(*await asyncio.open_unix_connection(str(self.folder / "addon")))
        client.start()
        self.stack.callback(client.task.cancel)
        return client

    async def __aexit__(self, *_):
        await self.stack.aclose()

    def accept(self, reader, writer):
        hop = Frames(reader, writer, self.answer)
        hop.start()
        self.hops.append(hop)
        self.stack.callback(hop.task.cancel)

    def send(self, fields=(), flags=byway_addon.END_STREAM):
        stream = self.client.open()
        stream.send_headers([*HEAD, ("byway-next", f"unix:{self.folder}/next"), *fields], flags)
        return stream


def answer(fields, body=None):
    async def handler(stream):
        await asyncio.sleep(0)
        stream.send_headers(fields, 0 if body is not None else byway_addon.END_STREAM)
        if body is not None:
            await stream.send_body(body)
    return handler


async def trailers_only(_):
    """a response of gRPC with trailers only is a single frame, and so is a request without a body"""
    fields = [(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "5")]
    async with Bench("hooks = {}", answer(fields)) as bench, asyncio.timeout(DEADLINE):
        stream = bench.send()
        assert await stream.response() == fields
        await soon(lambda: stream.has_ended, "no end")
        assert [frame[:2] for frame in bench.client.seen] == [(byway_addon.HEADERS, 1)], bench.client.seen
        assert [frame[:2] for frame in bench.hops[0].seen] == [(byway_addon.HEADERS, 1)], bench.hops[0].seen


async def trailers_without_body(_):
    """trailers pass if there is no body in front of them, and the address of the next hop does not"""
    heads = []

    async def handler(stream):
        heads.append(stream.head)
        stream.send_headers([(":status", "200")])
        stream.send_headers([("grpc-status", "0")], byway_addon.END_STREAM)

    async with Bench("hooks = {}", handler) as bench, asyncio.timeout(DEADLINE):
        stream = bench.send()
        assert await stream.response() == [(":status", "200")]
        assert await stream.receive() is None and stream.trailers == [("grpc-status", "0")], stream.trailers
        assert heads == [HEAD], heads


async def many_fields(_):
    """a head with too many fields gets 431, and the connection goes on"""
    async with Bench("hooks = {}", answer([(":status", "200")], b"hello")) as bench, asyncio.timeout(DEADLINE):
        for fields in ([(f"x-{number}", "1") for number in range(2000)], [("x-long", "x" * 200_000), ("x-longer", "x" * 70_000)]):
            assert (":status", "431") in await bench.send(fields).response()
        stream = bench.send()
        assert (":status", "200") in await stream.response() and await stream.receive() == b"hello"


async def many_fields_back(_):
    """a response with too many fields fails that request only"""
    heads = iter([[(":status", "200"), *((f"x-{number}", "1") for number in range(2000))], [(":status", "204")]])

    async def handler(stream):
        stream.send_headers(next(heads), byway_addon.END_STREAM)

    async with Bench("hooks = {}", handler) as bench, asyncio.timeout(DEADLINE):
        try:
            assert not await bench.send().response()
        except byway_addon.StreamEnded:
            pass
        assert (":status", "204") in await bench.send().response()


async def notes(_):
    """notes are at most eight fields of 256 bytes, and one line of the log each"""
    text = ("async def request(flow):\n    flow.note('one\\r\\nset-cookie: a=1')\n    flow.note('ü' * 300)\n"
            "    for number in range(20): flow.note(number)\n    flow.reply(200)\nhooks = {'request': request}")
    async with Bench(text) as bench, asyncio.timeout(DEADLINE):
        values = [value for name, value in await bench.send().response() if name == "byway-note"]
        assert values[0] == "one  set-cookie: a=1" and len(values) == 8 and values[2:] == [str(number) for number in range(6)], values
        assert values[1].encode("latin-1").decode() == "ü" * 128
        lines = [line for line in bench.program.output.splitlines() if line.startswith("GET ")]
        assert len(lines) == 22 and lines[0] == "GET /: one  set-cookie: a=1", lines[:3]


async def refused_fields(_):
    """a field or a status that no message may have fails at the hook's own line, and the log says why"""
    for line, reason in (
        ("headers['Connection'] = 'close'", "connection belongs to a connection"), ("headers['te'] = 'gzip'", "te belongs to a connection"),
        ("headers['a b'] = 1", "'a b' is not the name"), ("headers['a'] = 'b\\r\\nc: d'", "the value of a has a line break"),
    ):
        text = f"async def request(flow):\n    flow.request.{line}\nhooks = {{'request': request}}"
        async with Bench(text, answer([(":status", "204")])) as bench, asyncio.timeout(DEADLINE):
            await failure(bench, reason)
    for line, reason in (
        ("request.headers['content-length'] = 'x'", "content-length is 'x', and not a number of bytes"),
        ("request.headers['content-length'] = 5", "content-length is 5, and the body has not changed with it"),
        ("request.headers['a'] = '☃'", "the value of a has letters that no field can carry"),
        ("reply(200, [], 'x'); flow.response.status = 42", "42 is not a status of a response: write one from 200 to 599"),
        ("reply('none')", "'none' is not a status of a response"),
    ):
        text = f"async def request(flow):\n    flow.{line}\nhooks = {{'request': request}}"
        async with Bench(text, answer([(":status", "204")])) as bench, asyncio.timeout(DEADLINE):
            await failure(bench, reason)
    for arguments in ("99", "200, {'upgrade': 'h2c'}"):
        async with Bench(f"async def request(flow):\n    flow.reply({arguments})\nhooks = {{'request': request}}") as bench:
            await failure(bench, "ValueError")
    async with Bench("async def request(flow):\n    flow.request.headers['te'] = 'trailers'\nhooks = {'request': request}",
                     answer([(":status", "204")])) as bench, asyncio.timeout(DEADLINE):
        assert (":status", "204") in await bench.send().response()


async def refused_response(_):
    """a response hook that sets a wrong length or status fails its request only, and the log says why"""
    for line, reason in (
        ("headers['content-length'] = '4'", "content-length is 4, and the body has not changed with it"),
        ("headers['content-length'] = '-1'", "content-length is '-1', and not a number of bytes"),
        ("headers.add('content-length', 5)", "content-length is 5 already: a message has one"),
        ("status = 42", "42 is not a status of a response: write one from 200 to 599"),
    ):
        text = ("async def response(flow):\n    if flow.request.headers.get('x-break'):\n"
                f"        flow.response.{line}\nhooks = {{'response': response}}")
        async with Bench(text, answer([(":status", "200"), ("content-length", "5")], b"hello")) as bench, asyncio.timeout(DEADLINE):
            other = bench.send()
            await failure(bench, reason, [("x-break", "1")])
            assert ("content-length", "5") in await other.response() and await other.receive() == b"hello"
            # The same connection goes on.
            stream = bench.send()
            assert (":status", "200") in await stream.response() and await stream.receive() == b"hello"
    # A hook that replaces the body needs no length, and the body decides.
    text = ("async def response(flow):\n    flow.response.headers['content-length'] = 99\n    flow.response.body = 'new'\n"
            "    flow.response.status = 201\nhooks = {'response': response}")
    async with Bench(text, answer([(":status", "200"), ("content-length", "5")], b"hello")) as bench, asyncio.timeout(DEADLINE):
        stream = bench.send()
        fields = dict(await stream.response())
        assert fields[":status"] == "201" and fields["content-length"] == "3" and await stream.receive() == b"new", fields


async def failure(bench, reason, fields=()):
    """A request fails, and the program's output has the reason."""
    try:
        assert not await asyncio.wait_for(bench.send(fields).response(), DEADLINE)
    except byway_addon.StreamEnded:
        pass
    await soon(lambda: reason in bench.program.output, f"{reason}: {bench.program.output}")


async def one_connection(_):
    """simultaneous first requests share one connection with the next hop"""
    async with Bench("hooks = {}", answer([(":status", "204")])) as bench, asyncio.timeout(DEADLINE):
        await asyncio.gather(*(bench.send().response() for _ in range(90)))
        assert len(bench.hops) == 1, len(bench.hops)


async def window(_):
    """a peer that sends more than its window loses its connection, and others do not"""
    text = ("import asyncio\nasync def request(flow):\n    if flow.request.path == '/slow': await asyncio.Event().wait()\n"
            "hooks = {'request': request}")
    async with Bench(text, answer([(":status", "204")])) as bench, asyncio.timeout(DEADLINE):
        other = await bench.connect()
        stream = other.open()
        stream.send_headers([*HEAD[:3], (":path", "/slow")])
        for _ in range(20):
            other.send(byway_addon.DATA, 0, stream.number, bytes(byway_addon.FRAME))
        await soon(lambda: other.is_closed, "the connection still runs")
        assert (":status", "204") in await bench.send().response()


async def head_request(_):
    """a hook's body is not sent in the answer to HEAD"""
    text = "async def request(flow): flow.reply(200, {'a': 1}, 'hello')\nhooks = {'request': request}"
    async with Bench(text) as bench, asyncio.timeout(DEADLINE):
        stream = bench.client.open()
        stream.send_headers([(":method", "HEAD"), *HEAD[1:]], byway_addon.END_STREAM)
        fields = dict(await stream.response())
        assert fields["content-length"] == "5" and fields["a"] == "1"
        await soon(lambda: stream.has_ended, "no end")
        assert [frame[:2] for frame in bench.client.seen] == [(byway_addon.HEADERS, 1)], bench.client.seen


async def cancels(_):
    """a client that resets its stream ends the hook, and the request at the next hop"""
    text = "async def response(flow):\n    flow.note('response')\nhooks = {'response': response}"
    reached = asyncio.Event()

    async def handler(stream):
        reached.set()
        await asyncio.Event().wait()

    async with Bench(text, handler) as bench, asyncio.timeout(DEADLINE):
        stream = bench.send(flags=0)
        await reached.wait()
        stream.reset(byway_addon.CANCEL)
        await soon(lambda: any(frame[0] == byway_addon.RST_STREAM for frame in bench.hops[0].seen), "no reset")
        assert "response" not in bench.program.output


CHECKS = (trailers_only, trailers_without_body, many_fields, many_fields_back, notes, refused_fields, refused_response, one_connection, window, head_request, cancels)
