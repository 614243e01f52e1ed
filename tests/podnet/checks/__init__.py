# SPDX-License-Identifier: Apache-2.0
"""The self-tests of podnet, by theme, and the few helpers they share."""
import os
import time

MODULES = ["network", "names", "faults", "identity", "lifecycle", "layouts", "incumbents", "scale"]
EXAMPLES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..", "examples")

# A TCP server for a pod: answers each connection with its host name, for ever.
SERVER = ["/usr/bin/python3", "-c", """
import socket
s = socket.create_server(("::", 2222), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    c, _ = s.accept()
    c.sendall(socket.gethostname().encode())
    c.close()
"""]
# A client: host, port, timeout; prints the answer or the class of the error.
CLIENT = """
import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), float(sys.argv[3])) as s:
        print(s.makefile().read())
except Exception as e:
    print(type(e).__name__)
"""


PATIENCE = 60     # seconds, for what never comes; nothing is measured with it


class Skip(Exception):
    pass


def ask(pod, host, port=2222, timeout=PATIENCE):
    """A short timeout is for answers that must not come."""
    return pod.exec(["/usr/bin/python3", "-c", CLIENT, host, str(port), str(timeout)]).stdout.strip()


def until(condition):
    """Waits for it; what it gave last."""
    end = time.monotonic() + PATIENCE
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return met


def ask_until(wanted, pod, host, timeout=1):
    got = [None]

    def asked():
        got[0] = ask(pod, host, timeout=timeout)
        return got[0] == wanted
    until(asked)
    return got[0]


def same(got, wanted, what=""):
    if got != wanted:
        raise AssertionError(f"{what}\n   got: {got!r}\nwanted: {wanted!r}")


def true(condition, what):
    if not condition:
        raise AssertionError(what)


def servers(cluster, names, subdomain="svc", **options):
    return [cluster.pod(n, SERVER, subdomain=subdomain, **options) for n in names]


def example(name):
    return os.path.join(EXAMPLES, name)


def idle_job(cluster, name, **options):
    """An example's job whose pods only sleep: the layout without the programs."""
    nap = ["/bin/sleep", "infinity"]
    return cluster.apply(example(name), launcher_command=nap, worker_command=nap,
                         edit=lambda specs: [s.update(readiness=None) for s in specs], **options)
