"""The same plugin in four languages passes the same checks: plugins/examples/counter-*."""
import asyncio
import contextlib
import os
import shutil
import subprocess
from concurrent import futures

from peers import DEADLINE, ROOT, Program, Rig, children, end, listens, numbered, peak, soon

EXAMPLES = ROOT / "plugins/examples"
LANGUAGES = ("python", "node", "go", "swift")
# In MiB. The Swift plugin has two threads for each request.
MEMORY = 128


def build(folder, language):
    """Compiles a plugin that needs it. Returns its command, or None if its tools are not installed."""
    source, program = EXAMPLES / f"counter-{language}", folder / f"counter-{language}"
    if language == "python":
        return []
    if language == "node":
        return ["node", source / "counter.mjs"] if shutil.which("node") else None
    if not shutil.which({"go": "go", "swift": "swiftc"}[language]):
        return None
    if language == "go":
        environment = {"GOCACHE": str(folder / "go-cache"), "GO111MODULE": "off", "CGO_ENABLED": "0", **os.environ}
        subprocess.run(["go", "build", "-o", program, source / "counter.go"], check=True, timeout=180, env=environment)
    else:
        subprocess.run(["swiftc", "-O", source / "counter.swift", "-o", program], check=True, timeout=180)
    return [program]


class CounterRig(Rig):
    """A rig with the counter of one language. A program that Byway does not start is started here."""

    def __init__(self, byway, language, command, options=""):
        self.language, self.command, self.options = language, command, options
        super().__init__(byway)

    async def __aenter__(self):
        if self.language == "python":
            self.plugins = [f"exec:{EXAMPLES}/counter-python/counter.py" + (f"?{self.options}" if self.options else "")]
            return await super().__aenter__()
        http = "2" if self.language == "node" else "1.1"
        self.plugins = ["unix:{}/plugin?http=" + http + (f"&{self.options}" if self.options else "")]
        await super().__aenter__()
        await self.start_plugin()
        return self

    async def start_plugin(self):
        path = self.folder / "plugin"
        path.unlink(missing_ok=True)
        self.plugin = await self.stack.enter_async_context(Program(*self.command, path, log=self.folder / "plugin-log"))
        await listens(path, self.plugin.process)

    def plugin_pid(self):
        if self.language != "python":
            return self.plugin.pid
        started = children(self.proxy.pid)
        return started[0] if started else None

    async def restart_plugin(self):
        """Byway starts its own plugin again. Another program needs whoever has started it."""
        if self.language != "python":
            await self.plugin.process.wait()
            await self.start_plugin()


async def stream(rig, size):
    """Gets a body, and compares it as it arrives."""
    received = 0
    async with rig.exchange() as exchange:
        exchange.send("GET", f"/bytes/{size}")
        answer = await exchange.head()
        assert answer.status == 200, answer.status
        async for chunk in answer.body:
            assert chunk == numbered(received, len(chunk)), f"different after {received} bytes"
            received += len(chunk)
    assert received == size, f"{received} of {size} bytes"


# ---- Checks of a rig that runs


async def counts(rig):
    """pages get their number, with a length and in chunks, and nothing else does"""
    assert (await rig.get("/page")).text == "<p>Hello</p><p>Page 1</p>"
    pages = await rig.get("/pages", {"te": "trailers"})
    assert pages.text == "<p>OneTwo</p><p>Page 2</p>", pages.text
    assert (await rig.get("/packed")).content == b"\x1f\x8bnot really"
    assert (await rig.get("/text")).text == "GET /text"
    head = await rig.send("HEAD", "/page")
    assert head.status == 200 and head.content == b"", head.status
    seen = dict(rig.origin.seen[0][2])
    assert "byway-next" not in seen and "byway-exchange" not in seen and "transfer-encoding" not in seen, seen
    assert (await rig.get("/page")).text.endswith("<p>Page 3</p>")


async def mebibyte(rig):
    """1 MiB passes unmodified, in both directions"""
    await stream(rig, 1 << 20)
    body = numbered(0, 1 << 20)
    # Go's server has no response before the end of a request, until version 1.21.
    assert (await rig.post("/return", body)).content == body


async def concurrent(rig):
    """200 requests at once"""
    answers = await asyncio.gather(*(rig.post("/return", b"body %d" % number) for number in range(200)))
    for number, answer in enumerate(answers):
        assert (answer.status, answer.content) == (200, b"body %d" % number), (answer.status, answer.content)


