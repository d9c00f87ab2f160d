"""The recipes of docs/plugins-recipes.md do what the page states."""
import asyncio
import base64
import gzip
import hmac
import json
import time

from peers import DEADLINE, ROOT, Origin, Rig, soon

FOLDER = ROOT / "plugins/recipes"
CHECKS = []


def recipe(check):
    """Gives a check the rig of the recipe with its name, and a title."""
    name = check.__name__.replace("_", "-")

    async def run(byway):
        def rig(*arguments):
            return Rig(byway, " ".join([f"exec:{FOLDER}/{name}.py", *(str(argument) for argument in arguments)]))
        await check(rig)

    run.__doc__, run.name = name, name
    CHECKS.append(run)
    return check


@recipe
async def replace_text(make):
    async with make("Hello", "Good") as rig, asyncio.timeout(DEADLINE), rig.exchange() as exchange:
        exchange.send("GET", "/events")
        for part in (b"say Hel", b"lo, HelHello", None):
            rig.origin.events.put_nowait(part)
        answer = await exchange.head()
        assert await answer.body.read() == b"say Good, HelGood"
        assert (await rig.get("/bytes/5")).content == b"\0\1\2\3\4"
        assert (await rig.get("/page")).text == "<p>Good</p>"


@recipe
async def only_hosts(make):
    async with make("a.example", "b.example") as rig:
        assert (await rig.get("/text", host="a.example:8080")).status == 200
        answer = await rig.get("/text", host="c.example")
        assert answer.status == 403 and "c.example" in answer.text
        assert len(rig.origin.seen) == 1


@recipe
async def retry_503(make):
    async with make() as rig:
        rig.origin.answers = {"/busy": lambda *_: ("busy", "text/plain", 503 if len(rig.origin.seen) < 3 else 200)}
        assert (await rig.get("/busy", {"x-own": "1"})).status == 200
        assert len(rig.origin.seen) == 3 and all(dict(fields)["x-own"] == "1" for _, _, fields in rig.origin.seen)
        rig.origin.seen.clear()
        assert (await rig.post("/busy")).status == 503 and len(rig.origin.seen) == 1


@recipe
async def slow_network(make):
    async with make(20_000, 100) as rig:
        start = time.monotonic()
        assert (await rig.get("/bytes/10000")).status == 200
        assert 0.55 < time.monotonic() - start < DEADLINE
        assert (await rig.get("/text")).text == "GET /text"


@recipe
async def local_files(make):
    async with make("/static/", "{}/files") as rig:
        (rig.folder / "files").mkdir()
        (rig.folder / "files/a.css").write_text("mine")
        (rig.folder / "secret").write_text("secret")
        answer = await rig.get("/static/a.css?x")
        assert answer.text == "mine" and answer["content-type"] == "text/css"
        assert (await rig.get("/static/b.css")).text == "GET /static/b.css"
        for path in ("/static/../secret", "/static/%2e%2e/secret", "/static//../secret"):
            assert "secret" not in (await rig.get(path)).text.replace(path, ""), path
        assert (await rig.get("/other")).text == "GET /other"


@recipe
async def cors(make):
    async with make("https://app.example") as rig:
        ask = {"origin": "https://app.example", "access-control-request-method": "PUT", "access-control-request-headers": "x-a"}
        answer = await rig.send("OPTIONS", "/seen", ask)
        assert (answer.status, answer["access-control-allow-methods"], answer["access-control-allow-headers"]) == (204, "PUT", "x-a")
        assert answer["access-control-allow-origin"] == "https://app.example" and rig.origin.seen == []
        assert (await rig.get("/text", {"origin": "https://app.example"}))["access-control-allow-origin"] == "https://app.example"
        assert (await rig.get("/text", {"origin": "https://evil.example"}))["access-control-allow-origin"] is None


class Another:
    """A server on a port of this machine, with the answers of an origin."""

    async def __aenter__(self):
        self.origin = Origin(None)
        self.server = await asyncio.start_server(self.origin.accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_):
        self.server.close()
        for task in list(self.origin.tasks):
            task.cancel()
        await asyncio.gather(*self.origin.tasks, return_exceptions=True)


@recipe
async def ask_another(make):
    async with Another() as another, make(f"{another.url}/where") as rig:
        another.origin.answers = {"/where": ('{"answer": "rack 7"}', "application/json")}
        seen = json.loads((await rig.get("/seen")).text)
        assert seen["fields"]["x-answer"] == "rack 7"
        assert [(method, target) for method, target, _ in another.origin.seen] == [("POST", "/where")]
        another.origin.answers = {"/where": ("no JSON", "text/plain")}
        assert (await rig.get("/seen")).status == 503


