#!/usr/bin/env python3
"""Checks the test vectors with an implementation of its own, written from docs/wire-protocol.md."""

import pathlib
import struct
import sys

RESETS = ["finished", "unknown", "aborted", "silence", "version", "both-dial"]


def crc32c(data):
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def stuff(data):
    out, run = bytearray(), bytearray()
    for index, byte in enumerate(data):
        if byte:
            run.append(byte)
            if len(run) == 254:
                out += b"\xff" + run
                run.clear()
                if index == len(data) - 1:
                    return bytes(out)
        else:
            out += bytes([len(run) + 1]) + run
            run.clear()
    return bytes(out + bytes([len(run) + 1]) + run)


def unstuff(data):
    out, position = bytearray(), 0
    while position < len(data):
        length = data[position]
        run = data[position + 1 : position + length]
        if length == 0 or len(run) != length - 1 or 0 in run:
            return None
        out += run
        position += length
        if length < 255 and position < len(data):
            out.append(0)
    return bytes(out) if data else None


# Correction: docs/wire-protocol.md, section 7. Bytes are numbers of a field with 256 elements.
POWERS = [1]
while len(POWERS) < 255:
    POWERS.append(POWERS[-1] << 1 ^ (0x11D if POWERS[-1] & 0x80 else 0))
STRENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16]
LONGEST_WORD = 255


def times(left, right):
    return POWERS[(POWERS.index(left) + POWERS.index(right)) % 255] if left and right else 0


def value(polynomial, point):
    """Returns the value of a polynomial whose highest coefficient comes first."""
    result = 0
    for coefficient in polynomial:
        result = times(result, point) ^ coefficient
    return result


def parity(word, count):
    """Returns `count` bytes that, after the word, make it zero at the powers 0 to count - 1 of 2."""
    generator = [1]
    for root in POWERS[:count]:
        generator = [high ^ times(low, root) for high, low in zip(generator + [0], [0] + generator)]
    rest = list(word) + [0] * count
    for index in range(len(word)):
        lead = rest[index]
        for offset, coefficient in enumerate(generator):
            rest[index + offset] ^= times(lead, coefficient)
    return bytes(rest[-count:])


