"""Runs the commands of a guide in one folder, each machine with a home of its own."""

import os
import re
import signal
import subprocess
import threading

from page import Fault, matches

PATIENCE = 20
# Commands that run until they are stopped. A page shows what they print when they are ready; all others must end with 0.
DAEMONS = ("byway gateway", "byway proxy", "byway line", "python3 -m http.server", "emulate ")
# Their log, which pages leave out.
LOG = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z (debug|info|notice) ")


class Machines:
    def __init__(self, folder, programs):
        """`folder` is the working folder of all machines; `programs` is the first folder of their search path."""
        self.folder = folder
        self.programs = programs
        self.daemons = []

    def run(self, step):
        is_daemon = step.command.startswith(DAEMONS)
        process = Process(step, ("exec " if is_daemon else "") + step.command, self.folder, self._environment(step.machine))
        try:
            if is_daemon:
                self.daemons.append(process)
                process.wait_until_ready()
            else:
                process.wait_until_done()
        finally:
            if not is_daemon:
                process.kill()

    def finish(self):
        """Stops the daemons, which must still run and end well."""
        for process in reversed(self.daemons):
            process.stop()

    def kill(self):
        for process in self.daemons:
            process.kill()

    def _environment(self, machine):
        home = self.folder / "homes" / machine
        for name in ["run", "config", "docker"]:
            (home / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        return {
            "PATH": f"{self.programs}:{os.environ['PATH']}:/usr/sbin", "HOME": str(home), "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(home / "run"), "XDG_CONFIG_HOME": str(home / "config"),
            "DOCKER_CONFIG": str(home / "docker"), "NO_COLOR": "1",
        }


class Process:
    """A command with both of its outputs, in a group of its own."""

    def __init__(self, step, command, folder, environment):
        self.step = step
        self.lines = []
        self.has_ended = False
        self.changed = threading.Condition()
        # Python prints to a pipe at once only if it is asked to.
        self.child = subprocess.Popen(
            ["bash", "-c", command], cwd=folder, env={**environment, "PYTHONUNBUFFERED": "1"}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.child.stdout:
            with self.changed:
                self.lines.append(line.decode(errors="replace").rstrip("\n"))
                self.changed.notify()
        with self.changed:
            self.has_ended = True
            self.changed.notify()

    def wait_until_ready(self):
        def is_ready():
            lines = [line for line in self.lines if not LOG.match(line)]
            return matches(self.step.output, lines, is_running=True)

        with self.changed:
            self.changed.wait_for(lambda: is_ready() or self.has_ended, PATIENCE)
        if not self.step.output:
            raise self.fault("the page does not show what it prints when it is ready")
        if self.has_ended:
            raise self.fault(f"ended with {self.child.wait()}")
        if not is_ready():
            raise self.fault("is not ready as shown")

    def wait_until_done(self):
        self.reader.join(PATIENCE)
        try:
            status = self.child.wait(0 if self.reader.is_alive() else PATIENCE)
        except subprocess.TimeoutExpired:
            raise self.fault(f"does not end within {PATIENCE} s") from None
        if status != 0:
            raise self.fault(f"ended with {status}")
        if not matches(self.step.output, self.lines):
            raise self.fault("printed something else than shown")

    def stop(self):
        if self.child.poll() is not None:
            raise self.fault(f"ended early with {self.child.returncode}")
        self.child.send_signal(signal.SIGTERM)
        try:
            status = self.child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise self.fault("does not stop") from None
        if status not in (0, -signal.SIGTERM):
            raise self.fault(f"stopped with {status}")

    def kill(self):
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()

    def fault(self, what):
        shown = "".join(f"  | {line}\n" for line in self.step.output)
        printed = "".join(f"  > {line}\n" for line in self.lines)
        return Fault(f":{self.step.line}: {self.step.machine}$ {self.step.command}\n{what}. Shown:\n{shown}Printed:\n{printed}")
