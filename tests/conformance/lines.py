# SPDX-License-Identifier: Apache-2.0
"""The lines: what people type behind mpirun, each given to an MPI alone and to
muster. Words are a shell's; these stand for something:

    {R}  a program that records how it was started, then runs what follows it
    {M}  programs/ways.c, compiled for the MPI
    {A}, {B}  the two workers' names    {N}  the rank, inside of `sh -c`
    {big}, {bigger}  one argument of 131000 bytes, and of the most that is
"""
from dataclasses import dataclass, field

LONGEST = 131071  # of one argument, without its zero byte


@dataclass
class Line:
    name: str
    who: str          # family, "hydra" (mpich and intel), "all", or an MPI
    words: str
    stdin: bytes = b""
    env: dict = field(default_factory=dict)
    before: str = ""  # shell text before the line, in the launcher's shell
    modes: tuple = ("drop-in", "native", "local")
    program: str = ""  # instead of the line, for mode "auto": behind `--`
    short: int = 0     # 1: of Debian's MPIs without --long; 2: of all
    but: str = ""      # an MPI that does not have the line


PODS = ("drop-in", "native")
THROUGH = ("drop-in", "local")
ODD = "two  words 'single' \"double\" $HOME `id` \\ ;&|*\nline\ttab é="
BYTES = bytes((i * i * 31 + i * 7 + (i >> 8)) & 255 for i in range(40000)) \
    + b"\r50 %\r100 %\r\n\0\n\n end without a newline"
HUGE = {f"HUGE_{i}": str(i) * 120000 for i in range(9)}


def ends(how):
    return f"-np 2 sh -c '[ {{N}} = 1 ] && {how}; sleep 3'"


def say(text):
    return f"sh -c 'echo {text}'"


# Of the first rank: Hydra lets all others wait for an end that never comes.
# Open MPI 5.0.11 by itself lets every rank wait for it.
READS = "{R} sh -c '[ {N} != 0 ] || echo r{N} $(cksum)'"


