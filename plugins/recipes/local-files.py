#!/usr/bin/env python3
"""Answers paths below PREFIX with the files of a folder: exec:./local-files.py PREFIX FOLDER"""
import mimetypes
import pathlib
import sys
from urllib.parse import unquote, urlsplit
import byway_addon

prefix, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()


async def request(flow):
    path = unquote(urlsplit(flow.request.path).path)
    if not path.startswith(prefix) or flow.request.method not in ("GET", "HEAD"):
        return
    file = (folder / path[len(prefix):].lstrip("/")).resolve()
    # A path with dots does not leave the folder. Other files come from the server.
    if file.is_relative_to(folder) and file.is_file():
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        flow.reply(200, {"content-type": kind, "cache-control": "no-store"}, file.read_bytes())


byway_addon.run(request=request)
