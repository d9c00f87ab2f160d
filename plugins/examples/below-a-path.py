#!/usr/bin/env python3
"""Shows a device that assumes that it is at `/` below a path: exec:./below-a-path.py /printer

Absolute links in HTML, CSS, redirects and cookies get the path in front. Links that scripts put together do not.
"""
import re
import sys
import byway_addon

prefix = "/" + sys.argv[1].strip("/")
LIMIT = 4 * 1024 * 1024
# A link follows an attribute of HTML, or url( of CSS. A link with two slashes has a host.
LINKS = re.compile(rb"""((?:\b(?:href|src|action|formaction|poster|data)\s*=\s*["']?)|(?:\burl\(\s*["']?))/(?!/)""", re.IGNORECASE)
REFRESH = re.compile(rb"""(http-equiv\s*=\s*["']?refresh["']?[^>]*\burl\s*=\s*["']?)/(?!/)""", re.IGNORECASE)


def below(path):
    return prefix + path if path.startswith("/") and not path.startswith("//") else path


async def request(flow):
    path, mark, query = flow.request.path.partition("?")
    flow.is_own = path == prefix or not path.startswith(prefix + "/")
    if path == prefix:
        flow.reply(308, {"location": f"{prefix}/{mark}{query}"})
    elif flow.is_own:
        flow.reply(404, {"content-type": "text/plain"}, f"The device is at {prefix}/.\n")
    else:
        flow.request.path = path[len(prefix):] + mark + query
        flow.request.headers.pop("accept-encoding")


async def response(flow):
    headers = flow.response.headers
    if flow.is_own:
        return
    if "location" in headers:
        headers["location"] = below(re.sub(f"^https?://{re.escape(flow.request.authority or '')}(?=/)", "", headers["location"]))
    cookies = headers.get_all("set-cookie")
    headers.pop("set-cookie")
    for cookie in cookies:
        headers.add("set-cookie", re.sub(r"(?i)(;\s*path=)(/[^;]*)", lambda match: match[1] + below(match[2]), cookie))
    kind = headers.get("content-type", "").split(";")[0]
    if kind not in ("text/html", "text/css") or flow.request.method == "HEAD":
        return
    if int(headers.get("content-length", 0)) > LIMIT:
        flow.note("too long to be rewritten")
        return
    content = await flow.response.body.read(LIMIT)
    path = prefix.encode() + b"/"
    content = LINKS.sub(lambda match: match[1] + path, content)
    flow.response.body = REFRESH.sub(lambda match: match[1] + path, content)


byway_addon.run(request=request, response=response)