@recipe
async def save_json(make):
    async with make("{}/saved", "device.example") as rig:
        rig.origin.answers = {"/a": ('{"b": [1, "ü"]}', "application/json; charset=utf-8"), "/bad": ("{", "application/json")}
        assert (await rig.get("/a")).text == '{"b": [1, "ü"]}'
        assert (await rig.get("/bad")).text == "{"
        await rig.get("/page")
        await rig.get("/a", host="other.example")
        lines = (rig.folder / "saved").read_text().splitlines()
        assert [json.loads(line) for line in lines] == [{"path": "/a", "status": 200, "json": {"b": [1, "ü"]}}], lines


@recipe
async def filter_events(make):
    async with make("ping") as rig, asyncio.timeout(DEADLINE), rig.exchange() as exchange:
        exchange.send("GET", "/events")
        rig.origin.events.put_nowait(b"event: ping\ndata: 1\n\ndata: 2\n")
        rig.origin.events.put_nowait(b"\n")
        answer = await exchange.head()
        parts = aiter(answer.body)
        assert await anext(parts) == b"data: 2\n\n"
        rig.origin.events.put_nowait(b"event: ping\ndata: 3\n\nevent: pings\ndata: 4\n\n")
        assert await anext(parts) == b"event: pings\ndata: 4\n\n"


@recipe
async def websocket_text(make):
    async with make("Hello", "Goodday") as rig, asyncio.timeout(DEADLINE), rig.exchange() as exchange:
        exchange.send("GET", "/socket", {
            "connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="})
        assert (await exchange.head()).status == 101
        # The origin sends the bytes back, so these are the frames of a server.
        for sent, expected in (
                (b"\x81\x05Hello", b"\x81\x07Goodday"), (b"\x82\x05Hello", b"\x82\x05Hello"), (b"\x89\x00", b"\x89\x00"),
                (b"\x81\x7e\x00\xc8" + b"x" * 195 + b"Hello", b"\x81\x7f" + (202).to_bytes(8, "big") + b"x" * 195 + b"Goodday")):
            exchange.writer.write(sent[:1])
            await exchange.writer.drain()
            # Real time: the plugin is to read the first byte alone, and nothing tells when it has.
            await asyncio.sleep(0.01)
            exchange.writer.write(sent[1:])
            assert await exchange.reader.readexactly(len(expected)) == expected


@recipe
async def unzip_requests(make):
    async with make() as rig:
        seen = json.loads((await rig.post("/seen", gzip.compress(b"hello " * 1000), {"content-encoding": "gzip"})).text)
        assert seen["body"] == "hello " * 1000 and "content-encoding" not in seen["fields"]
        assert json.loads((await rig.post("/seen", b"plain")).text)["body"] == "plain"


@recipe
async def json_field(make):
    async with make("enabled", "true") as rig:
        rig.origin.answers = {"/a": ('{"enabled": false, "b": 1}', "application/json"), "/list": ("[1]", "application/json")}
        answer = await rig.get("/a")
        assert json.loads(answer.text) == {"enabled": True, "b": 1} and int(answer["content-length"]) == len(answer.content)
        assert (await rig.get("/list")).text == "[1]"
        assert (await rig.get("/page")).text == "<p>Hello</p>"


@recipe
async def rate_per_token(make):
    async with make(2, 60) as rig, asyncio.timeout(DEADLINE):
        async with rig.exchange() as exchange:
            statuses = []
            for token in ("a", "a", "a", "b"):
                exchange.send("GET", "/text", {"authorization": f"Bearer {token}"})
                answer = await exchange.head()
                await answer.body.read()
                statuses.append(answer.status)
                assert answer.status == 200 or 0 < int(answer["retry-after"]) <= 60
        assert statuses == [200, 200, 429, 200], statuses


@recipe
async def mirror(make):
    async with Another() as another, make(another.url) as rig:
        answer = await rig.post("/seen?a=1", b"hello", {"authorization": "secret", "x-own": "1"})
        assert json.loads(answer.text)["body"] == "hello"
        await soon(lambda: another.origin.seen, "no copy")
        method, target, fields = another.origin.seen[0]
        assert (method, target, dict(fields)["x-own"], dict(fields)["content-length"]) == ("POST", "/seen?a=1", "1", "5")
        assert "authorization" not in dict(fields) and "byway-exchange" not in dict(fields)
        another.server.close()
        assert (await rig.get("/text")).text == "GET /text"


