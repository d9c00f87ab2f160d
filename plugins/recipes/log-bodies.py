#!/usr/bin/env python3
"""Writes the first bytes of request bodies into the log, of any length and framing: exec:./log-bodies.py [BYTES]"""
import sys
import byway_addon

limit = int((sys.argv[1:] or ["200"])[0])


async def request(flow):
    if not flow.request.is_empty:
        flow.request.body = logged(flow, flow.request.body)


async def logged(flow, body):
    first, size = b"", 0
    async for chunk in body:
        first += chunk[:limit - len(first)]
        size += len(chunk)
        yield chunk
    flow.note(f"{size} bytes: {first.decode(errors='replace')}")


byway_addon.run(request=request)
