#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the failures of real/ and evidence/ happen again: record.py

Needs Open MPI and MPICH side by side (mpirun.openmpi, mpiexec.mpich) and, for
memory and /dev/shm, root with cgroup v1 and mount namespaces. What cannot be
made here is left out, with a line that says so.
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = os.path.dirname(os.__file__)
PYTHON = os.path.realpath(sys.executable)
ROOT_ENV = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}
OPENMPI = ['mpirun.openmpi', '--oversubscribe', '--mca', 'btl_base_warn_component_unused', '0']
MPICH = ['mpiexec.mpich']


def build(work: pathlib.Path) -> None:
    source = str(HERE / 'programs/fail.c')
    for compiler, name in (('mpicc.openmpi', 'fail_ompi'), ('mpicc.mpich', 'fail_mpich')):
        subprocess.run([compiler, '-O0', '-w', source, '-o', work / name], check=True)
    subprocess.run(['cc', '-O0', '-w', '-DNO_MPI', source, '-o', work / 'fail'], check=True)


def record_log(work: pathlib.Path, name: str, argv: list, env: dict | None = None) -> None:
    try:
        done = subprocess.run([str(a) for a in argv], cwd=work, timeout=40,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, **ROOT_ENV, **(env or {})})
        text, code = done.stdout, done.returncode
    except (subprocess.TimeoutExpired, FileNotFoundError) as error:
        print(f'{name}: left out: {error}')
        return
    text = text.replace(str(work).encode(), b'/app').replace(str(HERE / 'programs').encode(), b'/app').replace(os.uname().nodename.encode(), b'node-a')
    text = text.replace(LIBRARY.encode(), b'/usr/lib/python3')
    (HERE / 'real' / f'{name}.log').write_bytes(text)
    print(f'{name}: {len(text)} bytes, exit code {code}')


