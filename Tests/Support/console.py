"""A machine with a login at its console: a terminal line, a getty or a shell at its far end, and the end for byway under a stable name.

    console.py FOLDER [--shell SHELL] [--no-login] [--getty agetty|real] [--password PASSWORD] [--path FOLDER]

The console is FOLDER/console. Commands come as lines through the pipe FOLDER/commands: "cut" takes the line away, "restore" brings it back,
"print TEXT" is a message of the kernel, "kill NAME" ends the programs of that name on the console. Each is confirmed with a line, the n-th
with "done n". SIGTERM ends the machine. agetty needs root; with "--getty real" it starts the system's own login.
"""

import argparse
import fcntl
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import termios
import tty

LOGIN = """#!/bin/sh
while [ $# -gt 1 ]; do shift; done
user=$1
stty -echo; printf 'Password: '; read -r word; stty echo; echo
if [ "$user" != operator ] || [ "$word" != '{password}' ]; then sleep 0.1; echo; echo 'Login incorrect'; exec {again}; fi
echo "Last login: Fri Jan  2 03:04:05 on ttyS0"
i=0; while [ $i -lt 40 ]; do echo "Welcome, line $i of the message of the day; write to login: or Password: $i"; i=$((i + 1)); done
export PATH='{path}' PS1='operator@box:~$ '
exec {shell}
"""
AGAIN = """#!/bin/sh
printf 'box login: '; read -r user; exec {login} -- "$user"
"""


def set_raw(descriptor):
    tty.setraw(descriptor)


class Console:
    def __init__(self, options):
        self.folder = pathlib.Path(options.folder)
        self.options = options
        self.far, self.device = pty.openpty()
        self.name = os.ttyname(self.device)
        self.login, self.again = self.folder / "login", self.folder / "again"
        names = {"password": options.password, "path": f"{options.path}:{os.environ['PATH']}", "shell": options.shell, "login": self.login,
                 "again": self.again}
        for file, text in ((self.login, LOGIN), (self.again, AGAIN)):
            file.write_text(text.format(**names))
            file.chmod(0o755)
        self.environment = {"PATH": names["path"], "TERM": "vt100", "PS1": "box$ ", "HOME": str(self.folder), "ENV": "", "HISTFILE": "/dev/null"}
        self.count = 0
        self.child = None
        self.near = self.held = None
        self.restore()

    def restore(self):
        if self.near is None:
            self.near, self.held = pty.openpty()
            set_raw(self.held)
            link = self.folder / "console"
            link.unlink(missing_ok=True)
            link.symlink_to(os.ttyname(self.held))

    def cut(self):
        os.close(self.held)
        os.close(self.near)
        self.near = self.held = None

    def start(self):
        def own_terminal():
            os.setsid()
            fcntl.ioctl(self.device, termios.TIOCSCTTY, 0)
        if self.options.login:
            command = {
                "agetty": ["/sbin/agetty", "--noissue", "--nohostname", "--login-program", str(self.login), "--local-line"],
                "real": ["/sbin/agetty", "--local-line"],
                "busybox": ["busybox", "getty", "-i", "-L", "-l", str(self.login), "115200"],
            }[self.options.getty] + [self.name.removeprefix("/dev/"), "vt100"]
            self.child = subprocess.Popen(command, env=self.environment, start_new_session=True)
        else:
            self.child = subprocess.Popen(self.options.shell.split(), env=self.environment, preexec_fn=own_terminal, stdin=self.device,
                                          stdout=self.device, stderr=self.device)

    def command(self, line):
        word, _, rest = line.partition(" ")
        if word == "cut":
            self.cut()
        elif word == "restore":
            self.restore()
        elif word == "print":
            os.write(self.device, f"{rest}\r\n".encode())
        elif word == "kill":
            # The processes of the console's terminal only.
            found = subprocess.run(["pgrep", "--terminal", self.name.removeprefix("/dev/"), rest], capture_output=True, text=True, check=True)
            for number in found.stdout.split():
                os.kill(int(number), signal.SIGKILL)
        self.count += 1
        print(f"done {self.count}", flush=True)

    def run(self):
        pipe = self.folder / "commands"
        os.mkfifo(pipe)
        # Open for both directions, so that it never ends.
        source_of_commands = os.open(pipe, os.O_RDWR)
        print("ready", flush=True)
        commands = b""
        while True:
            if self.child is None or self.child.poll() is not None:
                self.start()
            sources = [source_of_commands, self.far] + ([self.near] if self.near is not None else [])
            for source in select.select(sources, [], [], 0.05)[0]:
                try:
                    data = os.read(source, 4096)
                except OSError:
                    data = b""
                if source == source_of_commands:
                    commands += data
                    while b"\n" in commands:
                        line, _, commands = commands.partition(b"\n")
                        self.command(line.decode())
                elif source == self.far:
                    if self.near is not None and data:
                        self.write(self.near, data)
                elif data:
                    self.write(self.far, data)

    @staticmethod
    def write(descriptor, data):
        while data:
            data = data[os.write(descriptor, data):]

    def stop(self):
        # Ends what holds the terminal, by a hang-up.
        if self.child and self.child.poll() is None:
            self.child.terminate()
        os.close(self.far)
        os.close(self.device)
        if self.child:
            self.child.wait(10)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--shell", default="dash")
    parser.add_argument("--no-login", dest="login", action="store_false")
    parser.add_argument("--getty", default="busybox")
    parser.add_argument("--password", default="open sesame")
    parser.add_argument("--path", default="/nowhere")
    console = Console(parser.parse_args())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        console.run()
    finally:
        console.stop()


if __name__ == "__main__":
    main()
