#!/usr/bin/env python3
"""Sends a GET again, three times at most, while the server answers 503: exec:./retry-503.py"""
import asyncio
import byway_addon


async def response(flow):
    for attempt in range(3):
        if flow.response.status != 503 or flow.request.method != "GET":
            return
        await asyncio.sleep(0.2 * 2 ** attempt)
        flow.note(f"attempt {attempt + 2}")
        flow.response = await flow.send(flow.request.path, headers=flow.request.headers.items)


byway_addon.run(response=response)