def record_logs(work: pathlib.Path) -> None:
    modes = ['segfault', 'abort', 'fpe', 'ill', 'exit', 'kill', 'bus', 'mpi_abort', 'truncate', 'bad_rank', 'ok']
    for mode in modes:
        record_log(work, f'openmpi_{mode}', [*OPENMPI, '--tag-output', '-np', 4, work / 'fail_ompi', mode, 1])
        record_log(work, f'mpich_{mode}', ['timeout', 8, *MPICH, '-prepend-rank', '-n', 4, work / 'fail_mpich', mode, 1])
    script = HERE / 'programs/fail.py'
    for mode in ['key', 'import', 'data', 'permission', 'port', 'files', 'dns', 'memory', 'thread', 'pickle', 'survived']:
        record_log(work, f'openmpi_py_{mode}', [*OPENMPI, '--tag-output', '-np', 2, PYTHON, script, mode, 1])
        record_log(work, f'bare_py_{mode}', [PYTHON, script, mode, 0])
    record_log(work, 'openmpi_missing_program', [*OPENMPI, '-np', 2, '/app/no_such_program'])
    record_log(work, 'mpich_missing_program', ['timeout', 8, *MPICH, '-n', 2, '/app/no_such_program'])
    record_log(work, 'openmpi_slots', ['mpirun.openmpi', '-np', 64, work / 'fail_ompi', 'ok'])
    record_log(work, 'openmpi_as_root', ['mpirun.openmpi', '-np', 1, 'true'],
               {'OMPI_ALLOW_RUN_AS_ROOT': '', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': ''})
    record_log(work, 'openmpi_no_hostfile', [*OPENMPI, '--hostfile', '/etc/mpi/none', '-np', 2, 'true'])
    record_log(work, 'openmpi_dns', ['timeout', 20, *OPENMPI, '-H', 'pi-worker-0.invalid:1', '-np', 1, 'true'])
    record_log(work, 'openmpi_btl_none', [*OPENMPI, '--mca', 'pml', 'ob1', '--mca', 'btl', 'self', '-np', 2, work / 'fail_ompi', 'ok'])
    record_log(work, 'openmpi_pml_unknown', [*OPENMPI, '--mca', 'pml', 'ucxx', '-np', 2, work / 'fail_ompi', 'ok'])
    record_log(work, 'openmpi_interface', [*OPENMPI, '--mca', 'pml', 'ob1', '--mca', 'btl', 'tcp,self', '--mca', 'btl_tcp_if_include', 'eth9', '-np', 2, work / 'fail_ompi', 'ok'])
    record_log(work, 'openmpi_timeout', ['mpirun.openmpi', '--timeout', 3, '-np', 1, 'sleep', 60])
    broken = work / 'broken'
    subprocess.run(f'echo "int gone(void){{return 0;}}" | cc -shared -fPIC -x c - -o {work}/libgone.so && '
                   f'echo "int gone(void);int main(){{return gone();}}" | cc -x c - -o {broken} -L{work} -lgone && '
                   f'rm {work}/libgone.so', shell=True, check=True)
    record_log(work, 'openmpi_missing_library', [*OPENMPI, '-np', 2, broken])
    record_log(work, 'mpich_missing_library', ['timeout', 8, *MPICH, '-n', 2, broken])
    record_log(work, 'ssh_refused', ['ssh', '-o', 'BatchMode=yes', '-p', '2299', '127.0.0.1', 'true'])
    record_log(work, 'ssh_dns', ['ssh', '-o', 'BatchMode=yes', 'pi-worker-0.pi.invalid', 'true'])
    record_log(work, 'shell_segfault', ['bash', '-c', f'"{work}/fail" segfault 0; exit 139'])
    record_log(work, 'shell_killed', ['bash', '-c', f'"{work}/fail" kill 0; exit 137'])


def rank_evidence(rank: int, process: subprocess.Popen, out: str, rss: int, end_ns: int) -> dict:
    status = process.returncode
    lines = [{'time_ns': end_ns - 1000 + i, 'stderr': True, 'text': text}
             for i, text in enumerate(out.splitlines()[-12:])]
    return {'rank': rank, 'node': rank + 1, 'host': f'pi-worker-{rank}', 'outcome': 'exited',
            'wait_status': -status if status < 0 else status << 8, 'exit_ns': end_ns,
            'max_rss_kib': rss, 'lines': lines}


def record_evidence(work: pathlib.Path, name: str, argv: list, ranks: int = 4,
                    prepare=None, node_facts=None, prefix: list | None = None) -> None:
    processes = []
    for rank in range(ranks):
        env = {**os.environ, 'FAIL_RANK': str(rank)}
        processes.append(subprocess.Popen(
            [str(a) for a in [*(prefix or []), *argv]], env=env, text=True, errors='replace', preexec_fn=prepare,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    entries = []
    pending = dict(enumerate(processes))
    first_end = 0
    while pending:
        for rank, process in list(pending.items()):
            if process.poll() is None:
                continue
            del pending[rank]
            now = time.time_ns()
            rss = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            entry = rank_evidence(rank, process, process.stdout.read(), rss, now)
            entry['stopped_by_us'] = first_end > 0 and process.returncode in (-15, -9)
            entries.append(entry)
            if process.returncode != 0 and first_end == 0:
                first_end = now
                for other in pending.values():
                    other.terminate()
        time.sleep(0.002)
    entries.sort(key=lambda entry: entry['rank'])
    nodes = [{'node': r + 1, 'host': f'pi-worker-{r}', 'outcome': 'connected'} for r in range(ranks)]
    if node_facts:
        node_facts(nodes, entries)
    evidence = {'evidence': 1,
                'job': {'backend': 'pmix', 'phase': 'run', 'world_size': ranks, 'workers': ranks,
                        'stop_ns': first_end and first_end + 20_000_000},
                'ranks': entries, 'nodes': nodes}
    text = json.dumps(evidence, indent=1).replace(LIBRARY, '/usr/lib/python3').replace(str(work), '/app').replace(str(HERE / 'programs'), '/app')
    (HERE / 'evidence' / f'{name}.json').write_text(text + '\n')
    print(f'{name}: ' + ', '.join(str(p.returncode) for p in processes))


def record_memory_kill(work: pathlib.Path) -> None:
    group = pathlib.Path('/sys/fs/cgroup/memory/muster-record')
    limit = 64 << 20
    try:
        group.mkdir(exist_ok=True)
        (group / 'memory.limit_in_bytes').write_text(str(limit))
    except OSError as error:
        print(f'oom_cgroup: left out: {error}')
        return

    def kills() -> int:
        text = (group / 'memory.oom_control').read_text()
        found = [line.split()[1] for line in text.splitlines() if line.startswith('oom_kill ')]
        return int(found[0]) if found else -1

    before = kills()

    def enter() -> None:
        (group / 'cgroup.procs').write_text(str(os.getpid()))

    def facts(nodes: list, entries: list) -> None:
        victim = next((e['rank'] for e in entries if e['wait_status'] == 9 and not e['stopped_by_us']), 1)
        peak = int((group / 'memory.max_usage_in_bytes').read_text())
        nodes[victim]['oom_kills_at_start'] = before
        nodes[victim]['memory'] = [{'time_ns': time.time_ns(), 'bytes': peak, 'limit': limit,
                                    'peak': peak, 'oom_kills': kills()}]

    record_evidence(work, 'oom_cgroup', [work / 'fail', 'oom', 2], prepare=enter, node_facts=facts)
    time.sleep(0.1)
    group.rmdir()


def record_full_shm(work: pathlib.Path) -> None:
    def facts(nodes: list, entries: list) -> None:
        for node in nodes:
            node['disks'] = [{'path': '/dev/shm', 'size': 8 << 20, 'free': 0 if node['node'] == 2 else 8 << 20}]

    small = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs -o size=8m none /dev/shm && exec "$@"', 'sh']
    record_evidence(work, 'shm_full_write', [work / 'fail', 'shm', 1], node_facts=facts, prefix=small)
    record_evidence(work, 'shm_full_bus', [work / 'fail', 'bus', 1], node_facts=facts, prefix=small)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        work.chmod(0o755)
        build(work)
        record_logs(work)
        for mode in ['segfault', 'abort', 'fpe', 'ill', 'exit', 'kill', 'term', 'ok']:
            record_evidence(work, mode, [work / 'fail', mode, 1])
        for mode in ['key', 'import', 'data', 'permission', 'port', 'files', 'memory', 'survived']:
            record_evidence(work, f'py_{mode}', [PYTHON, HERE / 'programs/fail.py', mode, 1])
        record_evidence(work, 'missing_library', [work / 'broken'])
        record_memory_kill(work)
        record_full_shm(work)


main()
