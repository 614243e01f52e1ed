# SPDX-License-Identifier: Apache-2.0
"""Stands where a worker should be and misbehaves: odd_servers.py KIND PORT.

silent: accepts and says nothing (a mesh sidecar that swallows the banner).
closes: accepts and closes at once. http: answers like a web server.
version: an ssh banner, then nothing more."""
import socket
import sys
import threading
import time


def serve(connection, kind):
    with connection:
        if kind == "http":
            connection.recv(200)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return
        if kind == "version":
            connection.sendall(b"SSH-2.0-Something_1.0\r\n")
        if kind != "closes":
            time.sleep(600)


def main(kind, port):
    server = socket.create_server(("", int(port)))
    while True:
        connection, _ = server.accept()
        threading.Thread(target=serve, args=(connection, kind),
                         daemon=True).start()


main(*sys.argv[1:])