LINES = [
    # How many, and where
    Line("np", "all", "-np 2 {R}", short=2),
    Line("n", "all", "-n 2 {R}"),
    Line("np 4", "all", "-np 4 {R}", modes=PODS),
    Line("no number", "all", "{R}", modes=PODS),
    Line("one", "all", "-np 1 {R}"),
    Line("-H", "open", "-np 2 -H {B},{A} {R}", modes=PODS),
    Line("--host with slots", "open", "-np 3 --host {A}:2,{B}:1 {R}",
         modes=PODS),
    Line("-host one", "open", "-np 1 -host {B} {R}", modes=PODS),
    Line("-hostfile", "open", "-np 2 -hostfile /etc/mpi/hostfile {R}",
         modes=PODS),
    Line("--hostfile of one", "open",
         "-np 2 --hostfile /records/.hosts {R}", modes=PODS),
    Line("-machinefile", "open", "-np 2 -machinefile /records/.hosts {R}",
         modes=PODS),
    Line("-hosts", "hydra", "-n 2 -hosts {B},{A} {R}", modes=PODS),
    Line("-hosts with slots", "hydra", "-n 3 -hosts {A}:2,{B}:1 {R}",
         modes=PODS),
    Line("-host", "hydra", "-n 1 -host {B} {R}", modes=PODS),
    Line("-f", "hydra", "-n 2 -f /records/.hosts {R}", modes=PODS),
    Line("-machinefile", "hydra", "-n 2 -machinefile /records/.hosts {R}",
         modes=PODS),
    Line("--map-by node", "open", "-np 4 --map-by node {R}", modes=PODS),
    Line("--map-by slot", "open", "-np 4 --map-by slot {R}", modes=PODS),
    Line("--map-by ppr", "open", "--map-by ppr:1:node {R}", modes=PODS),
    Line("-npernode", "open", "-npernode 1 {R}", modes=PODS),
    Line("-N", "open", "-N 1 {R}", modes=PODS),
    Line("--bynode", "openmpi4", "-np 4 --bynode {R}", modes=PODS),
    Line("--bind-to core", "open", "-np 2 --bind-to core {R}"),
    Line("--bind-to none", "open", "-np 2 --bind-to none {R}"),
    Line("-ppn", "hydra", "-n 2 -ppn 1 {R}", modes=PODS, short=1),
    Line("-bind-to core", "hydra", "-n 2 -bind-to core {R}"),
    Line("-bind-to none", "hydra", "-n 2 -bind-to none {R}"),
    Line("-perhost", "intel", "-n 2 -perhost 1 {R}", modes=PODS),
    Line("-rr", "intel", "-n 2 -rr {R}", modes=PODS),
    # What a rank inherits
    Line("-x", "open", "-np 2 -x ODD -x NEW=1 {R}", env={"ODD": ODD},
         short=1),
    Line("-x PATH", "open", "-np 2 -x PATH {R}"),
    Line("-genv", "hydra", "-genv NEW 1 -n 2 {R}", env={"ODD": ODD}),
    Line("-genvnone", "hydra", "-genvnone -n 2 {R}", env={"ODD": ODD},
         short=1),
    Line("-genvlist", "hydra", "-genvlist ODD,PATH -n 2 {R}",
         env={"ODD": ODD}),
    Line("-genvall", "hydra", "-genvall -n 2 {R}", env={"ODD": ODD}),
    Line("-env", "hydra", "-n 2 -env NEW 'a b' {R}"),
    Line("-envnone", "hydra", "-n 2 -envnone {R}", env={"ODD": ODD}),
    Line("-envlist", "hydra", "-n 2 -envlist ODD {R}", env={"ODD": ODD}),
    Line("-wdir", "all", "-np 2 -wdir /tmp {R}"),
    Line("-wd", "open", "-np 2 -wd /tmp {R}"),
    Line("the launcher's directory", "all", "-np 2 {R}", before="cd /var/tmp"),
    Line("the launcher's umask", "all", "-np 2 {R}", before="umask 077"),
    Line("the launcher's limits", "all", "-np 2 {R}",
         before="ulimit -n 500; ulimit -c 0"),
    Line("an ignored signal", "all", "-np 2 {R}", before="trap '' USR2 HUP"),
    Line("an open descriptor", "all", "-np 2 {R}", before="exec 7</etc/passwd"),
    # Several programs
    Line("two programs", "all", "-np 1 {R} true 1 : -np 1 {R} true 2"),
    Line("two programs, -x", "open",
         "-np 1 -x NEW=1 {R} true : -np 1 -x NEW=2 {R} true"),
    Line("two programs, -env", "hydra",
         "-n 1 -env NEW 1 {R} true : -n 1 -env NEW 2 {R} true"),
    Line("two programs, -wdir", "all",
         "-np 1 -wdir /tmp {R} true : -np 1 -wdir /var/tmp {R} true"),
    Line("a colon too many", "all", "-np 1 {R} true : -np 1 {R} true :"),
    # Output and input
    Line("--tag-output", "open", "--tag-output -np 2 " + say("r{N}; echo of r{N}")),
    Line("-prepend-rank", "hydra",
         "-prepend-rank -n 2 " + say("r{N}; echo of r{N}")),
    Line("-l", "hydra", "-l -n 2 " + say("r{N}; echo of r{N}")),
    Line("stdout and stderr", "all",
         "-np 2 sh -c 'for i in 1 2 3; do echo r{N} out $i; "
         "echo r{N} err $i >&2; done'", short=1),
    Line("stdin", "all", "-np 2 " + READS, stdin=BYTES, short=1,
         but="openmpi5"),
    Line("no stdin", "all", "-np 2 " + READS, but="openmpi5"),
    Line("--stdin none", "open", "--stdin none -np 2 " + READS,
         stdin=b"words\n", but="openmpi5"),
    # On one machine alone Open MPI 4.1 does not end then.
    Line("--stdin all", "open",
         "--stdin all -np 2 {R} sh -c 'echo r{N} $(cksum)'", stdin=b"words\n",
         modes=PODS, but="openmpi5"),
    Line("-s all", "intel",
         "-s all -n 2 {R} sh -c 'echo r{N} $(cksum)'", stdin=b"words\n"),
    Line("bytes", "all", "-np 1 cat", stdin=BYTES, short=1, but="openmpi5"),
    Line("a long argument", "all", "-np 1 {R} true {big}"),
    Line("the longest argument", "all", "-np 1 {R} true {bigger}"),
    Line("an environment of 1 MiB", "all", "-np 2 {R}", env=HUGE),
    # How it ends
    Line("exit 0", "all", "-np 2 true"),
    Line("exit 1", "all", "-np 2 false"),
    Line("exit 3", "all", ends("exit 3"), short=2),
    Line("exit 77", "all", ends("exit 77")),
    Line("killed", "all", ends("kill -KILL $$")),
    Line("terminated", "all", ends("kill -TERM $$")),
    Line("segmentation fault", "all", ends("kill -SEGV $$")),
    Line("MPI", "all", "-np 2 {M} hello"),
    Line("MPI_Abort", "all", "-np 2 {M} abort 7"),
    Line("MPI_Comm_spawn", "all", "-np 1 {M} spawn", modes=THROUGH),
    Line("MPI_Comm_spawn, auto", "all", "-np 1 {M} spawn", modes=("auto",),
         program="-n 1 -- {M} spawn"),
    Line("--timeout", "open", "--timeout 2 -np 2 sleep 60"),
    Line("-timeout", "mpich", "-timeout 2 -n 2 sleep 60"),
    Line("MPIEXEC_TIMEOUT", "hydra", "-n 2 sleep 60",
         env={"MPIEXEC_TIMEOUT": "2"}),
    Line("--version", "all", "--version"),
    Line("no program", "all", "-np 2"),
    Line("unknown program", "all", "-np 2 nosuchprogram"),
    Line("unknown path", "all", "-np 2 /no/such/program"),
    Line("no executable", "all", "-np 2 /etc/hostname"),
    Line("unknown option", "all", "--nosuchoption -np 2 {R}"),
    # More ranks than slots
    Line("too many", "open", "-np 6 {R}"),
    Line("--oversubscribe", "open", "--oversubscribe -np 6 {R}"),
    Line("--map-by :OVERSUBSCRIBE", "open",
         "--map-by :OVERSUBSCRIBE -np 6 {R}"),
    Line("oversubscribe by a variable", "openmpi4", "-np 6 {R}",
         env={"OMPI_MCA_rmaps_base_oversubscribe": "1"}, short=1),
    Line("oversubscribe by a variable", "openmpi5", "-np 6 {R}",
         env={"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}),
    Line("oversubscribe by --mca", "openmpi4",
         "--mca rmaps_base_oversubscribe 1 -np 6 {R}"),
    Line("oversubscribe by a file", "openmpi4", "-np 6 {R}",
         before="mkdir -p ~/.openmpi && echo rmaps_base_oversubscribe = 1 > "
                "~/.openmpi/mca-params.conf"),
    Line("tags by a variable", "openmpi4", "-np 2 " + say("r{N}"),
         env={"OMPI_MCA_orte_tag_output": "1"}),
    # Intel's own
    Line("-print-rank-map", "intel", "-print-rank-map -n 2 {R}"),
    Line("-gwdir", "intel", "-gwdir /tmp -n 2 {R}"),
    Line("-gpath", "intel", "-gpath /usr/bin -n 2 {R} true"),
    Line("-outfile-pattern", "hydra",
         "-outfile-pattern /records/.out-%r -n 2 " + say("r{N}")),
]


def named(line, mpi_name, mpi):
    """Whether the MPI has this line."""
    return line.but != mpi_name and (
        line.who in ("all", mpi.family, mpi_name)
        or (line.who == "hydra" and mpi.hydra))
