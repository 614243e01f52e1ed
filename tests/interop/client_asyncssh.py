# SPDX-License-Identifier: Apache-2.0
"""A client with asyncssh: PORT KEYFILE HOSTKEY_BASE64 COMMAND REKEY_BYTES."""
import asyncio
import os
import sys

import asyncssh


async def main():
    port, key_file, host_key, command, rekey = sys.argv[1:6]
    host = asyncssh.import_public_key({"AAAAE": "ecdsa-sha2-nistp256", "AAAAC": "ssh-ed25519",
                                       "AAAAB": "ssh-rsa"}[host_key[:5]] + " " + host_key) \
        if not host_key.startswith("AAAAE2VjZHNhLXNoYTItbmlzdHA1") else \
        asyncssh.import_public_key("ecdsa-sha2-nistp521 " + host_key)
    # Debian 12's 2.10 sends on while new keys are agreed on, which RFC 4253 7.1
    # forbids and libssh drops: no new keys but where they are asked for, of
    # neither side (with ChaCha20, its first choice, libssh wants them at 1 GiB).
    options = {"rekey_bytes": int(rekey) or 1 << 50, "encryption_algs": ["aes256-gcm@openssh.com"]}
    async with asyncssh.connect("127.0.0.1", int(port), username="anyone", client_keys=[key_file],
                                known_hosts=([host], [], []), config=None, agent_path=None, **options) as connection:
        # Its own redirection of a pipe as stdin hangs, with any server.
        process = await connection.create_process(command, encoding=None)
        loop = asyncio.get_running_loop()

        async def feed():
            while block := await loop.run_in_executor(None, os.read, 0, 65536):
                process.stdin.write(block)
                await process.stdin.drain()
            process.stdin.write_eof()

        async def drain(reader, fd):
            while block := await reader.read(65536):
                while block:
                    block = block[os.write(fd, block):]

        feeding = asyncio.create_task(feed())
        await asyncio.gather(drain(process.stdout, 1), drain(process.stderr, 2))
        await process.wait_closed()
        feeding.cancel()
        if process.exit_signal:
            return 143 if process.exit_signal[0] == "TERM" else 254
        return process.exit_status


try:
    code = asyncio.new_event_loop().run_until_complete(main())
except Exception as error:
    print("asyncssh client:", type(error).__name__, error, file=sys.stderr)
    code = 255
os._exit(code if code is not None else 255)
