#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Foreign SSH clients against our server: each client, each behaviour.

    test_clients.py [--muster PATH] [--only NAME] [--long]

connect and exec, exit status, exit signal, stderr apart from stdout, stdin with
EOF, bulk data each way with a checksum (8 MB; 1 GB with --long), new keys in the
middle of it, eight at once, several channels of one connection, a host key that
is not the job's. And ssh-keyscan.
"""
import hashlib
import subprocess
import sys
import threading
import types

import bed
import clients

BLOCK = 1 << 20


def blocks(count):
    state = hashlib.sha256(b"muster").digest()
    for i in range(count):
        yield (hashlib.sha256(state + i.to_bytes(4, "big")).digest() * (BLOCK // 32))


def digest_of(count):
    whole = hashlib.sha256()
    for block in blocks(count):
        whole.update(block)
    return whole.hexdigest()


def run(argv, stdin=b"", timeout=60):
    return subprocess.run(argv, input=stdin, capture_output=True, timeout=timeout)


def upload(argv, count, timeout):
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    timer = threading.Timer(timeout, process.kill)
    timer.start()
    try:
        for block in blocks(count):
            process.stdin.write(block)
        process.stdin.close()
    except BrokenPipeError:
        pass
    out = process.stdout.read().decode()
    error = process.stderr.read().decode()
    timer.cancel()
    return process.wait(), out, error


def download(argv, timeout):
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    timer = threading.Timer(timeout, process.kill)
    timer.start()
    whole, size = hashlib.sha256(), 0
    while block := process.stdout.read(BLOCK):
        whole.update(block)
        size += len(block)
    error = process.stderr.read().decode()
    timer.cancel()
    return process.wait(), whole.hexdigest(), size, error


def behaviours(tally, client, place, megabytes):
    def check(what, good, detail=""):
        tally.check(good, f"{client.name}: {what}", detail)

    done = run(client.argv("printf 'out\\n'; printf 'err\\n' >&2; exit 7"))
    check("exec, exit status", done.returncode == 7, done)
    check("stdout and stderr apart", done.stdout == b"out\n" and b"err\n" in done.stderr, done)
    done = run(client.argv("exit 0"))
    check("exit status 0", done.returncode == 0, done)
    if client.signal_status is not None:
        done = run(client.argv("kill -TERM $$"))
        check("exit signal", done.returncode == client.signal_status, done)
    else:
        tally.skip(f"{client.name}: exit signal", "the client does not tell")
    done = run(client.argv("cat; echo end"), stdin=b"some text\n")
    check("stdin to its end", done.stdout == b"some text\nend\n", done)
    done = subprocess.run(client.argv("cat; echo end"), stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    check("/dev/null to its end", done.stdout == b"end\n", done)
    done = run(client.argv("cat >/dev/null; echo 'late words' >&2"), stdin=b"x")
    check("stderr after stdin ended", b"late words\n" in done.stderr, done)

    limit = 60 + megabytes * 2
    expected = digest_of(megabytes)
    status, out, error = upload(client.argv("sha256sum"), megabytes, limit)
    check(f"{megabytes} MB there", status == 0 and out.split()[:1] == [expected], (status, out, error))
    status, found, size, error = download(client.argv(f"cat {place}"), limit)
    check(f"{megabytes} MB back", status == 0 and found == expected, (status, size, error))
    if "rekey" in client.lacks:
        tally.skip(f"{client.name}: new keys under way", client.lacks["rekey"])
    else:
        status, found, size, error = download(client.rekeying(f"cat {place}"), limit)
        check("new keys under way", status == 0 and found == expected, (status, size, error))

    together = [subprocess.Popen(client.argv(f"sleep 0.2; echo {i}; exit {i}"), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(8)]
    results = [(p.communicate(timeout=60)[0], p.returncode) for p in together]
    check("eight at once", results == [(b"%d\n" % i, i) for i in range(8)], results)
    if "badkey" in client.lacks:
        tally.skip(f"{client.name}: bad host key", client.lacks["badkey"])
    else:
        done = run(client.argv("echo reached", wrong_host_key=True))
        check("bad host key refused", done.returncode != 0 and b"reached" not in done.stdout, done)


def multiplexer(tally, client):
    """A connection has one channel here: a client that would run several
    commands over one is told so at once, and connects again by itself."""
    control = client.bed.scratch / ("mux-" + client.name)
    options = ("-o", "ControlMaster=auto", "-o", f"ControlPath={control}", "-o", "StrictHostKeyChecking=no")
    first = subprocess.Popen(client.argv("echo first; cat", options=options), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    good = first.stdout.readline() == b"first\n"
    together = [subprocess.Popen(client.argv(f"echo {i}; exit {i}", options=options), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(4)]
    results = [(p.communicate(timeout=60), p.returncode) for p in together]
    good = good and all(out == b"%d\n" % i and code == i for i, ((out, _), code) in enumerate(results))
    refused = sum(b"refused" in errors for (_, errors), _ in results)
    tally.check(good and refused == 4, f"{client.name}: channels beside the first are refused, and it goes on alone",
                results)
    first.communicate(b"", timeout=60)


def keyscan(tally, worker):
    out = run(["ssh-keyscan", "-p", str(worker.port), "127.0.0.1"]).stdout.decode()
    wanted = (worker.keys / "id_rsa.pub").read_text().split()[1]
    lines = [line for line in out.splitlines() if not line.startswith("#")]
    tally.check(len(lines) == 1 and lines[0].split()[2] == wanted, "ssh-keyscan finds the job key", out)


def main():
    args = bed.arguments(__doc__, only={})
    tally = bed.Tally()
    megabytes = 1024 if args.long else 8
    kinds = ["ecdsa-p521", "ed25519"] if args.long else ["ecdsa-p521"]
    for kind in kinds:
        with bed.Scratch() as scratch:
            keys = bed.make_keys(args.muster, scratch / "keys", kind)
            other = bed.make_keys(args.muster, scratch / "other", kind)
            place = scratch / "data"
            with place.open("wb") as out:
                for block in blocks(megabytes):
                    out.write(block)
            with bed.Worker(args.muster, keys, "--allow-any-command") as worker:
                given = types.SimpleNamespace(muster=args.muster, keys=keys, other=other, port=worker.port,
                                              scratch=scratch)
                keyscan(tally, worker)
                for make in clients.ALL:
                    if args.only and make.name != args.only:
                        continue
                    client = make(given)
                    why = client.why_not()
                    if why:
                        tally.skip(client.name, why)
                        continue
                    behaviours(tally, client, place, megabytes)
                    if isinstance(client, clients.OpenSsh):
                        multiplexer(tally, client)
                tally.check(worker.wait_no_children(), "nothing is left in the worker", worker.children())
    tally.finish()


main()