async def web_socket(rig):
    """a WebSocket passes, byte by byte as it comes"""
    async with asyncio.timeout(DEADLINE), rig.exchange() as exchange:
        exchange.send("GET", "/socket", {
            "connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="})
        answer = await exchange.head()
        assert answer.status == 101, answer.status
        for message in (b"ping", b"pong", b"x" * 100_000):
            exchange.writer.write(message)
            assert await exchange.reader.readexactly(len(message)) == message


async def events(rig):
    """each event passes before the next one exists"""
    async with asyncio.timeout(DEADLINE), rig.exchange() as exchange:
        exchange.send("GET", "/events")
        rig.origin.events.put_nowait(b"data: 0\n\n")
        answer = await exchange.head()
        parts = aiter(answer.body)
        for number in range(4):
            assert await anext(parts) == b"data: %d\n\n" % number
            rig.origin.events.put_nowait(b"data: %d\n\n" % (number + 1) if number < 3 else None)
        assert await anext(parts, None) is None


async def trailers(rig):
    """trailers of requests and responses pass"""
    async with asyncio.timeout(DEADLINE), rig.exchange() as exchange:
        exchange.send("GET", "/trailers", {"te": "trailers"})
        answer = await exchange.head()
        assert await answer.body.read() == b"chunk"
        assert answer.body.trailers == [("x-end", "last")], answer.body.trailers
    async with asyncio.timeout(DEADLINE), rig.exchange() as exchange:
        exchange.send("POST", "/echo", {"transfer-encoding": "chunked", "te": "trailers", "trailer": "x-sum"}, None)
        exchange.chunk(b"chunk")
        exchange.writer.write(b"0\r\nx-sum: 5\r\n\r\n")
        answer = await exchange.head()
        assert await answer.body.read() == b"chunk"
        assert ("x-sum", "5") in answer.body.trailers, answer.body.trailers


async def early_hints(rig):
    """103 (Early Hints) passes"""
    async with asyncio.timeout(DEADLINE), rig.exchange() as exchange:
        exchange.send("GET", "/early")
        answer = await exchange.head()
        assert answer.status == 200 and await answer.body.read() == b"early"
        hints = [dict(fields).get("link") for status, fields in answer.informational if status == 103]
        assert hints == ["</a.css>; rel=preload"], answer.informational
        assert answer["link"] is None


async def expect(rig):
    """an upload with Expect gets 100, or the refusal of the origin"""
    async with asyncio.timeout(DEADLINE), rig.exchange() as exchange:
        exchange.send("POST", "/echo", {"expect": "100-continue", "content-length": "5"}, None)
        # A client that waits for 100 would hang without it.
        first = await exchange.reader.readuntil(b"\r\n\r\n")
        assert first.startswith(b"HTTP/1.1 100"), first
        exchange.writer.write(b"hello")
        answer = await exchange.head()
        assert await answer.body.read() == b"hello"
    async with asyncio.timeout(DEADLINE), rig.exchange() as exchange:
        exchange.send("POST", "/late", {"expect": "100-continue", "content-length": "5"}, None)
        first = await exchange.reader.readuntil(b"\r\n\r\n")
        if first.startswith(b"HTTP/1.1 100"):
            exchange.writer.write(b"hello")
            first = await exchange.reader.readuntil(b"\r\n\r\n")
        assert first.startswith(b"HTTP/1.1 417"), first


async def disconnects(rig):
    """clients that leave end the requests at the origin, and the next ones are answered"""
    for _ in range(10):
        async with asyncio.timeout(DEADLINE), rig.exchange() as exchange:
            exchange.send("GET", "/endless")
            answer = await exchange.head()
            await anext(aiter(answer.body))
    await soon(lambda: rig.origin.left == 10, "the origin still sends")
    async with rig.exchange() as exchange:
        exchange.send("POST", "/echo", {"content-length": "1000000"}, None)
        exchange.writer.write(b"the beginning")
    assert (await rig.get("/text")).text == "GET /text"


async def memory(rig):
    """the memory of the plugin and of the proxy stays bounded while 48 MiB pass"""
    await stream(rig, 48 << 20)
    for name, pid in (("proxy", rig.proxy.pid), ("plugin", rig.plugin_pid())):
        assert peak(pid) < MEMORY, f"{name}: {peak(pid):.0f} MiB"


CHECKS = (counts, mebibyte, concurrent, web_socket, events, trailers, early_hints, expect, disconnects)


# ---- Checks with a rig of their own


