"""Secure defaults: no open server by mistake, no short tokens, no files with secrets that others may read."""

from __future__ import annotations

import json
import os
import stat as stat_module
from pathlib import Path

import pytest

from tests.support.certificates import Pair, self_signed
from threadkeep_server.config.files import exposed
from threadkeep_server.config.settings import ENV_PREFIX, ConfigError, Settings, load_settings

TOKEN = "tok-1-0123456789"
TOKENS = f'{TOKEN} = {{tenant = "acme"}}\n'
ANYWHERE = "0.0.0.0:7443"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting from where the tests happen to run."""
    for name in (*Settings.model_fields, "config"):
        monkeypatch.delenv(ENV_PREFIX + name.upper(), raising=False)
    monkeypatch.chdir(tmp_path)


def _file(text: str, name: str = "tokens.toml", mode: int = 0o600) -> Path:
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def _problem(**flags: object) -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings(**flags)  # type: ignore[arg-type]
    return str(caught.value)


def test_a_tokens_file_that_is_missing_or_has_no_token_is_refused() -> None:
    assert "there is no file 'tokens.toml'" in _problem(auth_tokens_file="tokens.toml")
    problem = _problem(auth_tokens_file=_file("# later\n"))
    assert problem.startswith("auth_tokens_file: there is no token in 'tokens.toml'; make one with `openssl rand -hex 32`")
    assert load_settings(auth_tokens_file=_file(TOKENS)).auth_tokens.keys() == {TOKEN}


def test_an_empty_table_of_tokens_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADKEEP_AUTH_TOKENS", "{}")
    assert _problem().startswith("auth_tokens (from environment THREADKEEP_AUTH_TOKENS): must contain a token")


@pytest.mark.parametrize("length", [1, 15])
def test_a_short_token_is_refused_without_printing_it(length: int) -> None:
    token = "hushhushhushhush"[:length]
    file = _file(f'{token} = {{tenant = "t"}}\n')
    for problem in (_problem(auth_tokens={token: {"tenant": "t"}}), _problem(auth_tokens_file=file)):
        assert "fewer than 16 characters: make one with `openssl rand -hex 32`" in problem
        assert "hush" not in problem


@pytest.mark.parametrize("address", [ANYWHERE, "[::]:7443", "192.0.2.1:1", "threadkeep.internal:7443"])
@pytest.mark.parametrize("name", ["grpc_address", "http_address"])
def test_beyond_this_machine_callers_need_tokens_unless_insecure(name: str, address: str) -> None:
    problem = _problem(**{name: address})
    assert problem.startswith(f"{name} (from flag): must be an address of this machine")
    assert "set auth_tokens_file, or insecure = true on a closed network" in problem
    for allowed in ({"auth_tokens": {TOKEN: {"tenant": "t"}}}, {"auth_tokens_file": _file(TOKENS)}, {"insecure": True}):
        assert load_settings(**{name: address}, **allowed).exposed_at == [name]  # type: ignore[arg-type]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.1.2.3:1", "[::1]:1", "localhost:1", "LOCALHOST:1"])
def test_on_this_machine_no_token_is_needed(address: str) -> None:
    assert load_settings(grpc_address=address, http_address="").exposed_at == []


def test_insecure_is_set_by_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADKEEP_INSECURE", "true")
    assert load_settings(grpc_address=ANYWHERE).insecure


def test_what_is_allowed_and_dangerous_is_a_caution(tmp_path: Path) -> None:
    tokens = {"auth_tokens": {TOKEN: {"tenant": "t"}}}
    pair = self_signed(tmp_path)
    assert load_settings(insecure=True).cautions == []
    [insecure] = load_settings(grpc_address=ANYWHERE, insecure=True).cautions
    assert insecure.startswith("insecure is set")
    [plain] = load_settings(None, grpc_address=ANYWHERE, **tokens).cautions
    assert plain.startswith("tls_certificate is not set")
    tls = {"tls_certificate": pair.certificate, "tls_private_key": pair.private_key}
    assert load_settings(None, grpc_address=ANYWHERE, **tokens, **tls).cautions == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_file_with_secrets_that_others_may_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    says = f"which holds secrets (mode {mode:04o}); run: chmod 600"
    assert f"{says} tokens.toml" in _problem(auth_tokens_file=_file(TOKENS, mode=mode))
    pair = self_signed(tmp_path)
    pair.private_key.chmod(mode)
    problem = _problem(tls_certificate=pair.certificate, tls_private_key=pair.private_key)
    assert problem.startswith("tls_private_key (from flag): other users")
    assert says in problem
    for secret in (f"[auth_tokens]\n{TOKENS}", 'summarizer_api_key = "sk-1"\n'):
        assert f"{says} threadkeep.toml" in _problem(config_file=_file(secret, "threadkeep.toml", mode))
    load_settings(_file("max_page_size = 1\n", "threadkeep.toml", mode))


def test_a_file_of_root_may_be_readable_by_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a server that is not root can read it, as in a container."""
    stat = Path.stat

    def of_root(path: Path) -> os.stat_result:
        return os.stat_result([0 if number == stat_module.ST_UID else each for number, each in enumerate(stat(path))])

    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(Path, "stat", of_root)
    assert exposed(_file(TOKENS, mode=0o640)) is None
    assert exposed(_file(TOKENS, mode=0o644)) is not None
    assert exposed(_file(TOKENS, mode=0o660)) is not None


