#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Our server and client against OpenSSH's sshd and dropbear: one run, the same
job key, the same commands, one machine.

    bench_ssh.py [--muster PATH] [--logins PATH] [--count N] [--megabytes N]
                 [--keys KIND,...] [--json FILE]

Every row has a server process of its own. Connect, authenticate, run `true`,
end: the rows take turns, N rounds, so that what else the machine does hits all
alike ("cold": each finds the caches full of the others), and then each row N
times in a row, three times round ("warm"); wall time, and CPU of the client and
of the server with its children (in a job, where `muster ssh` goes through the
launcher, that of worker and launcher).
Memory (PSS) a connection that idles in a command adds, 16 of them, the command
itself left out; in a job there is no connection to add. Bulk both ways, the best
of three. --logins: bench/ssh_logins, logins as the launcher makes them, all from
one process. Needs root.
"""
import datetime
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import time

import bed

TICK = os.sysconf("SC_CLK_TCK")
IDLE = 16
WARM_ROUNDS = 3
CURVE = ("-o", "KexAlgorithms=curve25519-sha256")


def cpu_of(pid):
    """CPU seconds of a process and of its ended, waited-for children."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / TICK


def read_or(path, default=""):
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return default


def descendants(pid):
    out = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            stat = read_or(f"/proc/{entry}/stat")
            if stat and int(stat.rsplit(")", 1)[1].split()[1]) == pid:
                out += [int(entry), *descendants(int(entry))]
    return out


def pss(pid):
    lines = read_or(f"/proc/{pid}/smaps_rollup").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