def words(count, strength):
    errors = STRENGTHS[strength]
    return -(-count // (LONGEST_WORD - 2 * errors)), 2 * errors


def correctable(content, key, strength):
    """Returns a body and its check as they are sent with correction."""
    number, count = words(len(content), strength)
    columns = [parity(content[start::number], count) for start in range(number)]
    header = (strength << 12 | len(content)).to_bytes(2, "big")
    sync = (crc32c(key) >> 8).to_bytes(3, "big")
    return sync + header + parity(header, 4) + content + bytes(byte for row in zip(*columns) for byte in row)


def corrected_word(word, count):
    """Returns the corrected word and its number of wrong bytes, or None if those are more than half of `count`."""
    syndromes = [value(word, root) for root in POWERS[:count]]
    for errors in range(count // 2 + 1):
        # Peterson's algorithm: the recurrence of this many terms that the syndromes follow, by elimination.
        rows = [[syndromes[row + column] for column in range(errors + 1)] for row in range(count - errors)]
        for column in range(errors):
            pivot = next((row for row in range(column, len(rows)) if rows[row][column]), None)
            if pivot is None:
                break
            eliminate(rows, column, pivot)
        else:
            if any(row[errors] for row in rows[errors:]):
                continue
            locator = [1] + [rows[row][errors] for row in reversed(range(errors))]
            places = [place for place in range(len(word)) if value(locator, POWERS[len(word) - 1 - place]) == 0]
            return repaired(word, places, syndromes) if len(places) == errors else None
    return None


def eliminate(rows, column, pivot):
    """Makes a column zero in all rows except one, where it becomes one."""
    rows[column], rows[pivot] = rows[pivot], rows[column]
    inverse = POWERS[-POWERS.index(rows[column][column]) % 255]
    rows[column] = [times(cell, inverse) for cell in rows[column]]
    for row in range(len(rows)):
        if row != column and rows[row][column]:
            rows[row] = [cell ^ times(rows[row][column], lead) for cell, lead in zip(rows[row], rows[column])]


def repaired(word, places, syndromes):
    """Returns the word without the errors at these places, which follow from the syndromes by elimination."""
    points = [POWERS[len(word) - 1 - place] for place in places]
    rows, powers = [], [1] * len(points)
    for syndrome in syndromes[: len(points)]:
        rows.append(powers + [syndrome])
        powers = [times(power, point) for power, point in zip(powers, points)]
    for column in range(len(points)):
        pivot = next(row for row in range(column, len(rows)) if rows[row][column])
        eliminate(rows, column, pivot)
    result = bytearray(word)
    for place, row in zip(places, rows):
        result[place] ^= row[-1]
    return bytes(result), len(places)


def corrected(wire, key):
    """Returns body and check of the first frame that can be corrected, and its number of wrong bytes, or None without such a frame."""
    sync = crc32c(key) >> 8
    for start in range(len(wire) - 8):
        if bin(int.from_bytes(wire[start : start + 3], "big") ^ sync).count("1") > 2:
            continue
        header = corrected_word(wire[start + 3 : start + 9], 4)
        if header is None:
            continue
        fields, wrong = int.from_bytes(header[0][:2], "big"), header[1]
        strength, length = fields >> 12, fields & 0xFFF
        if strength >= len(STRENGTHS):
            continue
        number, count = words(length, strength)
        end = start + 9 + length + number * count
        if length < 5 or end > len(wire):
            continue
        body = bytearray(wire[start + 9 : start + 9 + length])
        for column in range(number):
            word = corrected_word(bytes(body[column::number]) + wire[start + 9 + length + column : end : number], count)
            if word is None:
                return None
            body[column::number], wrong = word[0][:-count], wrong + word[1]
        return bytes(body), wrong
    return None


def runs(text):
    """Encodes a list of runs: one byte below 128, otherwise two, the first with its highest bit set."""
    counts = [int(count) for count in text.split(",") if count]
    return b"".join(bytes([count]) if count < 128 else (0x8000 | count).to_bytes(2, "big") for count in counts)


def body(frame):
    kind, *rest = frame.split()
    fields = dict(field.split("=") for field in rest)

    def number(name, size):
        text = fields[name]
        return int(text, 16 if size == 4 else 10).to_bytes(size, "big")

    def blob(name):
        return bytes.fromhex(fields.get(name, ""))

    ability = b"".join(number(name, 1) for name in ("correction", "streams", "credit") if name in fields)
    report = lambda: number("next", 2) + number("window", 2) + runs(fields.get("runs", ""))
    if kind == "hello":
        return b"\x01" + number("version", 1) + number("incarnation", 4) + number("largest", 2) + ability
    if kind == "open":
        ids = number("session", 4) + number("incarnation", 4)
        return b"\x02" + number("version", 1) + ids + number("largest", 2) + number("window", 2) + ability
    if kind == "reset":
        return b"\x03" + number("session", 4) + bytes([RESETS.index(fields["reason"])])
    if kind == "poll":
        return b"\x04" + number("session", 4) + number("token", 1)
    if kind == "ack":
        return b"\x40" + report()
    if kind == "answer":
        return b"\x41" + number("token", 1) + number("delay", 1) + report()
    if kind == "noise":
        return b"\x42" + number("level", 1)
    if kind == "data":
        flags = (1 if "next" in fields else 0) | (2 if fields.get("last") == "yes" else 0)
        start = bytes([0x80 | flags]) + number("number", 2)
        return start + (number("next", 2) if "next" in fields else b"") + blob("payload")
    raise ValueError(kind)


def seal(text):
    return b"" if text == "-" else bytes.fromhex(text)


def opened(wire, seal_bytes):
    """Returns the body of an intact frame, or None."""
    inner = unstuff(wire[:-1]) if wire.endswith(b"\x00") else None
    if inner is None or len(inner) < 5:
        return None
    content, check = inner[:-4], struct.unpack(">I", inner[-4:])[0]
    is_sealed = content[0] >= 0x40
    if is_sealed and not seal_bytes:
        return None
    return content if crc32c((seal_bytes if is_sealed else b"") + content) == check else None


class Receiver:
    """The units that an end has received, by number."""

    def __init__(self, window):
        self.window, self.next, self.units, self.end, self.stream = window, 0, {}, None, b""

    def take(self, number, payload, is_last):
        start = (number - self.next + 0x8000) % 0x10000 - 0x8000 + self.next
        pieces = [payload[at : at + 16] for at in range(0, len(payload), 16)] or [b""]
        stop = start + len(pieces)
        fits = (payload or is_last) and stop <= self.next + self.window
        if stop <= self.next or not fits:
            return
        if self.end is not None and (stop != self.end if is_last else stop > self.end):
            return
        if is_last:
            if any(number >= stop for number in self.units):
                return
            self.end = stop
        for offset, piece in enumerate(pieces):
            if start + offset >= self.next:
                self.units.setdefault(start + offset, piece)
        while self.next in self.units:
            self.stream += self.units.pop(self.next)
            self.next += 1

    def report(self):
        edges = [self.next]
        for number in sorted(self.units):
            if number - 1 in self.units:
                edges[-1] = number + 1
            else:
                edges += [number, number + 1]
        return self.next % 0x10000, [after - before for before, after in zip(edges, edges[1:])]


def received(script, window):
    receiver = Receiver(window)
    for frame in script.split("; "):
        fields = dict(field.split("=") for field in frame.split()[1:])
        receiver.take(int(fields["number"]), bytes.fromhex(fields.get("payload", "")), fields.get("last") == "yes")
    number, counts = receiver.report()
    return f"next={number} runs={','.join(map(str, counts))} finished={'yes' if receiver.end == receiver.next else 'no'}", receiver.stream


def blocks(path):
    for block in path.read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            yield dict(line.split(": ", 1) for line in lines)


# Session vectors: docs/wire-protocol.md, section 12. A tester replaces these words by numbers of the session. Here any number will do.
WORDS = {"heard": "9", "all": "9", "own": "11223344", "other": "11223345", "past": "55667788", "new": "99aabbcc", "none": "00000000"}
DEFAULTS = {
    "hello": "version=1 incarnation=own largest=2048",
    "open": "version=1 session=own incarnation=own largest=2048 window=8192",
    "reset": "session=own reason=aborted",
    "poll": "session=own token=1",
    "ack": "next=0 window=8192",
    "answer": "token=1 delay=0 next=0 window=8192",
    "noise": "level=0",
    "data": "number=0",
}
# Words of a step that are not fields of its frame.
BESIDE = {"more", "zeros", "seal", "piece", "arrived", "payload", "runs", "beyond"}
BESIDE |= {"correction", "strength", "wrong", "header", "sync", "length"}


def session_frame(words):
    """Returns the body of the frame that a step names, or None for any frame. Raises ValueError or KeyError if it is invalid."""
    kind, *rest = words
    if kind == "any":
        return None
    fields = dict(field.split("=") for field in DEFAULTS[kind].split())
    for word in rest:
        name, _, value = word.partition("=")
        if name in BESIDE:
            continue
        if name not in fields and name != "last":
            raise ValueError(word)
        fields[name] = value.lstrip("+-") if name in ("next", "number") else value or "yes"
        if name == "level" and value in ("some", "none"):
            fields[name] = "1"
    text = [kind] + [f"{name}={WORDS.get(value, value)}" for name, value in fields.items()]
    return body(" ".join(text))


def is_step(line):
    """Returns whether a line is a step of a session, and its frame, if it has one, can be sent."""
    action, *words = line.split()
    try:
        if action == "in" and words[0] in ("bytes", "body"):
            return bytes.fromhex(words[1]) != b""
        if action == "in" and words[0] in ("junk", "stretch") or action == "at":
            return int(words[-1]) > 0
        if action in ("mute", "cut", "restore", "owner"):
            return len(words) <= 2
        if action == "out" and words[0] == "only" or action == "in" and words[0] == "damaged":
            words = words[1:]
        if action == "in" and words[0].isdigit():
            words = words[1:]
        words = [word for word in words if word != "doubled"]
        times = [index for index, word in enumerate(words) if word in ("after", "within", "for")]
        end = min(times, default=len(words))
        if action != "in" and not all(int(words[index + 1]) >= 0 for index in times):
            return False
        content = session_frame(words[:end])
    except (ValueError, KeyError, IndexError):
        return False
    if action not in ("in", "out", "none") or (action == "in") != (not times):
        return False
    if content is None:
        return True
    key = bytes.fromhex(WORDS["own"] + WORDS["own"])
    content += struct.pack(">I", crc32c((key if content[0] >= 0x40 else b"") + content))
    strength = next((int(word[9:]) for word in words if word.startswith("strength=") and word[9:].isdigit()), None)
    if action == "in" and strength is not None:
        return corrected(correctable(content, key, strength), key) == (content, 0)
    return opened(stuff(content) + b"\x00", key) == content[:-4]


def sessions(path):
    """Yields the name and the steps of each block."""
    for block in path.read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        headers = dict(line.split(": ", 1) for line in lines if line.partition(":")[0].isalpha() and ": " in line)
        steps = [line for line in lines if not (line.partition(":")[0].isalpha() and ": " in line)]
        if lines:
            yield headers.get("name") or f"state {headers['state']}", steps


def main(folder):
    wrong = []
    count = 0

    def expect(holds, vector):
        nonlocal count
        count += 1
        if not holds:
            wrong.append(vector["name"])

    expect(crc32c(b"123456789") == 0xE3069283, {"name": "check value of CRC-32C"})
    for vector in blocks(folder / "cobs.txt"):
        plain, wire = bytes.fromhex(vector.get("plain", "")), bytes.fromhex(vector["wire"])
        expect(stuff(plain) + b"\x00" == wire and unstuff(wire[:-1]) == plain, vector)
    for vector in blocks(folder / "frames.txt"):
        content, wire, key = body(vector["frame"]), bytes.fromhex(vector["wire"]), seal(vector["seal"])
        check = crc32c((key if content[0] >= 0x40 else b"") + content)
        expect(stuff(content + struct.pack(">I", check)) + b"\x00" == wire, vector)
        expect(opened(wire, key) == content, vector)
    for vector in blocks(folder / "streams.txt"):
        state, stream = received(vector["frames"], int(vector["window"]))
        expect(state == vector["state"] and stream.hex() == vector["stream"], vector)
    for vector in blocks(folder / "damaged.txt"):
        expect(opened(bytes.fromhex(vector["wire"]), seal(vector["seal"])) is None, vector)

    for vector in blocks(folder / "corrected.txt"):
        content, key, strength = body(vector["frame"]), seal(vector["seal"]), int(vector["strength"])
        content += struct.pack(">I", crc32c((key if content[0] >= 0x40 else b"") + content))
        expect(correctable(content, key, strength).hex() == vector["wire"], vector)
        result = corrected(bytes.fromhex(vector["heard"]), key)
        told = vector["corrected"]
        expect(result == (None if told == "no" else (content, int(told))), vector)

    scripts = sorted(folder.resolve().parents[2].glob("Sources/BywayLineConformance/Scripts/*.txt"))
    expect(len(scripts) > 5, {"name": "session vectors"})
    for path in scripts:
        for name, steps in sessions(path):
            for step in steps:
                expect(is_step(step), {"name": f"{path.name}: {name}: {step}"})

    for name in wrong:
        print(f"wrong: {name}", file=sys.stderr)
    print(f"{count - len(wrong)} of {count} hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(__file__).parent))
