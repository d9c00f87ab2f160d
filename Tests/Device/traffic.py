"""Data over a line arrives once and unchanged."""
import contextlib
import hashlib

from report import expect

AT_ONCE = 20
# Several times the line's own time: a busy machine emulates slowly.
SECONDS = 60


def answers(proxy, page):
    expect(proxy.get("/", 15) == page, "it is another page")


def answers_many(proxy, shell, series):
    with contextlib.ExitStack() as running:
        finish_counted(shell, start_counted(proxy, running, series))


def start_counted(proxy, running, series):
    """Sends non-repeatable requests, which the device counts by name."""
    return {
        name: running.enter_context(proxy.start(f"/cgi-bin/count?{name}", "--data", ""))
        for name in (f"{series}-{number}" for number in range(AT_ONCE))
    }


def finish_counted(shell, transfers):
    for name, transfer in transfers.items():
        body = transfer.finish(SECONDS).decode().strip()
        expect(body == name, f"{name} was answered with {body}")
    counted = shell.run("cat /tmp/counted").split()
    for name in transfers:
        expect(counted.count(name) == 1, f"{name} was executed {counted.count(name)} times")


def downloads(proxy, random):
    expect_same(proxy.get("/random", SECONDS), random)


def uploads(proxy, file, random):
    with upload(proxy, file) as transfer:
        expect_digest(transfer.finish(SECONDS), random)


def upload(proxy, file):
    return proxy.start("/cgi-bin/sha256", "--data-binary", f"@{file}")


def expect_same(body, random):
    expect(len(body) == len(random), f"{len(body)} bytes arrived, not {len(random)}")
    expect(hashlib.sha256(body).digest() == hashlib.sha256(random).digest(), "other bytes arrived")


def expect_digest(answer, random):
    digest = hashlib.sha256(random).hexdigest()
    expect(answer.decode().startswith(digest), f"the device has received something else: {answer.decode()}")
