"""A WebSocket server on the stock `websockets` package (apt: python3-websockets).

    websocket_server.py [--cert FILE --key FILE]

Prints `ready PORT`, and `closed CODE REASON` for each connection that has ended. Echoes messages; `count N` is answered by
that many messages, a moment apart, and `leave` by a close with code 1001. /refused is refused with status 403.
"""
import argparse
import asyncio
import http
import ssl

import websockets


async def serve(socket, path):
    try:
        async for message in socket:
            if message == "leave":
                await socket.close(1001, "going away")
            elif isinstance(message, str) and message.startswith("count "):
                for number in range(int(message[6:])):
                    await socket.send(str(number))
                    await asyncio.sleep(0.01)
            else:
                await socket.send(message)
    except websockets.ConnectionClosed:
        pass
    print("closed", socket.close_code, socket.close_reason, flush=True)


async def refuse(path, fields):
    if path == "/refused":
        return http.HTTPStatus.FORBIDDEN, [], b"not you\n"


async def main(arguments):
    context = None
    if arguments.cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(arguments.cert, arguments.key)
        # As a server of both protocols does: a client that wants a WebSocket must not offer h2.
        context.set_alpn_protocols(["h2", "http/1.1"])
    server = await websockets.serve(
        serve, "127.0.0.1", 0, ssl=context, process_request=refuse, subprotocols=["chat"], max_size=1 << 24)
    print("ready", server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Future()


parser = argparse.ArgumentParser()
parser.add_argument("--cert")
parser.add_argument("--key")
asyncio.run(main(parser.parse_args()))
