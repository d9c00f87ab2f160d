#!/usr/bin/env python3
"""Scales images down before a slow line: exec:./small-images.py [WIDTH] [QUALITY]

Needs Pillow (`apt install python3-pil`). Images that stay as they are: small ones, animations, and what Pillow cannot read.
"""
import asyncio
import io
import sys
from PIL import Image
import byway_addon

width, quality = (int(text) for text in (sys.argv[1:] + ["800", "60"][len(sys.argv) - 1:])[:2])
SMALLEST, LIMIT = 20_000, 16 * 1024 * 1024
# An image with more pixels is refused before it takes memory.
Image.MAX_IMAGE_PIXELS = 40_000_000
one_at_a_time = []


def scaled(content):
    """Returns the image with fewer pixels, or None if that gains nothing."""
    with Image.open(io.BytesIO(content), formats=("JPEG", "PNG", "WEBP")) as image:
        if getattr(image, "is_animated", False) or image.width * image.height > Image.MAX_IMAGE_PIXELS:
            return None
        kind = image.format
        image.thumbnail((width, width * 4))
        output = io.BytesIO()
        image.save(output, kind, quality=quality, optimize=True)
    return output.getvalue() if output.tell() < len(content) else None


async def request(flow):
    # A part of an image cannot be scaled.
    flow.request.headers.pop("range")
    flow.request.headers.pop("if-range")


async def response(flow):
    headers = flow.response.headers
    length = int(headers.get("content-length", 0))
    if flow.response.status != 200 or flow.request.method == "HEAD" or not SMALLEST <= length <= LIMIT:
        return
    if headers.get("content-type") not in ("image/jpeg", "image/png", "image/webp") or "content-encoding" in headers:
        return
    content = flow.response.body = await flow.response.body.read(LIMIT)
    if not one_at_a_time:
        one_at_a_time.append(asyncio.Lock())
    try:
        async with one_at_a_time[0]:
            smaller = await asyncio.to_thread(scaled, content)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        flow.note(f"not scaled: {error}")
        return
    if smaller:
        flow.note(f"{len(content)} bytes became {len(smaller)}")
        flow.response.body = smaller
        for name in ("etag", "accept-ranges", "content-md5", "digest", "repr-digest", "content-digest"):
            headers.pop(name)
        headers.add("vary", "save-data")


byway_addon.run(request=request, response=response)
