"""TLS of the gRPC port: certificates that follow their files, and the names in clients' certificates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import grpc

from ..tls_files import TlsFiles

_NAMES = ("x509_subject_alternative_name", "x509_common_name")


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """Returns credentials that use the files as they are at each new connection. With `client_ca`, clients without a
    certificate of this CA cannot connect: the library cannot leave it to them. Raises OSError."""

    def read() -> grpc.ServerCertificateConfiguration:
        pair = (files.private_key.read_bytes(), files.certificate.read_bytes())
        root = None if files.client_ca is None else files.client_ca.read_bytes()
        return grpc.ssl_server_certificate_configuration([pair], root)

    def fetch() -> grpc.ServerCertificateConfiguration | None:
        return read() if files.changed() else None

    fetcher: Any = fetch  # None, which the library takes for no change, is absent from its types
    return grpc.dynamic_ssl_server_credentials(read(), fetcher, files.client_ca is not None)


def certificate_names(context: Mapping[str, Iterable[bytes]]) -> list[str]:
    """Returns the names in the client's certificate, verified by the handshake: the alternative ones, and the subject's common
    name if there are none."""
    for kind in _NAMES:
        if names := context.get(kind):
            return [name.decode("utf-8", "replace") for name in names]
    return []
