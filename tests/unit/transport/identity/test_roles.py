"""The role of each RPC, and the caller that lacks it."""

from __future__ import annotations

import importlib
import pkgutil

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.rpc import error_details_pb2, status_pb2
from grpc_channelz.v1 import channelz_pb2, channelz_pb2_grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

import threadkeep.v1
from threadkeep.v1 import access_pb2
from threadkeep_server.domain.errors import PermissionDenied, Unauthenticated
from threadkeep_server.domain.model import Caller
from threadkeep_server.domain.roles import ANY, DATA, EVERY, NAMES, OPS, READER, granted
from threadkeep_server.transport.auth import Authenticator
from threadkeep_server.transport.grpc.server import serve_grpc
from threadkeep_server.transport.rpc import required_role


def methods() -> list[MethodDescriptor]:
    names = [each.name for each in pkgutil.iter_modules(threadkeep.v1.__path__) if each.name.endswith("_service_pb2")]
    files = [importlib.import_module(f"threadkeep.v1.{name}").DESCRIPTOR for name in names]
    return [method for file in files for service in file.services_by_name.values() for method in service.methods]


def test_the_roles_of_the_server_are_those_of_the_protos() -> None:
    names = {name.removeprefix("ACCESS_ROLE_").lower() for name in access_pb2.AccessRole.keys()}  # noqa: SIM118
    assert names == {"unspecified", ANY, *NAMES}


def test_every_rpc_names_a_role_and_a_reader_changes_nothing() -> None:
    roles = {method.full_name: required_role(method) for method in methods()}
    assert len(roles) >= 36
    assert set(roles.values()) <= {ANY, *NAMES}
    reads = {each.full_name for each in methods() if each.GetOptions().idempotency_level == each.GetOptions().NO_SIDE_EFFECTS}
    assert {name for name, role in roles.items() if role in {ANY, READER}} <= reads


def test_a_method_without_a_role_is_not_served() -> None:
    check = health_pb2.DESCRIPTOR.services_by_name["Health"].methods_by_name["Check"]
    with pytest.raises(ValueError, match=r"grpc\.health\.v1\.Health\.Check has no required_role"):
        required_role(check)


def test_a_role_includes_lesser_ones_and_ops_is_none_of_them() -> None:
    assert granted([]) == {ANY}
    assert granted(["writer"]) == {ANY, "reader", "writer"}
    assert granted(["admin"]) == DATA == EVERY - {OPS}
    assert granted(["ops"]) == {ANY, OPS}
    with pytest.raises(ValueError, match="'king' is not a role; the roles are reader, writer, compactor, admin, ops"):
        granted(["reader", "king"])


async def test_the_token_decides_and_the_error_names_the_role() -> None:
    reader = Caller("acme", "alice", granted(["reader"]))
    authenticator = Authenticator({"tok": reader})
    assert await authenticator.admit("reader", "bearer tok ", method="/m") is reader
    with pytest.raises(PermissionDenied) as denied:
        await authenticator.admit("writer", "Bearer tok", method="/m")
    assert denied.value.metadata == {"role": "writer"}
    assert "the role writer" in denied.value.message
    with pytest.raises(Unauthenticated):
        await authenticator.admit(ANY, "Bearer other", method="/m")


async def test_without_authentication_everybody_has_every_role() -> None:
    assert (await Authenticator({}).admit(OPS, None, method="/m")).roles == EVERY


@pytest.mark.parametrize(("token", "role"), [("ops", ""), ("admin", "ops"), ("", "")])
async def test_channelz_and_reflection_need_the_role_ops(token: str, role: str) -> None:
    callers = {name: Caller("acme", roles=granted([name])) for name in NAMES}
    serving = serve_grpc([], Authenticator(callers), "127.0.0.1:0", max_request_bytes=1 << 20, drain_grace=0.2)
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    async with serving as port, grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        channelz = channelz_pb2_grpc.ChannelzStub(channel).GetServers(channelz_pb2.GetServersRequest(), metadata=metadata)
        asked = reflection_pb2.ServerReflectionRequest(list_services="")
        reflected = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter([asked]), metadata=metadata)
        if token == "ops":
            assert (await channelz).server
            assert (await anext(aiter(reflected))).list_services_response.service
        else:
            for call in (channelz, reflected):
                code, reason, found = await refusal(call)
                expected = ("PERMISSION_DENIED", role) if token else ("UNAUTHENTICATED", "")
                assert (code.name, reason, found) == (expected[0], *expected)
        health = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        assert (await health).status == health_pb2.HealthCheckResponse.SERVING


async def refusal(call: object) -> tuple[grpc.StatusCode, str, str]:
    """Returns the code, the reason and the role of the error of a call."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call if hasattr(call, "__await__") else [each async for each in call]  # type: ignore[attr-defined]
    packed = dict(raised.value.trailing_metadata() or ())["grpc-status-details-bin"]
    info = error_details_pb2.ErrorInfo()
    assert status_pb2.Status.FromString(packed).details[0].Unpack(info)
    return raised.value.code(), info.reason, info.metadata.get("role", "")