class Foreign:
    """A server of others, in the foreground."""

    def __init__(self, argv, port, log):
        self.port = port
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=log, stdout=log,
                                        preexec_fn=bed.die_with_parent)
        time.sleep(0.5)

    def __exit__(self, *ignored):
        for pid in descendants(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.kill()
        self.process.wait()


class Job:
    """A launch that waits, with one worker, so that `muster ssh` can go through it."""

    def __init__(self, muster, worker, env, log):
        self.worker = worker
        self.process = subprocess.Popen(
            [muster, "launch", "--hosts", "127.0.0.1:1", "--ssh-port", str(worker.port), "--no-prove",
             "--log-format", "plain", "--once", "--", "sh", "-c", "echo $MUSTER_LAUNCHER_SOCKET; exec sleep 3600"],
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
            preexec_fn=bed.die_with_parent)
        line = self.process.stdout.readline()
        if "/launcher.sock" not in line:
            raise RuntimeError(f"the launch did not start: {line!r}")
        self.socket = line.split()[-1]

    def __exit__(self, *ignored):
        self.process.terminate()
        self.process.wait()


class Row:
    """One server with one client: figures by name."""

    def __init__(self, name, servers, argv, env):
        self.name, self.argv, self.env = name, argv, env
        self.pids = [server.process.pid for server in servers]
        self.times, self.client = [], []
        self.warm_client, self.warm_server = [], 0.0
        self.figures = {}

    def once(self):
        begin = time.perf_counter()
        process = subprocess.Popen(self.argv("true"), env=self.env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        self.times.append(time.perf_counter() - begin)
        self.client.append(usage.ru_utime + usage.ru_stime)
        process.returncode = status
        if status:
            raise RuntimeError(f"{self.name}: exit status {status}")

    def many(self, count):
        """One after another, nobody between them."""
        self.once()
        time.sleep(0.3)
        before, first = self.cpu(), len(self.client)
        for _ in range(count):
            self.once()
        time.sleep(0.3)
        self.warm_server += self.cpu() - before
        self.warm_client += self.client[first:]

    def family(self):
        return [*self.pids, *(child for pid in self.pids for child in descendants(pid))]

    def cpu(self):
        """With what they started, whether it has ended or not."""
        return sum(map(cpu_of, self.family()))

    def idle_memory(self):
        self.figures["idle_kib"] = None
        if len(self.pids) > 1:  # a job's: the launcher's connection carries them all
            return
        time.sleep(0.3)
        before = sum(map(pss, self.family()))
        held, family, cats = [], [], []
        for _ in range(IDLE):   # one by one: dropbear has five logins at a time
            held.append(subprocess.Popen(self.argv("exec cat"), env=self.env, stdin=subprocess.PIPE,
                                         stdout=subprocess.DEVNULL))
            end = time.monotonic() + 10
            while len(cats) < len(held) and time.monotonic() < end:
                time.sleep(0.05)
                family = self.family()
                cats = [p for p in family if read_or(f"/proc/{p}/comm").strip() == "cat"]
        time.sleep(0.3)
        total = sum(map(pss, family)) - sum(map(pss, cats))
        for process in held:
            process.kill()
            process.wait()
        self.figures["idle_kib"] = round((total - before) / max(1, len(cats)))

    def bulk(self, megabytes):
        there, back = [], []
        for _ in range(3):
            begin = time.perf_counter()
            with open("/dev/zero", "rb") as zero, subprocess.Popen(
                    ["head", "-c", f"{megabytes}M"], stdin=zero, stdout=subprocess.PIPE) as feed:
                subprocess.run(self.argv("cat >/dev/null"), env=self.env, stdin=feed.stdout, check=True)
            there.append(megabytes / (time.perf_counter() - begin))
            begin = time.perf_counter()
            subprocess.run(self.argv(f"head -c {megabytes}M /dev/zero"), env=self.env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, check=True)
            back.append(megabytes / (time.perf_counter() - begin))
        self.figures.update(there_mb_s=round(max(there)), back_mb_s=round(max(back)))


class Servers:
    def __init__(self, muster, scratch, kind):
        self.muster, self.scratch, self.kind = muster, scratch, kind
        self.keys = bed.make_keys(muster, scratch / "keys", kind)
        self.key = scratch / "key"
        shutil.copy(self.keys / "id_rsa", self.key)
        self.key.chmod(0o600)
        subprocess.run(["ssh-keygen", "-q", "-p", "-N", "", "-f", str(self.key)], check=True,
                       stdout=subprocess.DEVNULL)
        self.log = (scratch / "log").open("w")
        self.env = dict(os.environ, MUSTER_KEY_DIR=str(self.keys))
        self.env.pop("MUSTER_LAUNCHER_SOCKET", None)
        self.running = []

    def openssh(self, server, user, options=()):
        head = ["ssh", "-F", "/dev/null", "-i", str(self.key), "-o", "IdentitiesOnly=yes", "-o",
                "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", *options,
                "-p", str(server.port), f"{user}@127.0.0.1"]
        return lambda command: [*head, command]

    def ours(self, server, program=None):
        head = program or [self.muster, "ssh"]
        return lambda command: [*head, "-p", str(server.port), "127.0.0.1", command]

    def worker(self):
        self.running.append(bed.Worker(self.muster, self.keys, "--allow-any-command"))
        return self.running[-1]

    def foreign(self, argv, port):
        """With a home of its own: dropbear reads ~/.ssh/authorized_keys only,
        and Debian's bash reads ~/.bashrc for each command over ssh."""
        home = self.scratch / "home"
        if not home.exists():
            (home / ".ssh").mkdir(mode=0o700, parents=True)
            shutil.copy(self.keys / "authorized_keys", home / ".ssh")
            (home / ".ssh/authorized_keys").chmod(0o600)
            home.chmod(0o700)
        self.running.append(Foreign(
            ["unshare", "-m", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', str(home),
             str(pathlib.Path.home()), *argv], port, self.log))
        return self.running[-1]

    def sshd(self):
        os.makedirs("/run/sshd", exist_ok=True)
        port = bed.free_port()
        return self.foreign(
            ["/usr/sbin/sshd", "-D", "-f", "/dev/null", "-p", str(port), "-o", "ListenAddress=127.0.0.1", "-h",
             str(self.key), "-o", f"AuthorizedKeysFile={self.keys}/authorized_keys", "-o", "StrictModes=no", "-o",
             "PidFile=none", "-o", "UsePAM=no", "-o", "PermitRootLogin=yes", "-o", "MaxStartups=200"], port)

    def dropbear(self):
        host = self.scratch / "dropbear"
        subprocess.run(["dropbearconvert", "openssh", "dropbear", str(self.key), str(host)], check=True,
                       capture_output=True)
        port = bed.free_port()
        return self.foreign(["dropbear", "-F", "-E", "-r", str(host), "-p", f"127.0.0.1:{port}"], port)

    def rows(self):
        out = []

        def row(name, server, argv):
            out.append(Row(name, [server], argv, self.env))

        worker = self.worker()
        row("muster, muster ssh", worker, self.ours(worker))
        by_name = pathlib.Path(self.muster).resolve().parents[1] / "dropin/bin/ssh"
        for name, program in (("muster ssh, in a job", [self.muster, "ssh"]), ("ssh, in a job", [str(by_name)])):
            if not os.path.exists(program[0]):
                continue
            worker = self.worker()
            job = Job(self.muster, worker, self.env, self.log)
            self.running.append(job)
            out.append(Row(name, [worker, job], self.ours(worker, program),
                           dict(self.env, MUSTER_LAUNCHER_SOCKET=job.socket)))
        worker = self.worker()
        row("muster, OpenSSH's client", worker, self.openssh(worker, "x"))
        server = self.sshd()
        row("OpenSSH sshd", server, self.openssh(server, "root"))
        server = self.sshd()
        row("OpenSSH sshd, curve25519", server, self.openssh(server, "root", CURVE))
        if shutil.which("dropbear"):
            server = self.dropbear()
            row("dropbear, OpenSSH's client", server, self.openssh(server, "root", CURVE))
        return out

    def end(self):
        for server in reversed(self.running):
            server.__exit__()


def measure(rows, count, megabytes):
    for row in rows:
        row.once()
        row.times, row.client = [], []
    before = [row.cpu() for row in rows]
    for _ in range(count):
        for row in rows:
            row.once()
    time.sleep(0.5)
    in_turns = [(list(row.times), list(row.client), row.cpu() - start) for row, start in zip(rows, before)]
    for _ in range(WARM_ROUNDS):
        for row in rows:
            row.many(count)
    for row, (times, client, server) in zip(rows, in_turns):
        row.figures.update(
            best_ms=round(min(times) * 1000, 1), median_ms=round(statistics.median(times) * 1000, 1),
            worst_ms=round(max(times) * 1000, 1), client_cpu_ms=round(statistics.median(client) * 1000, 1),
            client_cpu_best_ms=round(min(client) * 1000, 1), server_cpu_ms=round(server / count * 1000, 1),
            warm_client_cpu_ms=round(statistics.median(row.warm_client) * 1000, 1),
            warm_server_cpu_ms=round(row.warm_server / count / WARM_ROUNDS * 1000, 1))
        row.idle_memory()
        row.bulk(megabytes)


def launcher_logins(program, servers, count):
    """Averages, not medians: one process makes them all."""
    worker = servers.worker()
    argv = [program, str(worker.port), str(servers.keys)]
    subprocess.run([*argv, "8", "1"], check=True, stdout=subprocess.DEVNULL, timeout=60)
    worker.wait_no_children()
    before = cpu_of(worker.process.pid)
    done = subprocess.run([*argv, str(4 * count), "1"], check=True, capture_output=True, text=True, timeout=300)
    worker.wait_no_children()
    server = (cpu_of(worker.process.pid) - before) / (4 * count) * 1000
    figures = {**json.loads(done.stdout), "server_cpu_ms": round(server, 2)}
    print(f"muster, one process, {figures['logins']} logins: {figures['wall_ms']} ms each, CPU "
          f"{figures['client_cpu_ms']} client + {figures['server_cpu_ms']} server", flush=True)
    return figures


def show(kind, rows):
    print(f"\n{kind:26} exec ms: best median  worst   CPU ms: client + server   warm: client + server   idle KiB   "
          "MB/s: there  back")
    for row in rows:
        f = row.figures
        print(f"{row.name:26} {f['best_ms']:13} {f['median_ms']:6} {f['worst_ms']:6} {f['client_cpu_ms']:16} + "
              f"{f['server_cpu_ms']:<8} {f['warm_client_cpu_ms']:12} + {f['warm_server_cpu_ms']:<8} "
              f"{'' if f['idle_kib'] is None else f['idle_kib']:8} {f['there_mb_s']:13} {f['back_mb_s']:5}", flush=True)


def main():
    args = bed.arguments(__doc__, count={"type": int, "default": 50}, megabytes={"type": int, "default": 512},
                         keys={"default": "ecdsa-p521,ed25519"}, json={}, logins={})
    if os.geteuid() != 0:
        raise SystemExit("bench_ssh.py: the other servers need root")
    result = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "rounds": args.count, "megabytes": args.megabytes, "cpus": os.cpu_count(),
              "cpu": next((line.split(":")[1].strip() for line in read_or("/proc/cpuinfo").splitlines()
                           if line.startswith("model name")), ""),
              "load": os.getloadavg(), "keys": {}}
    for kind in args.keys.split(","):
        with bed.Scratch() as scratch:
            scratch.chmod(0o755)
            servers = Servers(args.muster, scratch, kind)
            try:
                rows = servers.rows()
                measure(rows, args.count, args.megabytes)
                show(kind, rows)
                result["keys"][kind] = {row.name: row.figures for row in rows}
                if args.logins:
                    result["keys"][kind]["muster, one process"] = launcher_logins(args.logins, servers, args.count)
            finally:
                servers.end()
    result["load_after"] = os.getloadavg()
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n")


main()
