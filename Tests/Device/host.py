"""This machine's end of a line: a byway proxy, and curl as its client."""
import re
import subprocess

from waiting import until

READY = re.compile(r"proxy ready on (http://\S+)")


def ping(byway, link):
    command = [byway, "ping", "--link", link, "-c", "3"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        raise OSError(f"byway ping ends with status {done.returncode}: {done.stderr}")


class Proxy:
    def __init__(self, byway, link, log):
        self.path = log
        with open(log, "w") as file:
            self.process = subprocess.Popen(
                [byway, "proxy", "--link", link, "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=file,
                stderr=file)
        try:
            self.address = self.wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def wait_until_ready(self):
        def ready():
            if self.process.poll() is not None:
                raise OSError(f"the proxy has ended: {self.text()}")
            return READY.search(self.text())

        return until(ready, 10, lambda: f"the proxy does not start: {self.text()}")[1].rstrip("/")

    def text(self):
        return self.path.read_text(errors="replace")

    def get(self, path, seconds):
        """Returns a body."""
        with self.start(path) as transfer:
            return transfer.finish(seconds)

    def start(self, path, *options, output="-"):
        return Transfer([*options, "--output", output, self.address + path])

    def stop(self):
        stop(self.process)


def stop(process):
    """Ends a process."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Transfer:
    """A request by curl, as a context manager that ends it."""

    def __init__(self, arguments):
        self.process = subprocess.Popen(
            ["curl", "-q", "--noproxy", "*", "-sS", "--fail-with-body", *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, seconds):
        """Returns the body, unless it was written to a file."""
        try:
            body, errors = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"no complete answer within {seconds} s") from None
        if self.process.returncode != 0:
            raise OSError(f"{errors.decode(errors='replace').strip()} {body[:500].decode(errors='replace')}")
        return body

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
