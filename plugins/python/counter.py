#!/usr/bin/env python3
"""Counts the pages that pass, and writes the number into each."""
import byway_addon

pages = 0


async def response(flow):
    global pages
    if not flow.response.headers.get("content-type", "").startswith("text/html"):
        return
    pages += 1
    flow.note(f"page {pages}")
    page = flow.response.body

    async def counted():
        async for chunk in page:
            yield chunk
        yield f"<p>Page {pages}</p>".encode()

    flow.response.body = counted()


byway_addon.run(response=response)
