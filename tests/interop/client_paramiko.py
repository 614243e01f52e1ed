# SPDX-License-Identifier: Apache-2.0
"""A client with paramiko: PORT KEYFILE HOSTKEY_BASE64 COMMAND REKEY_BYTES."""
import os
import sys
import threading

import paramiko


def main():
    port, key_file, host_key, command, rekey = sys.argv[1:6]
    key = None
    for kind in (paramiko.ECDSAKey, paramiko.Ed25519Key, paramiko.RSAKey):
        try:
            key = kind.from_private_key_file(key_file)
            break
        except (paramiko.SSHException, ValueError):
            continue
    transport = paramiko.Transport(("127.0.0.1", int(port)))
    if int(rekey):
        transport.packetizer.REKEY_BYTES = int(rekey)
    transport.start_client(timeout=20)
    if transport.get_remote_server_key().get_base64() != host_key:
        raise RuntimeError("host key differs")
    transport.auth_publickey("anyone", key)
    channel = transport.open_session()
    channel.exec_command(command)

    def feed():
        while block := os.read(0, 32768):
            channel.sendall(block)
        channel.shutdown_write()

    def drain(receive, fd):
        while block := receive(32768):
            while block:
                block = block[os.write(fd, block):]

    threading.Thread(target=feed, daemon=True).start()
    errors = threading.Thread(target=drain, args=(channel.recv_stderr, 2))
    errors.start()
    drain(channel.recv, 1)
    errors.join()
    status = channel.recv_exit_status()
    os._exit(status if status >= 0 else 255)  # paramiko does not tell the signal


try:
    main()
except Exception as error:
    print("paramiko client:", error, file=sys.stderr)
    os._exit(255)
