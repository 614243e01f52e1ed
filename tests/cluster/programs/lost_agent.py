# SPDX-License-Identifier: Apache-2.0
"""An agent, given with its arguments, that is lost while it is asked: frames
pass until its answer about facts is due (type 5, wire/frame.h), which is kept,
and a moment later it is killed."""
import struct
import subprocess
import sys
import time

HEADER = 12
FACTS = 5

agent = subprocess.Popen(sys.argv[1:], stdin=sys.stdin, stdout=subprocess.PIPE)
while header := agent.stdout.read(HEADER):
    if header[4] == FACTS:
        time.sleep(0.5)
        break
    size = struct.unpack(">I", header[:4])[0]
    sys.stdout.buffer.write(header + agent.stdout.read(size))
    sys.stdout.buffer.flush()
agent.kill()
