#!/usr/bin/env python3
"""Drops server-sent events of one name, as they come: exec:./filter-events.py NAME"""
import sys
import byway_addon

name = sys.argv[1].encode()


async def response(flow):
    if flow.response.headers.get("content-type", "").startswith("text/event-stream"):
        flow.response.body = kept(flow.response.body)


async def kept(body):
    rest = b""
    async for chunk in body:
        *events, rest = (rest + chunk.replace(b"\r\n", b"\n")).split(b"\n\n")
        for event in events:
            if b"event: " + name not in event.split(b"\n"):
                yield event + b"\n\n"
    yield rest


byway_addon.run(response=response)
