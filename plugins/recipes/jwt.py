#!/usr/bin/env python3
"""Lets requests with a JSON Web Token pass (HS256), and tells the server its subject: exec:./jwt.py KEY-FILE"""
import base64
import hmac
import json
import sys
import time
import byway_addon

key = open(sys.argv[1], "rb").read().strip()


def claims(token):
    """Returns what the token states. Raises a ValueError if it is not valid."""
    head, payload, signature = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split("."))
    signed = hmac.digest(key, token.rpartition(".")[0].encode(), "sha256")
    stated = json.loads(payload)
    if json.loads(head)["alg"] != "HS256" or not hmac.compare_digest(signed, signature) or stated["exp"] < time.time():
        raise ValueError
    return stated


async def request(flow):
    try:
        flow.request.headers["x-user"] = claims(flow.request.headers.get("authorization", "").partition("Bearer ")[2])["sub"]
    except (ValueError, KeyError, TypeError):
        flow.reply(401, {"www-authenticate": "Bearer"}, "A valid token is needed.\n")


byway_addon.run(request=request)