@recipe
async def log_bodies(make):
    async with make(10) as rig:
        assert (await rig.post("/return", b"0123456789abcdef")).content == b"0123456789abcdef"
        await soon(lambda: "POST /return: 16 bytes: 0123456789" in rig.log, rig.log)
        assert "abcdef" not in rig.log


@recipe
async def same_site(make):
    async with make("Strict") as rig:
        rig.origin.answers = {"/": ("", "text/plain", 200, [("set-cookie", "a=secure; Path=/"), ("set-cookie", "b=2; samesite=None; Secure")])}
        cookies = [value for name, value in (await rig.get("/")).fields if name == "set-cookie"]
        assert cookies == ["a=secure; Path=/; SameSite=Strict; Secure", "b=2; samesite=None; Secure"], cookies
        assert (await rig.get("/text"))["set-cookie"] is None


@recipe
async def jwt(make):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    def token(head, payload, key=b"key"):
        signed = f"{part(head)}.{part(payload)}"
        return f"{signed}.{base64.urlsafe_b64encode(hmac.digest(key, signed.encode(), 'sha256')).rstrip(b'=').decode()}"

    async with make("{}/key") as rig:
        (rig.folder / "key").write_text("key\n")
        good, later = {"alg": "HS256"}, {"sub": "anna", "exp": time.time() + 60}
        seen = json.loads((await rig.get("/seen", {"authorization": f"Bearer {token(good, later)}", "x-user": "root"})).text)
        assert seen["fields"]["x-user"] == "anna"
        for bad in (token(good, {**later, "exp": 1}), token(good, later, b"other"), token({"alg": "none"}, later), "a.b.c", "", "...",
                    token(good, {"sub": "anna"}), token([], later)):
            assert (await rig.get("/seen", {"authorization": f"Bearer {bad}"})).status == 401, bad
        assert len(rig.origin.seen) == 1


@recipe
async def login_on_401(make):
    async with make("/login", "{}/password") as rig:
        (rig.folder / "password").write_text("secret\n")
        valid = {"token": "one"}

        def answer(method, query, fields):
            is_valid = dict(fields).get("authorization") == f"Bearer {valid['token']}"
            return ("data", "text/plain") if is_valid else ("no", "text/plain", 401)

        rig.origin.answers = {"/data": answer, "/login": lambda *_: (json.dumps(valid), "application/json")}
        assert (await rig.get("/data")).text == "data"
        valid["token"] = "two"
        assert (await rig.get("/data")).text == "data"
        assert (await rig.get("/data")).text == "data"
        assert [target for _, target, _ in rig.origin.seen] == ["/data", "/login", "/data", "/data", "/login", "/data", "/data"]


@recipe
async def error_pages(make):
    async with make("{}") as rig:
        (rig.folder / "500.html").write_text("<h1>Sorry</h1>")
        rig.origin.answers = {"/bad": ("Traceback", "text/plain", 500, [("etag", '"1"')]), "/gone": ("gone", "text/plain", 410)}
        answer = await rig.get("/bad", {"accept": "text/html,*/*"})
        assert (answer.status, answer.text, answer["etag"]) == (500, "<h1>Sorry</h1>", None)
        assert (await rig.get("/bad", {"accept": "application/json"})).text == "Traceback"
        assert (await rig.get("/gone", {"accept": "text/html"})).text == "gone"


@recipe
async def at_most(make):
    async with make(2, 2) as rig:
        answers = [asyncio.ensure_future(rig.get("/events")) for _ in range(5)]
        refused, _ = await asyncio.wait(answers, timeout=DEADLINE, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result().status for task in refused] == [503]
        await soon(lambda: len(rig.origin.seen) == 2, "two requests have not arrived")
        for _ in range(4):
            rig.origin.events.put_nowait(None)
        assert sorted(answer.status for answer in await asyncio.gather(*answers)) == [200, 200, 200, 200, 503]
        assert len(rig.origin.seen) == 5 - 1
        assert json.loads((await rig.post("/seen", b"body")).text)["body"] == "body"


async def every_recipe(byway):
    """each file has a check and is on the page, as it is, with at most 30 lines"""
    page = (ROOT / "docs/plugins-recipes.md").read_text()
    names = {file.stem for file in FOLDER.glob("*.py")}
    assert names == {check.name for check in CHECKS if hasattr(check, "name")}, names
    for file in FOLDER.glob("*.py"):
        text = file.read_text()
        assert text.count("\n") <= 30, f"{file.name} has {text.count(chr(10))} lines"
        assert f"```python\n{text}```\n" in page, f"{file.name} is not on the page as it is"
    assert page.count("```python\n") == len(names)


CHECKS.append(every_recipe)
