# SPDX-License-Identifier: Apache-2.0
"""The cluster's certificate authority: a key pair for each component."""
import datetime
import ipaddress
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

import plan


def make(folders, nodes):
    """Writes ca, apiserver, apiserver-kubelet, front-proxy, the server of each
    node's kubelet (NODE-server), the users of plan.users() (.crt and .key each)
    and the service accounts' key (sa)."""
    os.makedirs(folders.keys, mode=0o700, exist_ok=True)
    ca = Authority(folders)
    ca.server("apiserver", "kube-apiserver", [
        "localhost", "kubernetes", "kubernetes.default",
        "kubernetes.default.svc", f"kubernetes.default.svc.{plan.DOMAIN}",
        "127.0.0.1", plan.FIRST.ip, plan.API_SERVICE_IP])
    for node in nodes:
        ca.server(f"{node.name}-server", node.name, [node.name, node.ip])
    ca.client("apiserver-kubelet", "apiserver-kubelet", "system:masters")
    ca.client("front-proxy", "front-proxy", None)
    for user, (name, organisation) in plan.users(nodes).items():
        ca.client(user, name, organisation)
    key = ec.generate_private_key(ec.SECP256R1())
    ca.write("sa.key", private(key))
    ca.write("sa.pub", key.public_key().public_bytes(
        serialization.Encoding.PEM,
        serialization.PublicFormat.SubjectPublicKeyInfo))


class Authority:
    def __init__(self, folders):
        self.folders = folders
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = subject("test-ca", None)
        self.issue("ca", self.key, self.name, [
            (x509.BasicConstraints(ca=True, path_length=None), True)])

    def server(self, file, name, hosts):
        self.issue(file, ec.generate_private_key(ec.SECP256R1()),
                   subject(name, None),
                   [(x509.SubjectAlternativeName(map(host, hosts)), False)])

    def client(self, file, name, organisation):
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        self.issue(file, ec.generate_private_key(ec.SECP256R1()),
                   subject(name, organisation), [(usage, False)])

    def issue(self, file, key, name, extensions):
        now = datetime.datetime.utcnow()
        draft = (x509.CertificateBuilder().subject_name(name)
                 .issuer_name(self.name).public_key(key.public_key())
                 .serial_number(x509.random_serial_number())
                 .not_valid_before(now - datetime.timedelta(hours=1))
                 .not_valid_after(now + datetime.timedelta(days=365)))
        for extension, critical in extensions:
            draft = draft.add_extension(extension, critical)
        certificate = draft.sign(self.key, hashes.SHA256())
        self.write(file + ".crt", certificate.public_bytes(
            serialization.Encoding.PEM))
        self.write(file + ".key", private(key))

    def write(self, name, data):
        with open(os.open(self.folders.key(name), os.O_WRONLY | os.O_CREAT
                          | os.O_TRUNC, 0o600), "wb") as f:
            f.write(data)


def subject(name, organisation):
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    if organisation:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME,
                                        organisation))
    return x509.Name(parts)


def host(text):
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def private(key):
    return key.private_bytes(serialization.Encoding.PEM,
                             serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption())
