#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every kind of job key, with and without the FIPS profile: who gets in, with
which algorithms, and what is refused with a reason.

    test_keys.py [--muster PATH]

Keys as operators make them (PEM: PKCS#1, SEC1) and as ssh-keygen does. The
profile is `--fips`: there is no module with a FIPS certificate here.
"""
import shutil
import subprocess

import bed

# kind, ssh-keygen's arguments, good without FIPS, good with it
KINDS = [("P-256", ["-t", "ecdsa", "-b", "256", "-m", "PEM"], True, True),
         ("P-384", ["-t", "ecdsa", "-b", "384", "-m", "PEM"], True, True),
         ("P-521", ["-t", "ecdsa", "-b", "521", "-m", "PEM"], True, True),
         ("Ed25519", ["-t", "ed25519"], True, False),
         ("RSA-2048", ["-t", "rsa", "-b", "2048", "-m", "PEM"], False, False),
         ("RSA-3072", ["-t", "rsa", "-b", "3072", "-m", "PEM"], True, True),
         ("RSA-4096", ["-t", "rsa", "-b", "4096", "-m", "PEM"], True, True)]


def make(directory, arguments):
    directory.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-f", str(directory / "id_rsa"), *arguments], check=True,
                   stdin=subprocess.DEVNULL)
    shutil.copy(directory / "id_rsa.pub", directory / "authorized_keys")
    return directory


def openssh(worker, keys, *options, command="muster-agent version"):
    return subprocess.run(
        ["ssh", "-F", "/dev/null", "-i", str(keys / "id_rsa"), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o",
         "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", *options, "-p",
         str(worker.port), "x@127.0.0.1", command], capture_output=True, stdin=subprocess.DEVNULL, timeout=60)


def job_keys(tally, args, made):
    for fips in (False, True):
        for name, _, plain, approved in KINDS:
            what = name + (" with --fips" if fips else "")
            try:
                worker = bed.Worker(args.muster, made[name], *(["--fips"] if fips else []))
            except RuntimeError as error:
                tally.check(not (approved if fips else plain) and "cannot use this SSH key" in str(error),
                            f"{what}: no worker starts, with the reason", error)
                continue
            with worker:
                ours = bed.our_ssh(args.muster, worker, "muster-agent version")
                theirs = openssh(worker, made[name])
                good = ours.returncode == 0 and theirs.returncode == 0
                tally.check(good and (approved if fips else plain), f"{what}: muster ssh and ssh log in",
                            (ours, theirs))


def other_client_keys(tally, args, scratch, made):
    """authorized_keys may hold more than the job key."""
    for fips in (False, True):
        keys = scratch / f"many{fips}"
        shutil.copytree(made["P-256"], keys)
        with (keys / "authorized_keys").open("a") as out:
            for name in made:
                out.write((made[name] / "id_rsa.pub").read_text())
        with bed.Worker(args.muster, keys, *(["--fips"] if fips else [])) as worker:
            for name, _, plain, approved in KINDS:
                done = openssh(worker, made[name])
                tally.check((done.returncode == 0) == (approved if fips else plain),
                            f"client key {name}{' with --fips' if fips else ''}: "
                            + ("taken" if done.returncode == 0 else "refused"), done)


def algorithms(tally, args, made):
    outside = [("KexAlgorithms", "curve25519-sha256"), ("Ciphers", "chacha20-poly1305@openssh.com")]
    never = [("KexAlgorithms", "diffie-hellman-group14-sha256"), ("Ciphers", "aes128-cbc"), ("MACs", "hmac-sha1")]
    inside = [("KexAlgorithms", f"ecdh-sha2-nistp{bits}") for bits in (256, 384, 521)]
    inside += [("Ciphers", "aes256-gcm@openssh.com"), ("Ciphers", "aes256-ctr")]
    for fips in (False, True):
        with bed.Worker(args.muster, made["P-256"], *(["--fips"] if fips else [])) as worker:
            for wanted, pairs in ((True, inside), (not fips, outside), (False, never)):
                for option, value in pairs:
                    more = ["-o", "Ciphers=aes128-ctr"] if option == "MACs" else []
                    done = openssh(worker, made["P-256"], "-o", f"{option}={value}", *more)
                    tally.check((done.returncode == 0) == wanted,
                                f"{value}{' with --fips' if fips else ''}: " + ("used" if wanted else "not offered"),
                                done)


def main():
    args = bed.arguments(__doc__)
    tally = bed.Tally()
    with bed.Scratch() as scratch:
        made = {name: make(scratch / name, arguments) for name, arguments, _, _ in KINDS}
        job_keys(tally, args, made)
        other_client_keys(tally, args, scratch, made)
        algorithms(tally, args, made)
    tally.finish()


main()
