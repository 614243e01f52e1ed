# SPDX-License-Identifier: Apache-2.0
"""What two runs of one line differ in, as [(field, rank, plain, muster)].

Fields: code, ranks, argv, cwd, host, umask, limit:NAME, signals:WHICH, fd:N,
terminal, group, cpus, ids, env:NAME:KIND, out, err, made, left. Pure.
"""
import re

# Rows of /proc/PID/status, and the fields that they are.
STATUS = {"Umask": "umask", "SigBlk": "signals:blocked",
          "SigIgn": "signals:ignored", "SigCgt": "signals:caught",
          "Cpus_allowed": "cpus", "Uid": "ids", "Gid": "ids", "Groups": "ids"}


# muster is installed on one side only: an image's PATH begins with its names.
INSTALLED = b"/opt/muster/dropin/bin:"


def environment(record):
    pairs = [e.replace(INSTALLED, b"").partition(b"=")
             for e in record["environ"].split(b"\0") if e]
    return {name.decode(errors="replace"): value for name, _, value in pairs}


def rank_of(record):
    env = environment(record)
    for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"):
        if name in env:
            return int(env[name])
    return -1


def described(target):
    """What a descriptor leads to, without numbers of one run."""
    text = target.decode(errors="replace")
    text = re.sub(r":\[\d+\]|(?<=file_)\w{6}$", "", text)
    return re.sub(r"^(/dev/pts/)\d+", r"\1N", re.sub(
        r"/(conformance|ompi|prte|muster)[^ ]*", "/…", text))


def fields(record):
    """Everything of a record but its environment."""
    found = {"argv": record["cmdline"], "cwd": record.get("cwd"),
             "host": record["host"]}
    for row in record["status"].decode(errors="replace").split("\n"):
        name, _, value = row.partition(":")
        if name in STATUS:
            key = STATUS[name]
            found[key] = f"{found.get(key, '')} {value.strip()}".strip()
    for row in record["limits"].decode().split("\n")[1:]:
        parts = re.split(r"  +", row.strip())
        if len(parts) >= 3:
            found["limit:" + parts[0]] = " ".join(parts[1:3])
    stat = record["stat"].decode(errors="replace").rsplit(")", 1)[1].split()
    pid = record["stat"].split()[0].decode()
    found["terminal"] = "one" if stat[4] != "0" else "none"
    found["group"] = (f"{'its own' if stat[2] == pid else 'another'} group, "
                      f"{'its own' if stat[3] == pid else 'another'} session")
    found.update((name, described(value)) for name, value in record.items()
                 if name.startswith("fd:"))
    return found


def by_rank(records):
    ranks = {}
    for record in sorted(records, key=lambda r: r["cmdline"]):
        ranks.setdefault(rank_of(record), []).append(record)
    return ranks


def env_kind(name, plain, muster, pod):
    value = pod.get(name)
    value = value and value.encode().replace(INSTALLED, b"")
    if name in muster and value is not None and muster[name] == value:
        return "the pod's"
    if name in plain and name in muster:
        return "other value"
    return "only plain" if name in plain else "only muster"


def env_differences(rank, plain, muster, pod):
    return [(f"env:{name}:{env_kind(name, plain, muster, pod)}", rank,
             plain.get(name), muster.get(name))
            for name in sorted(plain.keys() | muster.keys())
            if plain.get(name) != muster.get(name)]


# Hydra's own words on stdout; all that Open MPI has to say is on stderr.
BANNER = re.compile(rb"\n=+\n=   BAD TERMINATION .*?(suggestions\n|\Z)", re.S)


def spoken(text):
    """{rank: bytes in their order} of lines that say `rN`; "": all others."""
    found = {}
    text = BANNER.sub(b"", text)
    for row in text.splitlines(keepends=True):
        match = re.search(rb"\br(\d+)\b", row)
        key = match[1].decode() if match else ""
        found[key] = found.get(key, b"") + row
    return found


def output_differences(name, plain, muster, ranks_only):
    one, two = spoken(plain), spoken(muster)
    return [(name, key, one.get(key), two.get(key))
            for key in sorted(one.keys() | two.keys())
            if one.get(key) != two.get(key) and (key or not ranks_only)]


def differences(plain, muster, pods):
    """`pods`: {host: its container's environment}."""
    found = []
    if plain.code != muster.code:
        found.append(("code", "", plain.code, muster.code))
    one, two = by_rank(plain.records), by_rank(muster.records)
    counts = [{r: len(x) for r, x in side.items()} for side in (one, two)]
    if counts[0] != counts[1]:
        found.append(("ranks", "", *counts))
    for rank in sorted(one.keys() & two.keys()):
        for a, b in zip(one[rank], two[rank]):
            left, right = fields(a), fields(b)
            found += [(key, rank, left.get(key), right.get(key))
                      for key in sorted(left.keys() | right.keys())
                      if left.get(key) != right.get(key)]
            pod = pods.get(b["host"].decode(), {})
            found += env_differences(rank, environment(a), environment(b), pod)
    found += output_differences("out", plain.out, muster.out, False)
    # The launchers' own words are on stderr, and each has its own.
    found += output_differences("err", plain.err, muster.err, True)
    if plain.made != muster.made:
        found.append(("made", "", plain.made, muster.made))
    if more := sorted(set(muster.left) - set(plain.left)):
        found.append(("left", "", plain.left, more))
    return found
