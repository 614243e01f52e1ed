# SPDX-License-Identifier: Apache-2.0
"""JSON lines over a Unix socket: one request, one answer, in order.

Client: blocking, one connection per thread. Server: asyncio; a method may be a coroutine and take its time.
Refuses: answers that are not JSON; a method that raises becomes RpcError with the same sentence at the client.
"""
import asyncio
import inspect
import json
import socket
import threading
import time


class RpcError(RuntimeError):
    pass


class Client:
    def __init__(self, path):
        self._path = path
        self._local = threading.local()

    def _file(self):
        if not hasattr(self._local, "file"):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            s.connect(self._path)
            self._local.file = s.makefile("rw", encoding="utf-8")
            s.close()
        return self._local.file

    def call(self, op, **args):
        f = self._file()
        try:
            f.write(json.dumps({"op": op, "args": args}) + "\n")
            f.flush()
            line = f.readline()
        except OSError as e:
            raise RpcError(f"podnet's server at {self._path} is gone ({e})") from None
        if not line:
            raise RpcError(f"podnet's server at {self._path} closed the connection during {op}")
        answer = json.loads(line)
        if "error" in answer:
            raise RpcError(answer["error"])
        return answer["result"]

    def close(self):
        if hasattr(self._local, "file"):
            self._local.file.close()
            del self._local.file


def connect_when_there(path, timeout=10.0, alive=lambda: True):
    end = time.monotonic() + timeout
    while True:
        client = Client(path)
        try:
            client._file()
            return client
        except OSError:
            if time.monotonic() > end or not alive():
                raise RpcError(f"nothing answers at {path}") from None
            time.sleep(0.003)


async def serve(path, target):
    """target's methods named op_<name> are the operations."""
    async def handle(reader, writer):
        try:
            while line := await reader.readline():
                request = json.loads(line)
                try:
                    result = getattr(target, "op_" + request["op"])(**request["args"])
                    if inspect.isawaitable(result):
                        result = await result
                    answer = {"result": result}
                except Exception as e:           # the caller gets the sentence, the server lives on
                    answer = {"error": f"{type(e).__name__}: {e}"}
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
    return await asyncio.start_unix_server(handle, path, limit=1 << 26)
