"""The examples of plugins/examples do what their first lines state."""
import asyncio
import base64
import contextlib
import hmac
import io
import os
import pty
import sys
import time
import tty

from peers import ROOT, Rig, soon

FOLDER = ROOT / "plugins/examples"


def example(byway, name, *arguments, **more):
    # Pillow may be in this interpreter only.
    return Rig(byway, " ".join([f"exec:{sys.executable} {FOLDER}/{name}.py", *(str(argument) for argument in arguments)]), **more)


async def one_time_code(byway):
    """a one-time code opens a device, once, and wrong codes are limited"""
    rig = example(byway, "one-time-code", "{}/secret")
    async with rig:
        (rig.folder / "secret").write_text("JBSWY3DPEHPK3PXP\n")
        key = base64.b32decode("JBSWY3DPEHPK3PXP")

        def code():
            digest = hmac.digest(key, (int(time.time()) // 30).to_bytes(8, "big"), "sha1")
            start = digest[-1] & 15
            return f"{(int.from_bytes(digest[start:start + 4], 'big') & 0x7FFFFFFF) % 1_000_000:06}"

        def login(text):
            return rig.post("/byway-login", f"code={text}".encode())

        first = await rig.get("/page")
        assert first.status == 401 and "One-time code" in first.text and "Hello" not in first.text
        assert (await rig.get("/page", {"cookie": "byway-login=guessed"})).status == 401
        assert (await login("000000")).status == 401
        right = code()
        answer = await login(right)
        assert answer.status == 303 and "HttpOnly" in answer["set-cookie"], answer.status
        cookie = {"cookie": f"other=1; {answer['set-cookie'].split(';')[0]}"}
        assert (await rig.get("/page", cookie)).text == "<p>Hello</p>"
        assert (await login(right)).status == 401, "a code counts twice"
        for _ in range(3):
            await login("000000")
        assert (await login("000000")).status == 429
        assert all(target == "/page" for _, target, _ in rig.origin.seen) and len(rig.origin.seen) == 1


async def below_a_path(byway):
    """absolute links, redirects and cookies get the path of the device"""
    async with example(byway, "below-a-path", "/printer") as rig:
        page = ('<a href="/status">s</a><img src=/logo.png><a href="//other.example/x"></a><a href="rel"></a><form ACTION=\'/set\'>'
                '<meta http-equiv="refresh" content="5; url=/next"><p style="background:url(/b.png)">')
        rig.origin.answers = {
            "/": (page, "text/html"), "/a.css": ("body{background:url('/x.png')}", "text/css"), "/data": ('{"a": "/x"}', "application/json"),
            "/go": ("", "text/plain", 302, [("location", "http://device.example/there"), ("set-cookie", "a=1; Path=/"), ("set-cookie", "b=2")])}
        shown = (await rig.get("/printer/")).text
        for part in ('href="/printer/status"', "src=/printer/logo.png", 'href="//other.example/x"', 'href="rel"', "ACTION='/printer/set'",
                     "url=/printer/next", "url(/printer/b.png)"):
            assert part in shown, f"{part} in {shown}"
        assert "url('/printer/x.png')" in (await rig.get("/printer/a.css")).text
        assert (await rig.get("/printer/data")).text == '{"a": "/x"}'
        moved = await rig.get("/printer/go?x=/y")
        assert moved["location"] == "/printer/there", moved["location"]
        assert [value for name, value in moved.fields if name == "set-cookie"] == ["a=1; Path=/printer/", "b=2"]
        assert (await rig.get("/printer?a=1"))["location"] == "/printer/?a=1"
        assert (await rig.get("/printers")).status == 404 and (await rig.get("/")).status == 404
        assert [target for _, target, _ in rig.origin.seen] == ["/", "/a.css", "/data", "/go?x=/y"]


async def small_images(byway):
    """images get smaller, and what is no image stays as it is"""
    from PIL import Image
    noise = Image.frombytes("RGB", (1200, 900), os.urandom(1200 * 900 * 3))
    photo = io.BytesIO()
    noise.save(photo, "JPEG", quality=90)
    async with example(byway, "small-images", 400, 50, env={"PYTHONPATH": f"{ROOT}/plugins/python:{':'.join(sys.path)}"}) as rig:
        rig.origin.answers = {
            "/photo": (photo.getvalue(), "image/jpeg"), "/small": (photo.getvalue()[:10_000], "image/jpeg"),
            "/broken": (b"\xff\xd8" + os.urandom(100_000), "image/jpeg")}
        answer = await rig.get("/photo", {"range": "bytes=0-9"})
        with Image.open(io.BytesIO(answer.content)) as image:
            assert image.size == (400, 300), image.size
        assert int(answer["content-length"]) == len(answer.content) < len(photo.getvalue()) / 4
        for path in ("/small", "/broken"):
            assert (await rig.get(path)).content == rig.origin.answers[path][0], path
        assert (await rig.get("/text")).text == "GET /text"


async def exporter(byway):
    """numbers of a device's JSON are metrics"""
    async with example(byway, "exporter", "/status.json", "printer") as rig:
        rig.origin.answers = {"/status.json": ('{"temp": {"cpu-1": 41.5}, "ports": [{"up": true}, {"up": false}], "name": "x"}', "application/json")}
        text = (await rig.get("/metrics")).text
        for line in ("printer_temp_cpu_1 41.5", 'printer_ports_up{index="0"} 1', 'printer_ports_up{index="1"} 0', "printer_up 1",
                     "# TYPE printer_ports_up gauge"):
            assert line in text.split("\n"), text
        assert text.count("# TYPE printer_ports_up ") == 1 and "name" not in text
        rig.origin.answers = {"/status.json": ("<html>", "text/html")}
        assert "printer_up 0" in (await rig.get("/metrics")).text
        assert (await rig.get("/text")).text == "GET /text"


async def faults(byway):
    """the same seed gives the same faults"""
    results = []
    for seed in (1, 1, 2):
        async with example(byway, "faults", seed, "error=0.3", "cut=0.3") as rig:
            rig.origin.answers = {"/long": (b"x" * 1000, "text/plain")}
            result = []
            for _ in range(20):
                try:
                    result.append((await rig.get("/long")).status)
                except (asyncio.IncompleteReadError, ConnectionError):
                    result.append("cut")
            results.append(result)
    assert results[0] == results[1] != results[2], results
    assert {200, "cut"} < set(results[0]) and any(isinstance(status, int) and status >= 500 for status in results[0]), results


async def rate_limits(byway):
    """each user has limits of their own, and a changed file counts"""
    async with example(byway, "rate-limits", "{}/limits") as rig:
        limits = rig.folder / "limits"
        limits.write_text("# user per-minute burst\nanna 60 5\n* 1 2\n")

        async def statuses(user, count):
            fields = {"authorization": "Basic " + base64.b64encode(f"{user}:x".encode()).decode()} if user else {}
            return [(await rig.get("/text", fields)).status for _ in range(count)]

        assert (await statuses("anna", 4)) == [200] * 4
        assert (await statuses("bert", 3)) == [200, 200, 429]
        assert (await statuses(None, 3)) == [200, 200, 429]
        answer = await rig.get("/text", {"authorization": "Basic " + base64.b64encode(b"bert:y").decode()})
        assert answer.status == 429 and 0 < int(answer["retry-after"]) <= 61, answer.fields
        before = limits.stat().st_mtime_ns
        limits.write_text("bert 6000 100\n")
        # The clock of files has steps, so this write may have the time of the first.
        os.utime(limits, ns=(before, before + 1_000_000_000))

        async def is_free():
            return await statuses("bert", 2) == [200] * 2

        # His rate was one in a minute.
        await soon(is_free, "the new limit does not count")
        assert (await statuses("carl", 9)) == [200] * 9


async def serial_console(byway):
    """text commands of a serial console are HTTP"""
    master, slave = pty.openpty()
    tty.setraw(slave)
    loop, line = asyncio.get_running_loop(), bytearray()

    def console():
        with contextlib.suppress(BlockingIOError):
            line.extend(os.read(master, 1000))
        while b"\r" in line:
            text, _, rest = bytes(line).partition(b"\r")
            line[:] = rest
            if text != b"show nothing":
                os.write(master, text + b"\r\nanswer to " + text + b"\r\n>")

    os.set_blocking(master, False)
    loop.add_reader(master, console)
    try:
        async with example(byway, "serial-console", os.ttyname(slave), "9600", ">", "show,get") as rig:
            assert (await rig.get("/console/show%20version")).text == "answer to show version\n"
            assert (await rig.post("/console", b"get clock\n")).text == "answer to get clock\n"
            answers = await asyncio.gather(*(rig.post("/console", b"get %d" % number) for number in range(5)))
            assert [answer.text for answer in answers] == [f"answer to get {number}\n" for number in range(5)]
            assert (await rig.post("/console", b"reboot")).status == 403
            assert (await rig.post("/console", b"show a\rreboot")).status == 403
            assert (await rig.get("/text")).text == "GET /text"
    finally:
        loop.remove_reader(master)
        os.close(master)
        os.close(slave)


CHECKS = (one_time_code, below_a_path, small_images, exporter, faults, rate_limits, serial_console)
