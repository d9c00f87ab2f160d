#!/usr/bin/env python3
"""Asks for a one-time code (TOTP, RFC 6238) in front of a device without login: exec:./one-time-code.py SECRET-FILE

The file has the base32 secret that an authenticator app got as `otpauth://totp/Device?secret=…`. Only its owner may read the file.
"""
import base64
import hmac
import secrets
import struct
import sys
import time
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs
import byway_addon

COOKIE, LOGIN, HOURS = "byway-login", "/byway-login", 8
key = base64.b32decode(open(sys.argv[1]).read().replace(" ", "").strip().upper())
sessions, failures, last_step = {}, [], 0

PAGE = """<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Login</title>
<form method="post" action="/byway-login"><label>One-time code
<input name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9]{6}" required autofocus></label>
<button>Log in</button></form><p role="alert">%s</p>"""


def code(step):
    digest = hmac.digest(key, struct.pack(">Q", step), "sha1")
    offset = digest[-1] & 15
    return f"{(int.from_bytes(digest[offset:offset + 4], 'big') & 0x7FFFFFFF) % 1_000_000:06}"


def accepts(text):
    """Returns whether a code is right. The clock may be half a minute off, and a code counts once."""
    global last_step
    now = int(time.time()) // 30
    for step in (now - 1, now, now + 1):
        if step > last_step and hmac.compare_digest(code(step).encode(), text.encode()):
            last_step = step
            return True
    return False


def has_session(flow):
    for line in flow.request.headers.get_all("cookie"):
        try:
            morsel = SimpleCookie(line).get(COOKIE)
        except CookieError:
            continue
        if morsel and sessions.get(morsel.value, 0) > time.monotonic():
            return True
    return False


async def request(flow):
    if has_session(flow):
        return
    fields = {"content-type": "text/html; charset=utf-8", "cache-control": "no-store"}
    if flow.request.path != LOGIN or flow.request.method != "POST":
        flow.reply(401, fields, PAGE % "")
        return
    now = time.monotonic()
    failures[:] = [moment for moment in failures if now - moment < 60]
    if len(failures) >= 5:
        flow.reply(429, {**fields, "retry-after": 60}, PAGE % "Too many wrong codes. Wait a minute.")
        return
    given = parse_qs((await flow.request.body.read(1000)).decode(errors="replace")).get("code", [""])[0]
    if not accepts(given):
        failures.append(now)
        flow.note("a wrong code")
        flow.reply(401, fields, PAGE % "This code is not right.")
        return
    for old in [token for token, end in sessions.items() if end < now]:
        del sessions[old]
    token = secrets.token_urlsafe(32)
    sessions[token] = now + HOURS * 3600
    cookie = f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age={HOURS * 3600}"
    flow.reply(303, {"location": "/", "set-cookie": cookie})


byway_addon.run(request=request)
