"""Every RPC of the protos has a method of its own in every SDK: its written sources use the stub's method."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CLIENT = ROOT / "client"
JAVA = "java/src/main/java/dev/threadkeep"
STREAMS = {
    "WatchSession": r"\.watchPublisher\(",
    "WatchAll": r"\.watchAllPublisher\(",
    "Consume": r"\bconsumer\.(runAsync|publisher)\(",
    "AppendStream": r"\.appendStream\(",
}
"""The calls of Java's blocking handles from which the asynchronous ones have their streams."""
NEVER = "(?!)"


@dataclass(frozen=True)
class Layer:
    """The written layer of an SDK: its files, and how one of them uses the stub's method of an RPC."""

    files: tuple[str, ...]
    use: str
    """A regular expression with the fields `rpc`, `camel`, `snake`, `service` and, for Java, `operation` and `stream`."""
    comment: str = "//"

    def source(self) -> str:
        """All files without comments."""
        found = [path for pattern in self.files for path in sorted(CLIENT.glob(pattern)) if "gen" not in path.parts]
        assert found, f"no files match {self.files}"
        comment = rf"{self.comment}.*|^\s*/?\*.*"
        return "\n".join(re.sub(comment, "", path.read_text(), flags=re.MULTILINE) for path in found)


LAYERS: Mapping[str, Layer] = {
    "python": Layer(("python/threadkeep/_async/*.py", "python/threadkeep/_streams/*_aio.py"), r"\w\.{rpc}\b", "#"),
    "typescript": Layer(("typescript/src/**/*.ts",), r"[\w)]\.{camel}\("),
    "go": Layer(("go/*.go",), r"\.raw\.\w+\.{rpc}\b"),
    # Both clients of Java run operations, which alone use the stub's methods, except those of streams in both directions.
    "java": Layer((f"{JAVA}/*.java", f"{JAVA}/internal/*.java"), r"{operation}|\b{service}Grpc\.get{rpc}Method\(\)"),
    "java async": Layer((f"{JAVA}/async/*.java",), r"{operation}|{stream}"),
    # A line in the table of calls makes no method: a function that returns or awaits the call, or uses the stub's method, does.
    "rust": Layer(
        ("rust/src/**/*.rs",),
        r"\bpub fn [^{;]*-> \w+<(v1::)?{rpc}Request>|\bCall::new\([^;]*\b{rpc}Request {[^;]*\.await|(\b\w+|\(\))\.{snake}\(",
    ),
}


def rpcs() -> dict[str, str]:
    """The RPCs, each with its service."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "proto/threadkeep/v1").glob("*_service.proto")):
        text = path.read_text()
        [service] = re.findall(r"^service (\w+) {", text, re.MULTILINE)
        found |= dict.fromkeys(re.findall(r"^  rpc (\w+)\(", text, re.MULTILINE), service)
    return found


RPCS = rpcs()


def java_operations() -> dict[str, set[tuple[str, str]]]:
    """The operations of the Java SDK, class and name, that call an RPC by its stub's method or by another of their class."""
    found: dict[str, set[tuple[str, str]]] = {}
    for path in sorted((CLIENT / JAVA / "internal/operations").glob("*Operations.java")):
        bodies: dict[str, str] = {}
        for text in re.split(r"^  (?:public|private) static ", path.read_text(), flags=re.MULTILINE)[1:]:
            [name] = re.findall(r"\A(?:<.*?> )?[^(=;]*?(\w+)\(", text) or [""]
            bodies[name] = bodies.get(name, "") + text
        for rpc, service in RPCS.items():
            callers = {name for name, body in bodies.items() if f"{service}Grpc.get{rpc}Method()" in body}
            callers |= {name for name, body in bodies.items() if any(_calls(body, called) for called in callers)}
            found.setdefault(rpc, set()).update((path.stem, name) for name in callers)
    return found


def _calls(body: str, name: str) -> bool:
    return re.search(rf"(?<![.\w]){name}\(", body) is not None


OPERATIONS = java_operations()


def has_method(language: str, source: str, rpc: str) -> bool:
    names = {
        "rpc": rpc,
        "camel": rpc[0].lower() + rpc[1:],
        "snake": re.sub(r"(?<!^)(?=[A-Z])", "_", rpc).lower(),
        "service": RPCS.get(rpc, "Service"),
        "operation": "|".join(rf"\b{kind}(\.|::){name}\b" for kind, name in sorted(OPERATIONS.get(rpc, ()))) or NEVER,
        "stream": STREAMS.get(rpc, NEVER),
    }
    pattern = re.sub(r"{(rpc|camel|snake|service|operation|stream)}", lambda match: names[match.group(1)], LAYERS[language].use)
    return re.search(pattern, source) is not None


@pytest.mark.parametrize("language", LAYERS)
def test_every_rpc_has_a_method(language: str) -> None:
    source = LAYERS[language].source()
    assert not has_method(language, source, "NoSuchCall")
    missing = {rpc for rpc in RPCS if not has_method(language, source, rpc)}
    assert not missing, f"{language} has no method for {sorted(missing)}"


def test_a_line_in_the_table_of_calls_is_no_method_of_rust() -> None:
    line = "GetSessionRequest: sessions.get_session -> v1::Session;"
    assert not has_method("rust", line, "GetSession")
    assert not has_method("rust", f"{line} fn get(&self) -> Call<GetSessionRequest> {{", "GetSession")
    assert has_method("rust", f"{line} pub fn get(\n    &self,\n) -> Call<GetSessionRequest> {{", "GetSession")


def test_an_operation_that_a_handle_runs_is_a_method_of_java_asynchronous() -> None:
    assert has_method("java async", "return client.start(() -> SessionOperations.get(ref));", "GetSession")
    assert has_method("java async", "return start(OwnerOperations::tools);", "ListTools")
    assert has_method("java async", "return client.start(() -> MemoryOperations.deleteAll(scope));", "DeleteMemories")
    assert not has_method("java async", "return client.start(() -> SessionOperations.get(ref));", "DeleteSession")
    assert not has_method("java async", "SessionServiceGrpc.getGetSessionMethod()", "GetSession")


def test_the_v1_entry_of_typescript_exports_every_generated_file() -> None:
    source = CLIENT / "typescript/src"
    exported = set(re.findall(r'export \* from "\./gen/threadkeep/v1/(\w+)\.js"', (source / "v1.ts").read_text()))
    assert exported == {path.stem for path in (source / "gen/threadkeep/v1").glob("*.ts")}
