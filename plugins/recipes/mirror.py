#!/usr/bin/env python3
"""Sends a copy of each request to another server, for which no client waits: exec:./mirror.py http://127.0.0.1:9000"""
import asyncio
import sys
import byway_addon

copies = set()
dropped = ("host", "connection", "content-length", "transfer-encoding", "byway-exchange", "authorization", "cookie")


async def request(flow):
    if len(copies) >= 20:
        flow.note("not copied: 20 copies are under way")
        return
    body = flow.request.body = await flow.request.body.read(1_000_000)
    headers = [item for item in flow.request.headers if item[0] not in dropped]
    copy = asyncio.ensure_future(send(flow, headers, body))
    copies.add(copy)
    copy.add_done_callback(copies.discard)


async def send(flow, headers, body):
    try:
        await flow.send(sys.argv[1] + flow.request.path, flow.request.method, headers, body, timeout=10)
    except OSError as error:
        flow.note(f"not copied: {error}")


byway_addon.run(request=request)
