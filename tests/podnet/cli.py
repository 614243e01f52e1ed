# SPDX-License-Identifier: Apache-2.0
"""The podnet command: the library's verbs for a person at a shell.

  podnet up [--manifest FILE] [--workers N] [--prefix DIR] [--root DIR] [--uid N] [--profile P] [--ipv 4|6|dual|dual-dead6]
            [--start worker-2=3 …] [--name NAME] [-- LAUNCHER COMMAND…]
  podnet status | queries | down [--all]
  podnet exec POD -- COMMAND…      logs POD [--stderr|--stdout]      wait POD      pids POD
  podnet kill|freeze|thaw|cut|join|lose|restart|start|terminate POD
  podnet drop SRC DST [--port N] [--direction in|out|both]           allow
  podnet dns set|move|late|vanish|nxdomain|servfail|silent|delay|clear NAME [VALUE…]

The cluster lives in the background until `down`. --name picks one of several clusters (default "podnet").
"""
import argparse
import os
import sys

from . import cleanup
from .cluster import Cluster, PodnetError
from .manifest import ManifestError

_VERBS = ("kill", "freeze", "thaw", "cut", "join", "lose", "restart", "start", "terminate")


def _parser():
    p = argparse.ArgumentParser(prog="podnet", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--name", default="podnet")
    sub = p.add_subparsers(dest="verb", required=True)
    up = sub.add_parser("up")
    up.add_argument("--manifest")
    up.add_argument("--workers", type=int)
    up.add_argument("--prefix")
    up.add_argument("--root")
    up.add_argument("--uid", type=int)
    up.add_argument("--profile", default="restricted")
    up.add_argument("--layer", default="mpioperator")
    up.add_argument("--ipv", default="4")
    up.add_argument("--namespace", default="default")
    up.add_argument("--restarts", action="store_true")
    up.add_argument("--start", action="append", default=[], metavar="POD=SECONDS|never")
    up.add_argument("--start-spread", type=float, default=0)
    up.add_argument("--seed", type=int, default=1)
    sub.add_parser("status")
    sub.add_parser("queries")
    sub.add_parser("allow")
    down = sub.add_parser("down")
    down.add_argument("--all", action="store_true")
    for verb in ("exec", "logs", "wait", "pids", *_VERBS):
        v = sub.add_parser(verb)
        v.add_argument("pod")
        if verb == "logs":
            v.add_argument("--stdout", action="store_true")
            v.add_argument("--stderr", action="store_true")
        if verb == "wait":
            v.add_argument("--timeout", type=float)
        if verb == "exec":
            v.add_argument("--root", action="store_true", help="as root with the usual capabilities")
    drop = sub.add_parser("drop")
    drop.add_argument("src")
    drop.add_argument("dst")
    drop.add_argument("--port", type=int)
    drop.add_argument("--direction", default="both")
    dns = sub.add_parser("dns")
    dns.add_argument("what")
    dns.add_argument("host")
    dns.add_argument("value", nargs="*")
    return p


def _up(a, command):
    start = {}
    for item in a.start:
        pod, _, when = item.partition("=")
        start[pod] = when if when == "never" else float(when)
    c = Cluster(a.name, a.ipv, a.namespace, detached=True)
    c.up()
    try:
        if a.manifest:
            job = c.apply(a.manifest, workers=a.workers, prefix=a.prefix, root=a.root, uid=a.uid, profile=a.profile,
                          layer=a.layer, start=start, start_spread=a.start_spread, seed=a.seed, restarts=a.restarts,
                          launcher_command=command or None)
            for n in job.notes:
                print("note:", n)
    except BaseException:
        c.down()
        raise
    _status(c)


def _status(c):
    print(f"{'POD':40} {'PHASE':10} {'READY':6} {'RESTARTS':9} {'ADDRESS':34} LAST EXIT")
    for s in c.status():
        h = s["history"][-1] if s["history"] else None
        last = "" if not h else f"{h['reason']} " + (f"code {h['code']}" if h["code"] is not None else f"signal {h['signal']}")
        print(f"{s['name']:40} {s['phase']:10} {str(s['ready']):6} {s['restarts']:<9} {','.join(s['addresses']):34} {last}")
        for r in s["refused"]:
            print(f"  note: {r}")
        if h and h["reason"] == "StartError":
            print(f"  {h['message']}")


def _dns(c, a):
    if a.what in ("set", "move"):
        c.dns.set(a.host, a.value)
    elif a.what in ("late", "delay"):
        getattr(c.dns, a.what)(a.host, float(a.value[0]))
    elif a.what in ("vanish", "nxdomain", "servfail", "silent", "clear"):
        getattr(c.dns, a.what)(a.host)
    else:
        raise PodnetError(f"dns {a.what}?")


def main(argv=None):
    argv = list(sys.argv[1:] if argv is None else argv)
    command = []
    if "--" in argv:
        at = argv.index("--")
        argv, command = argv[:at], argv[at + 1:]
    a = _parser().parse_args(argv)
    try:
        return _dispatch(a, command) or 0
    except (PodnetError, ManifestError, OSError, TimeoutError, ValueError) as e:
        print(f"podnet: {e}", file=sys.stderr)
        return 1


def _dispatch(a, command):
    if a.verb == "up":
        return _up(a, command)
    if a.verb == "down" and a.all:
        for i in cleanup.down_all():
            print(f"removed {i}")
        for t in cleanup.traces():
            print(f"left: {t}")
        return 0
    c = Cluster.attach(a.name)
    if a.verb == "down":
        c.down()
    elif a.verb == "status":
        _status(c)
    elif a.verb == "queries":
        for q in c.dns.queries():
            print(f"{q.time:.3f} {q.pod or q.client:30} {q.type:5} {q.name} rcode={q.rcode} answers={q.answers} {q.proto}")
    elif a.verb == "allow":
        c.allow()
    elif a.verb == "drop":
        end = lambda n: None if n == "any" else n if n == "dns" else c.find(n)
        c.drop(end(a.src), end(a.dst), a.port, a.direction)
    elif a.verb == "dns":
        _dns(c, a)
    elif a.verb == "exec":
        p = c.find(a.pod).popen(command or ["/bin/sh"], user="root" if a.root else None,
                                env={"TERM": os.environ.get("TERM", "dumb")})
        return p.wait() if p.returncode is None or p.returncode >= 0 else 128 - p.returncode
    elif a.verb == "logs":
        pod = c.find(a.pod)
        sys.stdout.write(pod.stdout() if a.stdout else pod.stderr() if a.stderr else pod.combined())
    elif a.verb == "wait":
        e = c.find(a.pod).wait(a.timeout)
        print(e)
        return e.shell
    elif a.verb == "pids":
        for pid, line in c.find(a.pod).processes().items():
            print(pid, line)
    else:
        getattr(c.find(a.pod), a.verb)()
    return 0
