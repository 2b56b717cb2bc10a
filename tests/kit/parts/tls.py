"""Certificates of a made authority, as PEM files: for brokers at this machine's address, and at another name."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

ELSEWHERE = "broker.elsewhere.example"


@dataclass(frozen=True)
class Authority:
    """A certificate authority with its own key."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @staticmethod
    def make(name: str) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(name, name, key).add_extension(x509.BasicConstraints(True, None), critical=True)
        identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        return Authority(key, builder.add_extension(identifier, critical=False).sign(key, hashes.SHA256()))

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def issue(self, name: str, *names: x509.GeneralName) -> tuple[str, str]:
        """The private key and the certificate of a party with these names, as PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = self.certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value
        builder = _builder(name, str(issuer), key)
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False) if names else builder
        certificate = builder.sign(self.key, hashes.SHA256()).public_bytes(Encoding.PEM)
        return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(), certificate.decode()

    def issue_file(self, file: Path, *names: x509.GeneralName) -> Path:
        """A file with a private key and its certificate, as Kafka's brokers take them."""
        file.write_text("".join(self.issue(file.stem, *names)))
        return file


def loopback_names() -> tuple[x509.GeneralName, ...]:
    return x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))


def _builder(subject: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
    )
