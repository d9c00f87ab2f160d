"""The commands of a guide, with the output that it shows below each of them.

A guide shows commands in blocks marked as console. A line such as `laptop$ byway ping` is a command on the machine `laptop`; a
backslash at its end continues it. The other lines are its output. In them `…` stands for any text, and alone for any lines, also for none.
"""

import dataclasses
import re

# "swift manifest" is a manifest: only the test reads the second word.
FENCE = re.compile(r"^```(?:\w+ )?(\w*)$")
PROMPT = re.compile(r"^([a-z]+)\$ (.+)$")
# A command of three or more words must be in a block, where it is run.
INLINE = re.compile(r"`((?:sudo|systemctl|byway|curl|docker|openssl|swift|apt) [^`\s]+ [^`]+)`")
# Blocks that a setting checks itself, by their language.
LISTINGS = ("swift", "manifest", "c")


class Fault(Exception):
    """A page is wrong, or one of its commands does something else than the page says."""


@dataclasses.dataclass
class Step:
    line: int
    machine: str
    command: str
    output: list


class Page:
    def __init__(self, path, replaced):
        """Reads a page in which each key of `replaced` becomes its value."""
        self.path = path
        text = path.read_text()
        for name in replaced:
            if name not in text:
                raise Fault(f"{path.name}: the test replaces {name}, which the page does not contain")
        if replaced:
            # All at once, the longest first, so that no value is replaced again.
            names = sorted(replaced, key=len, reverse=True)
            text = re.sub("|".join(map(re.escape, names)), lambda match: replaced[match[0]], text)
        self.listings = {language: [] for language in LISTINGS}
        self.steps = []
        self._read(text.split("\n"))
        if not self.steps:
            raise Fault(f"{path.name} has no command")

    def _read(self, lines):
        language = None
        margin = 0
        for number, line in enumerate(lines, 1):
            fence = FENCE.match(line.strip())
            if not fence and line.strip().startswith(("```", "~~~")):
                raise Fault(f"{self._place(number)}: mark a block only by ``` and its language")
            if fence and language is None:
                language = fence[1]
                self.is_first = True
                # In a numbered list, blocks are indented.
                margin = len(line) - len(line.lstrip())
                if language in LISTINGS:
                    self.listings[language].append("")
                elif language != "console":
                    raise Fault(f"{self._place(number)}: a block that no test checks: mark it as console")
            elif fence:
                language = None
            elif language == "console":
                self._read_console(number, line[margin:])
            elif language:
                self.listings[language][-1] += line[margin:] + "\n"
            elif line.startswith("    ") and not re.match(r" +[-|0-9]", line):
                raise Fault(f"{self._place(number)}: an indented block is not tested: use a block marked as console")
            else:
                for command in INLINE.findall(line):
                    raise Fault(f"{self._place(number)}: no test runs `{command}`: put it into a block marked as console")

    def _read_console(self, number, line):
        prompt = PROMPT.match(line)
        last = None if self.is_first else self.steps[-1]
        self.is_first = False
        if last and last.command.endswith("\\"):
            last.command = last.command[:-1] + line.strip()
        elif prompt:
            self.steps.append(Step(number, prompt[1], prompt[2], []))
        elif last is None:
            raise Fault(f"{self._place(number)}: output without a command")
        else:
            last.output.append(line)

    def _place(self, number):
        return f"{self.path.name}:{number}"


def matches(shown, lines, is_running=False):
    """Returns whether these are the shown lines. Of a command that still runs, more lines may follow."""
    pattern = "".join("(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in shown)
    text = "".join(line + "\n" for line in lines)
    return bool(re.match(pattern, text) if is_running else re.fullmatch(pattern, text))
