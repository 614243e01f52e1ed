# SPDX-License-Identifier: Apache-2.0
"""The least of SSH that can say any message at any moment: packets before the
keys, the key exchange (ECDH P-256, AES-128-CTR, HMAC-SHA2-256), packets after.
A tester's tool: it checks the host key's signature nowhere."""
import base64
import hashlib
import hmac
import os
import socket
import struct

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

VERSION = b"SSH-2.0-tester"
P256 = b"ecdh-sha2-nistp256"


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack(">I", len(value)) + value


def mpint(value):
    raw = value.to_bytes((value.bit_length() + 8) // 8, "big") if value else b""
    return text(raw)


def take(blob, at):
    (size,) = struct.unpack_from(">I", blob, at)
    return blob[at + 4:at + 4 + size], at + 4 + size


class Gone(Exception):
    pass


class Wire:
    def __init__(self, port, source=None, timeout=30.0):
        address = (source, 0) if source else None
        self.socket = socket.create_connection(("127.0.0.1", port), timeout, address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.sent = self.received = 0
        self.encryptor = self.decryptor = None
        self.session_id = b""

    def close(self):
        self.socket.close()

    def _fill(self):
        try:
            more = self.socket.recv(65536)
        except ConnectionError:
            more = b""
        if not more:
            raise Gone()
        self.buffer += more

    def _take(self, size):
        while len(self.buffer) < size:
            self._fill()
        out, self.buffer = self.buffer[:size], self.buffer[size:]
        return out

    def write(self, raw):
        try:
            self.socket.sendall(raw)
        except ConnectionError:
            raise Gone()

    def versions(self):
        self.write(VERSION + b"\r\n")
        while b"\n" not in self.buffer:
            self._fill()
        line, self.buffer = self.buffer.split(b"\n", 1)
        self.server_version = line.rstrip(b"\r")

    def send(self, payload):
        block = 16 if self.encryptor else 8
        padding = block - (len(payload) + 5) % block
        padding += block if padding < 4 else 0
        packet = struct.pack(">IB", len(payload) + padding + 1, padding) + payload + os.urandom(padding)
        if self.encryptor:
            mac = hmac.new(self.mac_out, struct.pack(">I", self.sent) + packet, hashlib.sha256).digest()
            packet = self.encryptor.update(packet) + mac
        self.sent = (self.sent + 1) & 0xffffffff
        self.write(packet)

    def receive(self):
        if not self.decryptor:
            head = self._take(5)
            size, padding = struct.unpack(">IB", head)
            payload = self._take(size - 1)[:size - 1 - padding]
        else:
            first = self.decryptor.update(self._take(16))
            size, padding = struct.unpack(">IB", first[:5])
            rest = self.decryptor.update(self._take(size + 4 - 16))
            self._take(32)
            payload = (first + rest)[5:5 + size - 1 - padding]
        self.received += 1
        return payload

    def receive_but(self, *ignored):
        while True:
            payload = self.receive()
            if payload[0] not in ignored:
                return payload

    def kexinit(self, strict=True):
        lists = [P256 + (b",kex-strict-c-v00@openssh.com" if strict else b""),
                 b"ecdsa-sha2-nistp256,ecdsa-sha2-nistp521,ssh-ed25519", b"aes128-ctr", b"aes128-ctr",
                 b"hmac-sha2-256", b"hmac-sha2-256", b"none", b"none", b"", b""]
        return b"\x14" + os.urandom(16) + b"".join(map(text, lists)) + b"\0" + struct.pack(">I", 0)

    def start_kex(self, strict=True):
        self.mine = self.kexinit(strict)
        self.send(self.mine)
        self.theirs = self.receive()
        assert self.theirs[0] == 20, self.theirs[0]
        self.strict = strict and b"kex-strict-s-v00@openssh.com" in self.theirs

    def finish_kex(self):
        private = ec.generate_private_key(ec.SECP256R1())
        public = private.public_key().public_bytes(serialization.Encoding.X962,
                                                   serialization.PublicFormat.UncompressedPoint)
        self.send(b"\x1e" + text(public))
        reply = self.receive()
        assert reply[0] == 31, reply[0]
        host_key, at = take(reply, 1)
        point, at = take(reply, at)
        peer = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        secret = mpint(int.from_bytes(private.exchange(ec.ECDH(), peer), "big"))
        self.host_key = host_key
        digest = hashlib.sha256(b"".join(map(text, (VERSION, self.server_version, self.mine, self.theirs, host_key,
                                                    public, point))) + secret).digest()
        self.session_id = self.session_id or digest
        make = lambda letter: hashlib.sha256(secret + digest + letter + self.session_id).digest()
        self.send(b"\x15")
        assert self.receive()[0] == 21
        out = Cipher(algorithms.AES(make(b"C")[:16]), modes.CTR(make(b"A")[:16]))
        back = Cipher(algorithms.AES(make(b"D")[:16]), modes.CTR(make(b"B")[:16]))
        self.encryptor, self.decryptor = out.encryptor(), back.decryptor()
        self.mac_out = make(b"E")
        if self.strict:
            self.sent = self.received = 0

    def handshake(self):
        self.versions()
        self.start_kex()
        self.finish_kex()

    def ask_service(self):
        self.send(b"\x05" + text("ssh-userauth"))
        reply = self.receive_but(7, 4)
        assert reply[0] == 6, reply[0]

    def auth_request(self, key, signed=True):
        return self.auth_request_of(key, self.session_id if signed else None)

    @staticmethod
    def auth_request_of(key, session_id):
        """With a signature over the key exchange `session_id`; None: a query whether the key would do."""
        public = key.public_key()
        raw = public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        kind, encoded = raw.split()[:2]
        blob = base64.b64decode(encoded)
        request = (b"\x32" + text("anyone") + text("ssh-connection") + text("publickey") +
                   (b"\x00" if session_id is None else b"\x01") + text(kind) + text(blob))
        if session_id is None:
            return request
        signature = key.sign(text(session_id) + request, ec.ECDSA(hashes.SHA256()))
        r, s = utils.decode_dss_signature(signature)
        return request + text(text(kind) + text(mpint(r) + mpint(s)))

    def log_in(self, key):
        self.ask_service()
        self.send(self.auth_request(key))
        reply = self.receive_but(7, 4, 53)
        return reply[0] == 52

    def open_channel(self, kind="session", extra=b""):
        self.send(b"\x5a" + text(kind) + struct.pack(">III", 0, 1 << 20, 32768) + extra)
        return self.receive_but(7, 4, 80)

    def request(self, kind, extra=b"", channel=None):
        channel = self.remote if channel is None else channel
        self.send(b"\x62" + struct.pack(">I", channel) + text(kind) + b"\x01" + extra)
        return self.receive_but(7, 4, 80, 93)

    def session(self):
        reply = self.open_channel()
        assert reply[0] == 91, reply
        (self.remote,) = struct.unpack_from(">I", reply, 5)


def load_key(path):
    return serialization.load_pem_private_key(path.read_bytes(), None)