def test_tls_needs_both_files_and_they_must_exist(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    assert _problem(tls_certificate=certificate).startswith("tls_private_key: must be set too")
    assert _problem(tls_private_key=key).startswith("tls_certificate: must be set too")
    missing = _problem(tls_certificate="no.pem", tls_private_key=key)
    assert missing.startswith("tls_certificate (from flag): cannot read 'no.pem': No such file or directory")
    assert load_settings(tls_certificate=certificate, tls_private_key=key).tls_private_key == key


def test_tls_files_that_are_wrong_are_one_line(tmp_path: Path) -> None:
    right, other, locked = (self_signed(tmp_path, name) for name in ("right", "other", "locked"))
    locked = self_signed(tmp_path, "locked", password=b"hush")
    empty = _file("", "empty.pem")
    wrong = [
        Pair(right.certificate, other.private_key),
        Pair(right.private_key, right.private_key),
        Pair(empty, right.private_key),
        Pair(right.certificate, empty),
        locked,
    ]
    for certificate, key in wrong:
        problem = _problem(tls_certificate=certificate, tls_private_key=key)
        assert problem.startswith("tls_certificate (from flag): must be the PEM file of a certificate chain")
        assert "\n" not in problem


def test_paths_begin_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = load_settings(data_dir="~/data", audit_log="~/audit.log", auth_tokens_file=Path("~") / _file(TOKENS))
    assert (settings.data_dir, settings.audit_log) == (tmp_path / "data", str(tmp_path / "audit.log"))
    assert settings.auth_tokens_file == tmp_path / "tokens.toml"
    assert "cannot read" in _problem(tls_certificate="~no-such-user/x", tls_private_key="~no-such-user/x")


def test_settings_of_identity_that_would_admit_too_much_are_refused(tmp_path: Path) -> None:
    pair, issuer = self_signed(tmp_path), "https://issuer.example"
    tls = {"tls_certificate": pair.certificate, "tls_private_key": pair.private_key}
    assert _problem(jwt_issuer=issuer).startswith("jwt_audience: must be set with jwt_issuer")
    assert _problem(jwt_issuer=issuer, jwt_audience="a", jwt_tenant_claim="").startswith("jwt_tenant: must be set")
    assert "needs jwt_issuer, whose tokens" in _problem(console_oidc_client_id="console")
    for bad in ("https://user:secret@issuer.example", "https://a.example;script-src *"):
        problem = _problem(jwt_issuer=bad, jwt_audience="a", console_oidc_client_id="console")
        assert "must have only a host and a port" in problem
    for good in (issuer, "https://issuer.example:8443/realms/a", "http://[::1]:8080"):
        assert load_settings(jwt_issuer=good, jwt_audience="a", console_oidc_client_id="console").jwt_issuer == good
    identities = {"agent": {"tenant": "acme", "roles": ["reader"]}}
    assert _problem(tls_client_identities=identities).startswith("tls_client_ca: must be set")
    assert _problem(tls_client_ca=pair.certificate).startswith("tls_client_ca (from flag): needs tls_certificate")
    assert "'reader', 'writer'" in _problem(auth_tokens={"hush": {"tenant": "acme", "roles": ["king"]}})
    assert "must be the PEM file of a CA's certificates" in _problem(tls_client_ca=pair.private_key, **tls)
    settings = load_settings(tls_client_ca=pair.certificate, tls_client_identities=identities, **tls)
    assert json.loads(json.dumps(settings.public()))["tls_client_identities"] == identities
    assert load_settings(jwt_issuer=issuer, jwt_audience="a", jwt_algorithms=["ES256"]).jwt_algorithms == "ES256"