async def killed(byway, language, command, policy):
    """a plugin that is killed under load"""
    async with CounterRig(byway, language, command, f"on-failure={policy}&timeout=5") as rig:
        await rig.get("/text")
        answers, broken, running = [], [], True

        async def load():
            while running:
                try:
                    answers.append(await rig.get("/text"))
                except asyncio.IncompleteReadError:
                    # The head had passed already.
                    broken.append(1)

        clients = [asyncio.ensure_future(load()) for _ in range(8)]
        for _ in range(2):
            count = len(answers)
            await soon(lambda: len(answers) > count + 20, "no load")
            end(rig.plugin_pid())
            await rig.restart_plugin()
            restarted = len(answers)
            await soon(lambda: len(answers) > restarted + 20, "no load after the restart")
        running = False
        await asyncio.gather(*clients)
        assert len(broken) <= 16, len(broken)
        statuses = {answer.status for answer in answers}
        allowed = {200, 502} if policy == "refuse" else {200}
        assert statuses <= allowed, statuses
        assert all(answer.text == "GET /text" for answer in answers if answer.status == 200)

        async def recovered():
            return (await rig.get("/page")).text.startswith("<p>Hello</p><p>Page")

        await soon(recovered, "the plugin does not see pages again")


async def long_body(byway, language, command, size=1 << 30):
    """a long body passes unmodified, and the memory stays bounded"""
    async with CounterRig(byway, language, command) as rig, asyncio.timeout(150):
        await stream(rig, size - (48 << 20))
        await memory(rig)


async def grpc_calls(byway, language, command):
    """calls of gRPC pass, with their status"""
    import grpc

    def fail(_, context):
        context.abort(grpc.StatusCode.NOT_FOUND, "no such thing")

    def stream(messages, _):
        for message in messages:
            yield message + b"!"

    class Service(grpc.GenericRpcHandler):
        def service(self, details):
            return {"/test/Fail": grpc.unary_unary_rpc_method_handler(fail),
                    "/test/Stream": grpc.stream_stream_rpc_method_handler(stream)}[details.method]

    def call(address):
        with grpc.insecure_channel(address) as channel:
            for message in (b"short", b"x" * 300_000):
                try:
                    channel.unary_unary("/test/Fail")(message, timeout=DEADLINE)
                except grpc.RpcError as error:
                    assert (error.code(), error.details()) == (grpc.StatusCode.NOT_FOUND, "no such thing"), error
            return list(channel.stream_stream("/test/Stream")(iter([b"1", b"2"]), timeout=DEADLINE))

    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=(Service(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        async with CounterRig(byway, language, command) as rig:
            arguments = ["--interceptor", rig.plugins[0].replace("{}", str(rig.folder))]
            link = f"unix:{rig.folder}/gateway"
            async with Program(byway, "gateway", "--link", link, "--origin", f"h2c://127.0.0.1:{port}", *arguments,
                               env={"PYTHONPATH": str(ROOT / "plugins/python")}, log=rig.folder / "gateway-log") as gateway:
                await soon(lambda: "gateway ready" in gateway.output, "no gateway")
                assert await asyncio.to_thread(call, link) == [b"1!", b"2!"]
    finally:
        server.stop(None)


async def reload(byway):
    """an addon whose file changes gets its new hooks, without losing a request"""
    async with contextlib.AsyncExitStack() as stack:
        rig = Rig(byway, "exec:python3 {}/addon.py")
        rig = await stack.enter_async_context(rig)
        addon = rig.folder / "addon.py"
        text = ("import byway_addon\nasync def response(flow):\n    flow.response.headers['x-version'] = 'VERSION'\n"
                "print('loaded')\nbyway_addon.run(response=response)\n")
        addon.write_text(text.replace("VERSION", "1"))
        assert (await rig.get("/text"))["x-version"] == "1"
        pid = children(rig.proxy.pid)
        async with rig.exchange() as running:
            running.send("GET", "/events")
            rig.origin.events.put_nowait(b"one")
            answer = await running.head()
            addon.write_text(text.replace("VERSION", "2"))

            async def is_new():
                return (await rig.get("/text"))["x-version"] == "2"

            await soon(is_new, "the new version does not serve")
            rig.origin.events.put_nowait(b"two")
            rig.origin.events.put_nowait(None)
            assert await answer.body.read() == b"onetwo" and answer["x-version"] == "1"
        addon.write_text("this is no Python")
        await soon(lambda: "SyntaxError" in rig.log, "a mistake is not in the log")
        assert (await rig.get("/text"))["x-version"] == "2"
        assert children(rig.proxy.pid) == pid, "the addon has ended"
