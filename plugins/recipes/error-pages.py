#!/usr/bin/env python3
"""Shows the page FOLDER/STATUS.html instead of the server's own: exec:./error-pages.py FOLDER"""
import pathlib
import sys
import byway_addon

folder = pathlib.Path(sys.argv[1])


async def response(flow):
    page = folder / f"{flow.response.status}.html"
    wants_page = "text/html" in flow.request.headers.get("accept", "")
    if flow.response.status >= 400 and wants_page and page.is_file():
        flow.note(f"the page of the server is hidden: {flow.response.status}")
        for name in ("content-encoding", "etag", "last-modified"):
            flow.response.headers.pop(name)
        flow.response.headers["content-type"] = "text/html; charset=utf-8"
        flow.response.body = page.read_bytes()


byway_addon.run(response=response)
