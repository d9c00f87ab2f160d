#!/usr/bin/env python3
"""Decompresses the bodies of requests for a server that cannot: exec:./unzip-requests.py"""
import zlib
import byway_addon

LIMIT = 64 * 1024 * 1024


async def request(flow):
    if flow.request.headers.get("content-encoding") == "gzip":
        del flow.request.headers["content-encoding"]
        flow.request.body = unzipped(flow.request.body)


async def unzipped(body):
    unzip, size = zlib.decompressobj(zlib.MAX_WBITS | 16), 0
    async for chunk in body:
        while chunk:
            part = unzip.decompress(chunk, 65536)
            chunk = unzip.unconsumed_tail
            size += len(part)
            if size > LIMIT:
                raise ValueError("the body is too long")
            yield part
    yield unzip.flush()


byway_addon.run(request=request)
