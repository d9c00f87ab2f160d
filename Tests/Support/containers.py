#!/usr/bin/env python3
"""Podman's service with a test image, and its stock clients.

    containers.py serve FOLDER          serves FOLDER/podman.sock, says "ready", and ends with SIGTERM
    containers.py use FOLDER SOCKET     writes what docker and podman say through SOCKET as JSON

Containers share the network of nothing and the limits of this process, so that little is asked of the machine.
"""

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import tarfile
import threading

from waiting import until

PATIENCE = 20

CONFIGURATION = """
[containers]
cgroups = "disabled"
netns = "none"
log_driver = "k8s-file"
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
"""


def environment(folder):
    home = os.path.join(folder, "home")
    os.makedirs(home, exist_ok=True)
    with open(os.path.join(folder, "containers.conf"), "w") as file:
        file.write(CONFIGURATION)
    with open(os.path.join(home, "config.json"), "w") as file:
        file.write("{}")
    return {
        **os.environ,
        "HOME": home,
        "XDG_RUNTIME_DIR": home,
        "DOCKER_CONFIG": home,
        "CONTAINERS_CONF": os.path.join(folder, "containers.conf"),
    }


def serve(folder):
    # Podman refuses the hybrid control groups of old machines, which are not used here.
    if not os.path.exists("/sys/fs/cgroup/cgroup.controllers") and "UNSHARED" not in os.environ:
        mount = "umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; exec \"$@\""
        os.environ["UNSHARED"] = "1"
        os.execvp("unshare", ["unshare", "-m", "sh", "-c", mount, "sh", sys.executable, *sys.argv])
    podman = ["podman", "--root", f"{folder}/root", "--runroot", f"{folder}/run", "--storage-driver", "vfs"]
    image = f"{folder}/image.tar"
    with tarfile.open(image, "w") as tar:
        tar.add("/bin/busybox", "bin/busybox")
        for name in ["sh", "echo", "cat", "sleep", "tar", "tail", "test"]:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    subprocess.run([*podman, "import", "-q", image, "box"], check=True, env=environment(folder), stdout=subprocess.DEVNULL)
    service = subprocess.Popen(
        [*podman, "system", "service", "--time", "0", f"unix://{folder}/podman.sock"], env=environment(folder))
    signal.signal(signal.SIGTERM, lambda *_: service.terminate())

    def is_settled():
        if service.poll() is not None:
            return True
        try:
            socket.socket(socket.AF_UNIX).connect(f"{folder}/podman.sock")
            print("ready", flush=True)
            return True
        except OSError:
            return False

    with contextlib.suppress(TimeoutError):
        until(is_settled, PATIENCE, "")
    code = service.wait()
    end_monitors(folder)
    sys.exit(0 if code in (0, -signal.SIGTERM) else 1)


def end_monitors(folder):
    """Ends the monitors of commands in containers. Otherwise each of them keeps the exit code for five minutes."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if words[0].endswith(b"conmon") and f"{folder}/root".encode() in words:
                os.kill(int(pid), signal.SIGTERM)
        except OSError:
            pass


def run(command, given, env):
    """Returns the exit code and output of a command that gets the given standard input."""
    try:
        result = subprocess.run(command, input=given.encode(), capture_output=True, timeout=PATIENCE, env=env)
        return [result.returncode, result.stdout.decode() + ("" if result.returncode == 0 else result.stderr.decode())]
    except subprocess.TimeoutExpired as error:
        return [-1, f"too late: {error.stdout} {error.stderr}"]


def run_on_terminal(command, keys, env):
    pid, master = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, env)
    timer = threading.Timer(PATIENCE, os.kill, [pid, signal.SIGKILL])
    timer.start()
    output, is_asked = b"", False
    while True:
        try:
            data = os.read(master, 4096)
        except OSError:
            break
        if not data:
            break
        output += data
        if b"name? " in output and not is_asked:
            is_asked = True
            os.write(master, keys.encode())
    status = os.waitpid(pid, 0)[1]
    timer.cancel()
    os.close(master)
    return [os.waitstatus_to_exitcode(status), output.decode()]


def first_lines(command, count, env):
    """Returns the first lines of a command that does not end by itself."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()
    lines = [process.stdout.readline().decode() for _ in range(count)]
    process.kill()
    process.wait()
    timer.cancel()
    return [0, "".join(lines)]


def use(folder, path):
    env = environment(folder)
    clients = {
        "docker": ["docker", "-H", f"unix://{path}"],
        "podman": ["podman", "--remote", "--url", f"unix://{path}"],
    }
    answers = {}

    def check(name, client):
        def record(what, answer):
            answers[f"{name} {what}"] = answer

        # "docker run" in the background: the next commands run in its container.
        # Real time: the output comes in pieces.
        code, container = run([*client, "run", "-d", "box", "sh", "-c", "while sleep 0.1; do echo tick; done"], "", env)
        container = container.strip()
        record("run", run([*client, "run", "--rm", "box", "echo", "hello"], "", env))
        record("run -i", run([*client, "run", "--rm", "-i", "box", "cat"], "one\ntwo\n", env))
        ask = ["sh", "-c", "test -t 0 && echo -n 'name? ' && read name && echo \"It is $name.\""]
        record("run -it", run_on_terminal([*client, "run", "--rm", "-it", "box", *ask], "Ann\n", env))
        # Podman's own client requests no upgrade there before version 5.7, but still uses the connection as a tunnel.
        record("exec", run([*client, "exec", container, "sh", "-c", "echo inside; exit 3"], "", env))
        record("exec -i", run([*client, "exec", "-i", container, "cat"], "x" * 300_000, env))
        record("attach", first_lines([*client, "attach", "--no-stdin", container], 3, env))
        record("logs -f", first_lines([*client, "logs", "-f", container], 3, env))
        there, back = f"{folder}/there-{name}", f"{folder}/back-{name}"
        with open(there, "w") as file:
            file.write("content\n")
        run([*client, "cp", there, f"{container}:/copy"], "", env)
        run([*client, "cp", f"{container}:/copy", back], "", env)
        record("cp", [0, open(back).read() if os.path.exists(back) else "nothing"])
        run([*client, "rm", "-f", "-t", "0", container] if name == "podman" else [*client, "rm", "-f", container], "", env)

    threads = [threading.Thread(target=check, args=item) for item in clients.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(answers))


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1] == "serve" else use(*sys.argv[2:])
