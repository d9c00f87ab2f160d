"""Wrong pages that must fail: small ones with one mistake each, and the guides with one shorter command."""

import pathlib
import tempfile

from page import PROMPT, Fault
from settings import SETTINGS, Setting

RIGHT = "```console\nlaptop$ echo one; echo two\none\ntwo\n```\n"
# A right page first, because a test that always fails would find every mistake.
MISTAKES = {
    "a command that does not exist": RIGHT.replace("echo one", "ehco one"),
    "a wrong option": "```console\nlaptop$ byway links --pnig\n```\n",
    "another output": RIGHT.replace("two\n```", "three\n```"),
    "a missing line of output": RIGHT.replace("one\ntwo", "one"),
    "a status other than 0": "```console\nlaptop$ echo one; false\none\n```\n",
    "a daemon that does not start": "```console\nlaptop$ byway gateway --link unix:nowhere/l --origin http://127.0.0.1:9\nbyway: …\n```\n",
    "a daemon without the line that it prints": "```console\nlaptop$ byway gateway --link unix:l --origin http://127.0.0.1:9\n```\n",
    "a port of the system": "```console\nlaptop$ echo 127.0.0.1:8080\n127.0.0.1:8080\n```\n",
    "an indented block": RIGHT + "\n    byway ping\n",
    "a block without a language": RIGHT + "```\nbyway ping\n```\n",
    "output without a command": RIGHT + "```console\nthree\n```\n",
    "a block of another kind": RIGHT + "~~~console\nlaptop$ byway links --pnig\n~~~\n",
    "a command in a sentence": RIGHT + "Run `sudo systemctl start byway`.\n",
}


def check(run, tools):
    """Returns a line for each wrong page that passes, or for the right one if it fails."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.md"
        path.write_text(RIGHT)
        try:
            run(path, Setting, tools)
        except Fault as fault:
            faults.append(f"a right page fails: {fault}")
        for name, text in MISTAKES.items():
            path.write_text(text)
            try:
                run(path, Setting, tools)
                faults.append(f"a page passes with {name}")
            except Fault:
                pass
    return faults


def shorten(text):
    """Yields copies of a page. In each of them another command lacks its last character, and a slash there, which may mean nothing."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not PROMPT.match(line.strip()):
            continue
        last = number
        while lines[last].endswith("\\"):
            last += 1
        yield last + 1, "\n".join([*lines[:last], lines[last].removesuffix("/")[:-1], *lines[last + 1:]])


def check_each_command(run, pages, tools):
    """Returns a line for each command of the guides whose mistake no test notices."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for page in pages:
            path = pathlib.Path(folder) / page.name
            for line, text in shorten(page.read_text()):
                path.write_text(text)
                try:
                    run(path, SETTINGS[page.name], tools)
                    faults.append(f"{page.name}:{line}: the page passes without the last character of this command")
                except Fault:
                    print(f"ok {page.name}:{line}: fails without its last character", flush=True)
    return faults
