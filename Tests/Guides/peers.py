"""Real servers and emulated lines for the guides, each on free ports and in a folder of its own."""

import contextlib
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

from waiting import until

PATIENCE = 20


def path(name):
    return pathlib.Path(__file__).resolve().parents[2] / name


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def program(name, package):
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not found:
        sys.exit(f"{name} is not installed: apt install {package}")
    return found


def wait_for(url, is_met):
    """Asks for a page until it is as expected. Does nothing if that takes too long: the next command of the guide will fail."""
    def holds():
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return is_met(answer.read().decode())

    with contextlib.suppress(TimeoutError):
        until(holds, PATIENCE, "")


class Peer:
    """A process that says in a line of output that it is ready."""

    def __init__(self, command, mark, **options):
        self.output = []
        self.is_ready = threading.Event()
        self.child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, **options)
        threading.Thread(target=self._read, args=[mark.encode()], daemon=True).start()
        if not self.is_ready.wait(PATIENCE) or not any(mark.encode() in line for line in self.output):
            self.stop()
            raise RuntimeError(f"{command[0]} is not ready: {b''.join(self.output).decode(errors='replace')}")

    def _read(self, mark):
        for line in self.child.stdout:
            self.output.append(line)
            if mark in line:
                self.is_ready.set()
        self.is_ready.set()

    def stop(self):
        self.child.terminate()
        try:
            self.child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()


class Nginx(Peer):
    def __init__(self, folder, port, answers):
        """Answers each path with its text."""
        home = folder / "nginx"
        home.mkdir(parents=True)
        kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        temporary = "".join(f"{kind}_temp_path {home}/{kind};" for kind in kinds)
        locations = "".join(f"location = {path} {{ return 200 {quoted(text)}; }}\n" for path, text in answers.items())
        (home / "nginx.conf").write_text(
            f"pid {home}/pid; error_log stderr notice; events {{}}\n"
            f"http {{ access_log off; default_type text/html; {temporary}\n"
            f"server {{ listen 127.0.0.1:{port};\n{locations} }} }}\n")
        super().__init__(
            [program("nginx", "nginx-light"), "-c", f"{home}/nginx.conf", "-p", str(home), "-e", "stderr", "-g", "daemon off;"],
            "start worker process ")


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class Line(Peer):
    def __init__(self, byway, baud, *ends):
        super().__init__([str(byway), "line", "--baud", str(baud), *map(str, ends)], "line ready")


class Podman(Peer):
    """Podman's service at FOLDER/podman.sock, with an image named box."""

    def __init__(self, folder):
        self.root = f"{folder}/root".encode()
        super().__init__(
            ["/usr/bin/python3", "-B", str(path("Tests/Support/containers.py")), "serve", str(folder)], "ready")

    def stop(self):
        super().stop()
        # A command that fails may leave a container, whose processes have the folder in their arguments.
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if self.root in pathlib.Path("/proc", pid, "cmdline").read_bytes():
                    os.kill(int(pid), signal.SIGKILL)


class SSH:
    """An OpenSSH server for the user who runs the test, with keys of its own."""

    def __init__(self, folder):
        self.home = folder / "ssh"
        self.port = free_port()
        self.address = f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}"
        self.options = f"identity={self.home}/user&known_hosts={self.home}/known_hosts&config=none"
        self.process = None

    def start(self):
        self.home.mkdir()
        for name in ["host", "user"]:
            keygen = [program("ssh-keygen", "openssh-client"), "-q", "-t", "ed25519", "-N", "", "-f", f"{self.home}/{name}"]
            subprocess.run(keygen, check=True)
        shutil.copy(self.home / "user.pub", self.home / "authorized_keys")
        host_key = (self.home / "host.pub").read_text()
        (self.home / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key}")
        (self.home / "sshd_config").write_text("\n".join([
            f"ListenAddress 127.0.0.1:{self.port}", f"HostKey {self.home}/host", "PidFile none", "UsePAM no", "StrictModes no",
            f"AuthorizedKeysFile {self.home}/authorized_keys", "PermitRootLogin yes", "PasswordAuthentication no",
            "KbdInteractiveAuthentication no", "UseDNS no", ""]))
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        self.process = Peer(
            [program("sshd", "openssh-server"), "-D", "-e", "-f", f"{self.home}/sshd_config"], "Server listening on")

    def stop(self):
        if self.process:
            self.process.stop()


def manifest(folder, text):
    """Returns what SwiftPM reads from a manifest, as JSON."""
    home = folder / "package"
    home.mkdir()
    (home / "Package.swift").write_text(text)
    return dump(home)


def manifest_here():
    return dump(path("."))


def dump(folder):
    result = subprocess.run(["swift", "package", "dump-package"], cwd=folder, capture_output=True, timeout=60)
    if result.returncode != 0:
        raise RuntimeError(f"{folder}/Package.swift is refused: {result.stderr.decode(errors='replace')}")
    return result.stdout
