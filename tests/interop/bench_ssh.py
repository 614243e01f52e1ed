# SPDX-License-Identifier: Apache-2.0
"""One run of our server against OpenSSH's sshd and dropbear, with the same key
and clients on this machine.

    bench_ssh.py [--muster PATH] [--count N]

Per server: connect + exec `true` + exit, one after another: wall time, CPU of
the client and of the server (children included); memory (PSS) per connection
that idles in a command; bulk in both directions through OpenSSH's client.
OpenSSH's client drives all servers; ours drives ours too.
"""
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import time

import bed

TICK = os.sysconf("SC_CLK_TCK")


def cpu_of(pid):
    """CPU seconds of a process and of its ended, waited-for children."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / TICK


def descendants(pid):
    out = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parent = int(pathlib.Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            if parent == pid:
                out += [int(entry), *descendants(int(entry))]
    return out


def pss(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class Foreign:
    def __init__(self, argv, port, log):
        self.port = port
        self.process = subprocess.Popen(argv, stderr=log, stdout=log, preexec_fn=bed.die_with_parent)
        time.sleep(0.5)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        for pid in descendants(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.kill()
        self.process.wait()


def openssh_client(key, port, user, command, options=()):
    return ["ssh", "-F", "/dev/null", "-i", str(key), "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no", "-o",
            "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", *options, "-p", str(port), f"{user}@127.0.0.1", command]


def latency(name, pid, argv, env, count):
    subprocess.run(argv, env=env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    server = cpu_of(pid)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    client = usage.ru_utime + usage.ru_stime
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        subprocess.run(argv, env=env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - begin)
    time.sleep(0.3)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    client = (usage.ru_utime + usage.ru_stime - client) / count
    server = (cpu_of(pid) - server) / count
    print(f"{name:34} {statistics.median(times) * 1000:7.1f} ms median  {max(times) * 1000:7.1f} ms worst   "
          f"CPU {client * 1000:5.1f} ms client + {server * 1000:5.1f} ms server = {(client + server) * 1000:5.1f} ms", flush=True)


def idle_memory(name, pid, argv, env, many=16):
    before = sum(pss(p) for p in [pid, *descendants(pid)])
    held = [subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for _ in range(many)]
    time.sleep(2)
    family = descendants(pid)
    commands = [p for p in family if command_of(p) == "cat"]
    total = sum(pss(p) for p in [pid, *family]) - sum(pss(p) for p in commands)
    for p in held:
        p.kill()
        p.wait()
    print(f"{name:34} {(total - before) / many:7.0f} KiB PSS per idle connection; {before} KiB with none", flush=True)


def bulk(name, argv_up, argv_down, env, megabytes=512):
    begin = time.perf_counter()
    with open("/dev/zero", "rb") as zero:
        feed = subprocess.Popen(["head", "-c", f"{megabytes}M"], stdin=zero, stdout=subprocess.PIPE)
        subprocess.run(argv_up, env=env, stdin=feed.stdout, check=True)
        feed.wait()
    up = megabytes / (time.perf_counter() - begin)
    begin = time.perf_counter()
    subprocess.run(argv_down, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    print(f"{name:34} {up:7.0f} MB/s there  {megabytes / (time.perf_counter() - begin):7.0f} MB/s back", flush=True)


def measure(name, server, make, env, count):
    pid = server.process.pid
    latency(name, pid, make("true"), env, count)
    idle_memory(name, pid, make("exec cat"), env)
    bulk(name, make("cat >/dev/null"), make("head -c 512M /dev/zero"), env)


def main():
    args = bed.arguments(__doc__, count={"type": int, "default": 50})
    env = dict(os.environ)
    env.pop("MUSTER_LAUNCHER_SOCKET", None)
    for kind in ("ecdsa-p521", "ed25519"):
        with bed.Scratch() as scratch:
            keys = bed.make_keys(args.muster, scratch / "keys", kind)
            key = scratch / "key"
            shutil.copy(keys / "id_rsa", key)
            key.chmod(0o600)
            subprocess.run(["ssh-keygen", "-q", "-p", "-N", "", "-f", str(key)], check=True, stdout=subprocess.DEVNULL)
            scratch.chmod(0o700)
            env["MUSTER_KEY_DIR"] = str(keys)
            curve = ("-o", "KexAlgorithms=curve25519-sha256")
            with bed.Worker(args.muster, keys, "--allow-any-command") as worker:
                measure(f"{kind} muster, OpenSSH client", worker,
                        lambda c: openssh_client(key, worker.port, "x", c), env, args.count)
                measure(f"{kind} muster, muster ssh", worker,
                        lambda c: [args.muster, "ssh", "-p", str(worker.port), "127.0.0.1", c], env, args.count)
                latency(f"{kind} muster, ready probe", worker.process.pid,
                        [args.muster, "worker", "probe", "ready", "--port", str(worker.port), "--key-dir", str(keys)],
                        env, args.count)
            log = (scratch / "log").open("w")
            if os.access("/usr/sbin/sshd", os.X_OK) and os.geteuid() == 0:
                os.makedirs("/run/sshd", exist_ok=True)
                port = bed.free_port()
                with Foreign(["/usr/sbin/sshd", "-D", "-f", "/dev/null", "-p", str(port), "-o",
                              "ListenAddress=127.0.0.1", "-h", str(key), "-o",
                              f"AuthorizedKeysFile={keys}/authorized_keys", "-o", "StrictModes=no", "-o", "PidFile=none",
                              "-o", "UsePAM=no", "-o", "PermitRootLogin=yes", "-o", "MaxStartups=200"], port, log) as server:
                    measure(f"{kind} OpenSSH sshd", server, lambda c: openssh_client(key, port, "root", c), env,
                            args.count)
                    latency(f"{kind} OpenSSH sshd, curve25519", server.process.pid,
                            openssh_client(key, port, "root", "true", curve), env, args.count)
            if shutil.which("dropbear") and os.geteuid() == 0:
                host = scratch / "dropbear"
                subprocess.run(["dropbearconvert", "openssh", "dropbear", str(key), str(host)], check=True,
                               capture_output=True)
                home = pathlib.Path.home() / ".ssh/authorized_keys"
                if not home.exists():
                    home.parent.mkdir(mode=0o700, exist_ok=True)
                    home.write_text((keys / "authorized_keys").read_text())
                    home.chmod(0o600)
                    port = bed.free_port()
                    try:
                        with Foreign(["dropbear", "-F", "-E", "-r", str(host), "-p", f"127.0.0.1:{port}"], port,
                                     log) as server:
                            measure(f"{kind} dropbear", server, lambda c: openssh_client(key, port, "root", c), env,
                                    args.count)
                    finally:
                        home.unlink()


main()
