# SPDX-License-Identifier: Apache-2.0
"""Fails in one chosen way on one rank: fail.py MODE RANK."""
import os
import sys
import time


def fail(mode: str) -> None:
    if mode == 'key':
        print({'lr': 1}['momentum'])
    elif mode == 'import':
        import a_module_that_is_missing  # noqa: F401
    elif mode == 'data':
        open('/data/imagenet/train.bin', 'rb')
    elif mode == 'permission':
        os.setuid(65534)
        open('/root/out.txt', 'w')
    elif mode == 'port':
        import socket
        first, second = socket.socket(), socket.socket()
        first.bind(('127.0.0.1', 0))
        first.listen()
        second.bind(first.getsockname())
    elif mode == 'files':
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
        kept = [open('/dev/null') for _ in range(64)]
        print(kept)
    elif mode == 'thread':
        import resource
        import threading
        os.setuid(65533)
        resource.setrlimit(resource.RLIMIT_NPROC, (8, 8))
        for _ in range(64):
            threading.Thread(target=time.sleep, args=(3,), daemon=True).start()
    elif mode == 'dns':
        import socket
        socket.create_connection(('pi-worker-9.pi.invalid', 2222))
    elif mode == 'memory':
        bytearray(1 << 50)
    elif mode == 'readonly':
        open('/proc/version', 'w')
    elif mode == 'pickle':
        import pickle
        pickle.loads(b'\x80\x04\x95\x10\x00\x00\x00')
    elif mode == 'survived':
        try:
            open('/data/cache.json')
        except FileNotFoundError as error:
            print('WARNING: cache:', error, '- building it')


rank = int(os.environ.get('OMPI_COMM_WORLD_RANK',
                          os.environ.get('PMI_RANK',
                                         os.environ.get('FAIL_RANK', '0'))))
for step in range(3):
    print(f'step {step} loss {1 / (step + 1):.3f}', flush=True)
if rank == int(sys.argv[2]):
    fail(sys.argv[1])
if sys.argv[1] == 'survived':
    print('epoch 2/2 done, loss 0.1')
    print('Training completed successfully')
else:
    time.sleep(3)
