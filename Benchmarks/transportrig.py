"""The origin and the measurements of transports.py."""
import contextlib
import hashlib
import http.client
import os
import pathlib
import shutil
import statistics
import subprocess
import threading
import time

from processes import MEBIBYTE, free_port, stop, temporary_paths, wait_for

SMALL = 1024
AT_ONCE = 200
TICKS = os.sysconf("SC_CLK_TCK")
# How often the memory is read, in seconds.
INTERVAL = 0.05


class Path:
    """A way to the origin: a port of loopback, and the processes that carry the bytes."""

    def __init__(self, port, processes, *, rate=None, limit=None, is_single=False):
        """
        - `rate`: of a slow medium, in MiB/s; bodies are then so small that each takes a few seconds.
        - `limit`: of a body, in MiB.
        - `is_single`: whether the path carries one connection at a time, each with a process of the first program.
        """
        self.port, self.processes, self.rate, self.limit, self.is_single = port, processes, rate, limit, is_single
        self.url = f"http://127.0.0.1:{port}"


class Rig:
    """nginx as the origin, with files of several sizes, and the programs of the path that is measured."""

    def __init__(self, options, folder, running):
        self.options, self.folder, self.running = options, folder, running
        self.files = folder / "files"
        self.files.mkdir()
        (self.files / "put").mkdir()
        (self.files / "small").write_bytes(os.urandom(SMALL))
        self.digests = {"small": digest(self.files / "small")}
        self.origin = free_port()
        self.nginx("origin", f"""http {{
            access_log off;
            sendfile on;
            client_max_body_size 0;
            keepalive_requests 100000;
            {temporary_paths(folder)}
            server {{
              listen 127.0.0.1:{self.origin} backlog=1024;
              root {self.files};
              location /put {{ dav_methods PUT; }}
            }}
          }}""", self.origin)

    def nginx(self, name, configuration, port, modules=()):
        load = "".join(f"load_module {module};\n" for module in modules)
        (self.folder / f"{name}.conf").write_text(f"""
          {load}
          user root;
          pid {self.folder}/{name}.pid;
          error_log stderr crit;
          events {{ worker_connections 1024; }}
          {configuration}""")
        nginx = program("nginx", "nginx-light")
        return self.start([nginx, "-c", self.folder / f"{name}.conf", "-p", self.folder, "-e", "stderr", "-g", "daemon off; master_process off;"], port)

    def start(self, command, port=None, **streams):
        """Starts a program, and waits until it listens on the port of loopback."""
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen(
                list(map(str, command)), **{"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, **streams})
        self.running.callback(stop, process)
        if port:
            wait_for(port, process)
        return process

    def await_file(self, path, process):
        deadline = time.monotonic() + 10
        while not pathlib.Path(path).exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{process.args} does not create {path}: {self.log()}")
            time.sleep(0.02)

    def log(self):
        return (self.folder / "log").read_text(errors="replace")[-2000:]

    def file(self, size):
        """Returns the name of a file of that many bytes, which differ everywhere."""
        name = f"file-{size}"
        if name not in self.digests:
            with open(self.files / name, "wb") as file:
                for start in range(0, size, MEBIBYTE):
                    file.write(os.urandom(min(MEBIBYTE, size - start)))
            self.digests[name] = digest(self.files / name)
        return name

    # Measurements

    def measure(self, path):
        """Returns the values of a row."""
        self.await_answer(path)
        idle = memory(path.processes)
        size = self.size(path)
        name, rounds = self.file(size), self.options.rounds if path.rate is None else 1
        mebibytes = size / MEBIBYTE
        with Peak(path.processes) as peak:
            before = sum(processor_seconds(process.pid) for process in path.processes)
            down = statistics.median(mebibytes / self.download(path, name) for _ in range(rounds))
            up = statistics.median(mebibytes / self.upload(path, name) for _ in range(rounds))
            spent = sum(processor_seconds(process.pid) for process in path.processes) - before
            small = self.small_request(path)
            at_once = None if path.is_single else self.at_once(path)
        for process in path.processes:
            if process.poll() is not None:
                raise SystemExit(f"{process.args[0]} ended with status {process.returncode}: {self.log()}")
        return [down, up, small, at_once, spent * 1000 / mebibytes / rounds / 2, idle / MEBIBYTE, peak.bytes / MEBIBYTE]

    def size(self, path):
        size = min(self.options.size, path.limit or self.options.size)
        if path.rate:
            size = min(size, path.rate * self.options.seconds)
        return int(size * MEBIBYTE)

    def await_answer(self, path):
        deadline = time.monotonic() + 20
        while True:
            settle(path)
            try:
                small_requests(path.port, 1, self.digests["small"], 5)
                return
            except (OSError, http.client.HTTPException, ValueError) as error:
                if time.monotonic() > deadline:
                    raise SystemExit(f"no answer on port {path.port}: {error}\n{self.log()}") from None
                time.sleep(0.1)

    def download(self, path, name):
        settle(path)
        file = self.folder / "down"
        seconds = curl("-o", file, f"{path.url}/{name}")
        self.expect_same(file, name)
        return seconds

    def upload(self, path, name):
        settle(path)
        seconds = curl("-o", self.folder / "answer", "-H", "Expect:", "-T", self.files / name, f"{path.url}/put/{name}")
        self.expect_same(self.files / "put" / name, name)
        return seconds

    def expect_same(self, file, name):
        if digest(file) != self.digests[name]:
            raise SystemExit(f"{file} has {file.stat().st_size} bytes, and another SHA-256 than {name}")
        file.unlink()

    def small_request(self, path):
        """Returns the median time of a small request over one connection, in milliseconds."""
        settle(path)
        count = self.options.requests if path.rate is None else self.options.requests // 10
        return statistics.median(small_requests(path.port, count, self.digests["small"], 30)) * 1000

    def at_once(self, path):
        """Returns the seconds until all of the concurrent requests are answered."""
        place = self.folder / "at-once"
        place.mkdir()
        start = time.monotonic()
        curl("-Z", "--parallel-immediate", "--parallel-max", AT_ONCE, "-o", place / "#1", f"{path.url}/small?[1-{AT_ONCE}]")
        seconds = time.monotonic() - start
        complete = sum(digest(file) == self.digests["small"] for file in place.iterdir())
        shutil.rmtree(place)
        if complete != AT_ONCE:
            raise SystemExit(f"{complete} of {AT_ONCE} concurrent requests were answered")
        return seconds


class Peak:
    """The largest amount of resident memory of processes and their descendants in a block of code."""

    def __init__(self, processes):
        self.processes, self.bytes = processes, 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def __enter__(self):
        self.thread.start()
        return self

    def watch(self):
        while not self.is_over.wait(INTERVAL):
            self.bytes = max(self.bytes, memory(self.processes))

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()
        self.bytes = max(self.bytes, sum(status(process.pid, "VmHWM") for process in self.processes))


def settle(path):
    """Waits until the process of the last connection has ended, if the next one would share its stream."""
    deadline = time.monotonic() + 10
    while path.is_single and any(descendants(path.processes[0].pid)):
        if time.monotonic() > deadline:
            raise SystemExit("a connection does not end")
        time.sleep(0.01)


def memory(processes):
    """Returns the resident memory of processes and their descendants. Of those with the same command, one counts with its program's pages."""
    total, seen = 0, set()
    for process in processes:
        for process_id in [process.pid, *descendants(process.pid)]:
            command = arguments_of(process_id)
            total += status(process_id, "RssAnon" if command in seen else "VmRSS")
            seen.add(command)
    return total


def processor_seconds(process_id):
    """Returns the processor time of a process, its descendants, and those that have ended."""
    total = 0
    for process in [process_id, *descendants(process_id)]:
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) / TICKS
    return total


def descendants(process_id):
    with contextlib.suppress(OSError):
        for thread in pathlib.Path(f"/proc/{process_id}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield int(child)
                yield from descendants(int(child))


def status(process_id, field):
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{process_id}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
    return 0


def arguments_of(process_id):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{process_id}/cmdline").read_bytes()


def program(name, package):
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if not path:
        raise SystemExit(f"{name} is not installed: apt install {package}")
    return path


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def curl(*arguments):
    """Returns the seconds of a transfer."""
    command = ["curl", "-q", "-sSf", "--noproxy", "*", "-m", "600", "-w", "%{time_total}\n", *map(str, arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=620)
    if done.returncode != 0:
        raise SystemExit(f"curl {arguments[-1]} ends with status {done.returncode}: {done.stderr[-500:]}")
    return max(map(float, done.stdout.split()))


def small_requests(port, count, expected, limit):
    """Returns the seconds of small requests over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=limit)
    times = []
    with contextlib.closing(connection):
        for _ in range(count):
            start = time.perf_counter()
            connection.request("GET", "/small")
            body = connection.getresponse().read()
            times.append(time.perf_counter() - start)
            if hashlib.sha256(body).hexdigest() != expected:
                raise ValueError(f"{len(body)} other bytes")
    return times
