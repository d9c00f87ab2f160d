#!/usr/bin/env python3
"""Answers HTTP with the text commands of a serial console: exec:./serial-console.py /dev/ttyUSB0 9600 > show,get

POST /console with a command as the body, or GET /console/show%20version. The third argument is
the end of the prompt, the last one the first words that are allowed.
"""
import asyncio
import os
import sys
import termios
import tty
from urllib.parse import unquote
import byway_addon

device, speed, prompt = sys.argv[1], getattr(termios, f"B{sys.argv[2]}"), sys.argv[3].encode()
allowed = set(sys.argv[4].split(","))
LIMIT, SECONDS = 65536, 10
turn = []


async def command(text):
    """Sends a line, and returns what comes until the next prompt."""
    console = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()
    try:
        tty.setraw(console)
        attributes = termios.tcgetattr(console)
        attributes[4] = attributes[5] = speed
        termios.tcsetattr(console, termios.TCSANOW, attributes)
        # Earlier output belongs to no answer.
        termios.tcflush(console, termios.TCIFLUSH)
        loop.add_reader(console, arrived.set)
        os.write(console, text.encode() + b"\r")
        output = b""
        while not output.rstrip(b" ").endswith(prompt):
            await arrived.wait()
            arrived.clear()
            output += os.read(console, 4096)
            if len(output) > LIMIT:
                raise OSError("the answer is too long")
    finally:
        loop.remove_reader(console)
        os.close(console)
    lines = output.rstrip(b" ")[:-len(prompt)].decode(errors="replace").replace("\r", "").split("\n")
    # A console repeats the command.
    return "\n".join(lines[1:] if lines[0].endswith(text) else lines).strip("\n") + "\n"


async def request(flow):
    path, method = flow.request.path, flow.request.method
    if path != "/console" and not path.startswith("/console/"):
        return
    text = (await flow.request.body.read(1000)).decode(errors="replace") if method == "POST" else unquote(path[len("/console/"):])
    text = text.strip()
    fields = {"content-type": "text/plain; charset=utf-8", "cache-control": "no-store"}
    if not text.isprintable() or text.split(" ")[0] not in allowed:
        flow.reply(403, fields, f"Allowed are: {', '.join(sorted(allowed))}.\n")
        return
    if not turn:
        turn.append(asyncio.Lock())
    try:
        async with turn[0]:
            flow.reply(200, fields, await asyncio.wait_for(command(text), SECONDS))
    except (OSError, asyncio.TimeoutError) as error:
        flow.note(f"{text}: {error!r}")
        flow.reply(504, fields, "The console did not answer.\n")


byway_addon.run(request=request)
