"""The image's health check: ends with 0 if the server in this container can serve, otherwise with 1 and the reason.

It reads the environment of the container alone. With another `admin_address` in a settings file, set it there, too.
"""

import os
import ssl
import sys
import urllib.error
import urllib.request


def ready_url(environment: "os._Environ[str] | dict[str, str]") -> str:
    """Returns the URL of the readiness probe on this machine."""
    port = environment["THREADKEEP_ADMIN_ADDRESS"].rpartition(":")[2]
    scheme = "https" if environment.get("THREADKEEP_TLS_CERTIFICATE") else "http"
    return f"{scheme}://127.0.0.1:{port}/readyz"


def main() -> int:
    # The certificate names the service, not 127.0.0.1, and nothing secret is sent.
    unchecked = ssl._create_unverified_context()  # noqa: S323, SLF001
    try:
        with urllib.request.urlopen(ready_url(os.environ), timeout=4, context=unchecked):  # noqa: S310
            return 0
    except urllib.error.HTTPError as failed:
        print(failed.read(500).decode("utf-8", "replace"), file=sys.stderr)
    except OSError as failed:
        print(failed, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
