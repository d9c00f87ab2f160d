#!/usr/bin/env python3
"""Replaces a text in bodies while they pass: exec:./replace-text.py OLD NEW"""
import sys
import byway_addon

old, new = (text.encode() for text in sys.argv[1:3])


async def request(flow):
    flow.request.headers.pop("accept-encoding")


async def response(flow):
    if flow.response.headers.get("content-type", "").startswith("text/"):
        flow.response.body = replaced(flow.response.body)


async def replaced(body):
    rest = b""
    async for chunk in body:
        # The text may continue in the next chunk, so its possible beginning waits.
        *before, rest = (rest + chunk).split(old)
        kept = len(rest) - min(len(rest), len(old) - 1)
        yield b"".join(part + new for part in before) + rest[:kept]
        rest = rest[kept:]
    yield rest


byway_addon.run(request=request, response=response)
