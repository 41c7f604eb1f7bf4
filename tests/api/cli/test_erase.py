"""`threadkeep erase`: what it deletes, and receipts."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.api.conftest import Cli
from threadkeep import Client
from threadkeep.cli import main as command_line


@pytest.fixture
def filled(address: str) -> str:
    """The address of a server with a session each of two users in two apps."""
    for user in ("ann", "ben"):
        for app in ("shop", "desk"):
            with Client(address, user_id=user, app=app) as client:
                client.create_session("s", labels={"run": app}, return_existing=True)
    return address


def left(cli: Cli) -> set[tuple[str, str]]:
    rows = cli("sessions", "list", "--all-users", "--json")[1].splitlines()
    return {(row["user_id"], row["app"]) for row in map(json.loads, rows)}


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        (("user", "ann"), {("ben", "shop"), ("ben", "desk")}),
        (("user", "ann", "--app", "shop"), {("ann", "desk"), ("ben", "shop"), ("ben", "desk")}),
        (("app", "shop"), {("ann", "desk"), ("ben", "desk")}),
        (("labels", "run=desk"), {("ann", "shop"), ("ben", "shop")}),
        (("labels", "run=desk", "--user", "ann"), {("ann", "shop"), ("ben", "shop"), ("ben", "desk")}),
    ],
    ids=range(5),
)
@pytest.mark.usefixtures("filled")
def test_erase_deletes_what_it_names(cli: Cli, arguments: tuple[str, ...], kept: set[tuple[str, str]]) -> None:
    before = left(cli)
    code, out, err = cli("erase", *arguments, "--yes")
    assert (code, left(cli)) == (0, before & kept), err
    gone = len(before - kept)
    assert out == f"erased {gone} session{'' if gone == 1 else 's'}, 0 events, 0 memories, 0 consumers\n"


@pytest.mark.usefixtures("filled")
def test_erase_needs_a_confirmation(cli: Cli) -> None:
    before = left(cli)
    code, _, err = cli("erase", "user", "ann")
    assert (code, "confirm with --yes" in err, left(cli)) == (2, True, before)


@pytest.mark.usefixtures("filled")
def test_a_receipt_is_written_for_programs_and_into_a_file(cli: Cli, tmp_path: Path) -> None:
    out = cli("erase", "user", "ann", "--app", "none", "--yes", "--json", "-o", str(tmp_path / "receipt.json"))[1]
    receipt = json.loads(out)
    assert receipt == json.loads((tmp_path / "receipt.json").read_text())
    assert (receipt["deleted_sessions"], json.loads(receipt["statement"])["scope"]["user_id"]) == ("0", "ann")


def test_verify_distinguishes_a_signed_receipt_from_a_changed_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    key, statement = Ed25519PrivateKey.generate(), '{"deleted_sessions":3}'
    public, receipt = tmp_path / "public.pem", tmp_path / "receipt.json"

    def verified() -> tuple[int, str, str]:
        return command_line(["erase", "verify", str(receipt), "--key", str(public)]), *capfd.readouterr()

    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    signature = b64encode(key.sign(statement.encode())).decode()
    receipt.write_text(json.dumps({"statement": statement, "signature": signature}))
    code, out, _ = verified()
    assert (code, out.splitlines()[0], "3" in out) == (0, "the signature is valid; the receipt states:", True)
    receipt.write_text(json.dumps({"statement": statement.replace("3", "4"), "signature": signature}))
    code, out, err = verified()
    assert (code, out, "the receipt was changed, or another key signed it" in err) == (1, "", True)
    receipt.write_text("{}")
    code, _, err = verified()
    assert (code, "is not a signed receipt" in err) == (2, True)
    public.write_text("no key")
    code, _, err = verified()
    assert (code, "is not the PEM file" in err) == (2, True)
