#!/usr/bin/env python3
"""The goodput of a software radio modem with its own error correction: Dire Wolf's AX.25 frames, plain and as FX.25.

    apt-get install direwolf
    python3 Benchmarks/direwolf.py

It sends a hundred frames at 9,600 bits per second. The noise grows from none in the first to more than any code corrects in the last. It is added
to the sound, not to bits, and is the same for each. Share is the number of decoded bytes of text, divided by the capacity of the time on the air.
There are no retransmissions.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import wave

BITS = 9600
TEXT = len("The quick brown fox jumps over the lazy dog!  0001 of 0100")


def main():
    for program in ("gen_packets", "atest"):
        if not shutil.which(program):
            sys.exit(f"{program} is missing: apt-get install direwolf")
    print("| frames | time on the air | decoded of 100 | share without noise | share with it |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="bw-", dir="/tmp") as folder:
        for check in (0, 16, 32, 64):
            seconds, decoded = measured(pathlib.Path(folder) / "frames.wav", ["-X", str(check)] if check else [])
            name = f"FX.25, {check} bytes of parity" if check else "AX.25"
            clean, noisy = (count * TEXT * 8 / (seconds * BITS) for count in (100, decoded))
            print(f"| {name} | {seconds:.1f} s | {decoded} | {clean:.2f} | {noisy:.2f} |")


def measured(sound, options):
    run("gen_packets", "-B", str(BITS), "-n", "100", *options, "-o", str(sound))
    with wave.open(str(sound)) as file:
        seconds = file.getnframes() / file.getframerate()
    return seconds, int(re.search(r"(\d+) packets decoded", run("atest", "-B", str(BITS), str(sound)))[1])


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace", timeout=120).stdout


if __name__ == "__main__":
    main()
