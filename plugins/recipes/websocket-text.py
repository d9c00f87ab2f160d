#!/usr/bin/env python3
"""Replaces a text in the WebSocket messages of a server: exec:./websocket-text.py OLD NEW"""
import sys
import byway_addon

old, new = (text.encode() for text in sys.argv[1:3])


async def response(flow):
    if flow.request.protocol == "websocket":
        flow.response.body = frames(flow.response.body)


async def frames(body):
    rest = b""
    async for chunk in body:
        rest += chunk
        # A frame: kind, length in 1, 3 or 9 bytes, payload (RFC 6455, section 5.2). A server does not mask it.
        while len(rest) >= 2:
            size = {126: 2, 127: 8}.get(rest[1], 0)
            end = 2 + size + (int.from_bytes(rest[2:2 + size], "big") if size else rest[1])
            if len(rest) < max(end, 2 + size):
                break
            kind, payload, rest = rest[:1], rest[2 + size:end], rest[end:]
            payload = payload.replace(old, new) if kind == b"\x81" else payload
            long = len(payload) > 125
            yield kind + (b"\x7f" + len(payload).to_bytes(8, "big") if long else bytes([len(payload)])) + payload


byway_addon.run(response=response)
