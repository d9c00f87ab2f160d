"""Reads the map that lld writes with a program (`make size`)."""
import re

NOT_LOADED = re.compile(r"\.(debug|symtab|strtab|shstrtab|comment)")


def pieces(path):
    """Yields the section, the place, the address and the size of each piece of the program that is in memory.

    A place is a section of an object, such as `.../NIOCore.build/File.swift.o:(.text)` or `.../libfoo.a(bar.o):(.text)`.
    """
    section = ""
    with open(path, encoding="utf-8", errors="replace") as lines:
        next(lines)
        for line in lines:
            # Address, load address, size, alignment, and a section of the file, or after eight more spaces a part of the section.
            match = re.match(r"\s*(\w+)\s+\w+\s+(\w+)\s+\d+ (\s*)(\S.*)", line)
            if not match:
                continue
            if not match[3]:
                section = match[4]
            elif len(match[3]) == 8 and not NOT_LOADED.match(section):
                yield section, match[4], int(match[1], 16), int(match[2], 16)
