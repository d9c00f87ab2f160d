#!/usr/bin/env python3
"""Counts the pages that pass, and writes the number into each.

    byway proxy … --interceptor exec:./counter.py

Byway starts it. `byway_addon.py` is next to it, or its folder is in PYTHONPATH.
"""
import byway_addon

pages = 0


async def request(flow):
    # A compressed page has no end at which text can be added.
    flow.request.headers.pop("accept-encoding")


async def response(flow):
    global pages
    headers = flow.response.headers
    is_page = headers.get("content-type", "").startswith("text/html") and "content-encoding" not in headers
    if flow.request.method == "HEAD" or flow.response.status != 200 or not is_page:
        return
    pages += 1
    flow.note(f"page {pages}")
    flow.response.body = counted(flow.response.body, pages)


async def counted(page, number):
    async for chunk in page:
        yield chunk
    yield f"<p>Page {number}</p>".encode()


byway_addon.run(request=request, response=response)
