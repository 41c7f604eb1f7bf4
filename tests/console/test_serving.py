"""How the server serves the console: addresses, headers, caching, compression, size."""

from __future__ import annotations

import gzip
import http.client
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import threadkeep_server
from tests.support.servers.server_process import ServerProcess, fork_server, free_port

STATIC = Path(threadkeep_server.__file__).parent / "console" / "static"
MOST_SCRIPT_BYTES = 300_000


def get(server: ServerProcess, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(server.http_address, timeout=30)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


def test_an_address_without_a_slash_leads_to_the_console(server: ServerProcess) -> None:
    status, headers, _ = get(server, "/console")
    assert status == 307
    assert headers["location"] == "console/", "a relative one: a proxy may have removed a prefix"


@pytest.mark.parametrize("path", ["/console/", "/console/sessions", "/console/session?app=shop&user=alice&id=a%2Fb"])
def test_a_page_is_the_index(server: ServerProcess, path: str) -> None:
    status, headers, body = get(server, path)
    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["cache-control"] == "no-cache"
    assert body == (STATIC / "index.html").read_bytes()
    assert b"style=" not in body
    assert re.findall(rb'(?:src|href)="(?!\./)', body) == [], "an address that a prefix of a proxy would break"


def test_headers_forbid_what_the_console_does_not_need(server: ServerProcess) -> None:
    _, headers, _ = get(server, "/console/")
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "style-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_hashed_names_are_kept_for_long(server: ServerProcess) -> None:
    names = [path.name for path in (STATIC / "assets").iterdir()]
    assert names
    for name in names:
        assert re.search(r"-[\w-]{8}\.(js|css|svg)$", name), name
        status, headers, body = get(server, f"/console/assets/{name}", **{"Accept-Encoding": "gzip, br"})
        assert status == 200
        assert "immutable" in headers["cache-control"]
        assert headers["content-encoding"] == "gzip"
        assert gzip.decompress(body) == (STATIC / "assets" / name).read_bytes()
        assert get(server, f"/console/assets/{name}")[2] == gzip.decompress(body)


@pytest.mark.parametrize(
    "path",
    [
        "/console/assets/none.js",
        "/console/../server.py",
        "/console/%2e%2e/x.py",
        "/console/a/b",
        "/consoles",
        "/console/x.html",
    ],
)
def test_other_paths_do_not_exist(server: ServerProcess, path: str) -> None:
    status, headers, _ = get(server, path)
    assert status == 404
    assert "html" not in headers["content-type"]


def test_only_reads_are_served(server: ServerProcess) -> None:
    assert get(server, "/console/", "HEAD")[0] == 200
    status, headers, _ = get(server, "/console/", "POST")
    assert status == 405
    assert headers["allow"] == "GET, HEAD"


def test_the_files_need_no_credential(guarded: ServerProcess) -> None:
    assert get(guarded, "/console/")[0] == 200


def test_a_setting_switches_it_off(tmp_path: Path) -> None:
    with ServerProcess(fork_server(), tmp_path, http_address=f"127.0.0.1:{free_port()}", console=False) as server:
        server.start()
        assert get(server, "/console/")[0] == 404
        assert b"/console" not in get(server, "/")[2]
        assert "console" not in server.log


def test_the_log_has_the_address(server: ServerProcess) -> None:
    assert f"http://{server.http_address}/console/" in server.log
    assert b"/console" in get(server, "/")[2]


def test_a_page_loads_small_scripts_and_not_those_of_others(page: Page, server: ServerProcess) -> None:
    """Without a cache: the page of a session, which needs most."""
    page.goto(f"http://{server.http_address}/console/session?app=shop&user=alice&id=of-nobody")
    expect(page.get_by_role("alert")).to_be_visible()
    found = page.evaluate(
        "performance.getEntriesByType('resource').map((it) => [it.name.split('/').pop(), it.encodedBodySize])"
    )
    scripts = {name: size for name, size in found if name.endswith(".js")}
    pages = {name.split("-page-")[0] for name in scripts if "-page-" in name}
    assert pages == {"session"}
    assert all(scripts.values()), "a size is missing"
    assert sum(scripts.values()) < MOST_SCRIPT_BYTES, scripts


def test_the_index_names_what_every_page_needs(server: ServerProcess) -> None:
    """Else the libraries are found after the first script only."""
    index = get(server, "/console/")[2].decode()
    large = {path.name for path in (STATIC / "assets").glob("*.js") if path.name.startswith(("app-", "common-", "libraries-"))}
    assert len(large) == 3
    assert large <= set(re.findall(r'<link rel="modulepreload" crossorigin href="./assets/([^"]+)">', index))


def test_licenses_of_the_libraries_are_among_the_files() -> None:
    licenses = (STATIC / "licenses.md").read_text()
    for library in ("react", "@tanstack/react-router", "@connectrpc/connect", "@bufbuild/protobuf", "marked"):
        assert library in licenses
