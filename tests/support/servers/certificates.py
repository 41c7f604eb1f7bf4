"""A certificate authority for tests, and certificates of it."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


class Authority:
    """Signs certificates for servers at 127.0.0.1 and for clients."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named("a CA of tests")
        self._certificate = self._sign(self._name, self._key, x509.BasicConstraints(ca=True, path_length=None))
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, common_name: str, *names: x509.GeneralName) -> tuple[bytes, bytes]:
        """Returns certificate and private key as PEM; `names`: its alternative names."""
        key = ec.generate_private_key(ec.SECP256R1())
        alternative = [x509.SubjectAlternativeName(names)] if names else []
        signed = self._sign(_named(common_name), key, x509.BasicConstraints(ca=False, path_length=None), *alternative)
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return signed.public_bytes(serialization.Encoding.PEM), private

    def server(self, folder: Path) -> tuple[Path, Path]:
        """Writes a certificate and key of a server, and returns their paths."""
        paths = folder / "server.crt", folder / "server.key"
        for path, pem in zip(paths, self.issue("server", x509.IPAddress(ipaddress.ip_address("127.0.0.1"))), strict=True):
            path.touch(mode=0o600)
            path.write_bytes(pem)
        return paths

    def _sign(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *extensions: x509.ExtensionType) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(subject_name=subject, issuer_name=self._name, public_key=key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - _DAY).not_valid_after(now + _DAY)
        for extension in extensions:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(self._key, hashes.SHA256())


def _named(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
