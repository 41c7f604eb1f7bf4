"""The names in clients' certificates, which the handshake has verified, over HTTP and behind Envoy."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from contextvars import ContextVar
from functools import lru_cache
from urllib.parse import unquote_to_bytes

FORWARDED = b"x-forwarded-client-cert"
"""The header in which Envoy passes the certificate on; it removes what clients send in it."""

CLIENT_NAMES: ContextVar[Sequence[str]] = ContextVar("client_names", default=())
"""The names in the certificate of the client whose request is handled."""

# Of all that the header can contain this is URL-encoded, so that no name in a certificate can add a field.
_CERTIFICATE = re.compile(rb'Cert="([^"]*)"')
_log = logging.getLogger(__name__)


@lru_cache(maxsize=4096)
def names_in(certificate: bytes) -> Sequence[str]:
    """Returns the URIs, DNS names, addresses of mail and of machines in a certificate (DER or PEM), and the subject's common
    name if there are none, as over gRPC."""
    # Most servers see no certificate, and importing takes as long as a twentieth of their start.
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        read = x509.load_pem_x509_certificate if certificate.startswith(b"-----") else x509.load_der_x509_certificate
        loaded = read(certificate)
        try:
            alternative = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            alternative = x509.SubjectAlternativeName([])
        kinds = (x509.UniformResourceIdentifier, x509.DNSName, x509.RFC822Name, x509.IPAddress)
        names = [str(name) for kind in kinds for name in alternative.get_values_for_type(kind)]
        common = loaded.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return tuple(names or [str(each.value) for each in common])
    except ValueError as error:  # what the library cannot read names nobody
        _log.info("a client's certificate cannot be read: %s", error)
        return ()


def forwarded_names(header: bytes) -> Sequence[str]:
    """Returns the names in the certificate that Envoy passed on; none without one."""
    found = _CERTIFICATE.search(header)
    return names_in(unquote_to_bytes(found[1])) if found else ()
