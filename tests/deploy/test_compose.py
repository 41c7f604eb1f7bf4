"""compose.yaml: valid by the compose specification, and its parts fit each other, the image and the server's settings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose

from threadkeep_server.config.settings import load_settings

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "compose"
CHOSEN = {"POSTGRES_PASSWORD": "p", "GRAFANA_PASSWORD": "g", "THREADKEEP_TOKEN": "0123456789abcdef0123456789abcdef"}
"""The variables that a reader sets."""
_VARIABLE = re.compile(r"\$\{(\w+)(:[-?])([^}]*)\}")


def interpolated() -> dict[str, Any]:
    """The file as compose reads it."""
    text = (FOLDER / "compose.yaml").read_text()
    needed = {name for name, kind, _ in _VARIABLE.findall(text) if kind == ":?"}
    assert needed == CHOSEN.keys()
    found = yaml.safe_load(_VARIABLE.sub(lambda match: CHOSEN.get(match[1], match[3]), text))
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = interpolated()["services"]
    return found


def test_file_is_valid_by_the_specification() -> None:
    text = json.dumps(interpolated())
    assert set(PyCompose.from_json(text).service_names()) == {"server", "postgres", "prometheus", "grafana", "collector"}
    with pytest.raises(ValueError, match="read_onli"):
        PyCompose.from_json(text.replace('"read_only"', '"read_onli"', 1))


def test_every_image_is_pinned_and_restarts(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert re.fullmatch(r"[\w/-]+:v?\d+(\.\d+)*(-\w+)?", service["image"]), name
        assert service["restart"] == "unless-stopped"
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_ports_are_open_to_this_machine_only(services: dict[str, Any]) -> None:
    published = [port for service in services.values() for port in service.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_every_mounted_file_exists(services: dict[str, Any]) -> None:
    mounts = [volume for service in services.values() for volume in service.get("volumes", ()) if volume.startswith(".")]
    assert len(mounts) == 6
    assert [each for each in mounts if not (FOLDER / each.partition(":")[0]).is_file()] == []


def test_settings_of_the_server_are_valid(services: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    image = (ROOT / "deploy" / "container" / "Containerfile").read_text()
    variables = dict(re.findall(r"(THREADKEEP_\w+)=(\S+)", image)) | services["server"]["environment"]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert settings.database_url.startswith("postgresql://threadkeep:p@postgres:5432/")
    assert settings.export_traces == "otlp"
    assert not settings.insecure


def test_prometheus_and_grafana_reach_what_they_name(services: dict[str, Any]) -> None:
    prometheus = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    targets = [
        target for job in prometheus["scrape_configs"] for config in job["static_configs"] for target in config["targets"]
    ]
    assert targets == ["server:7490", "collector:8888"]
    [source] = yaml.safe_load((FOLDER / "grafana" / "datasource.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    [provider] = yaml.safe_load((FOLDER / "grafana" / "dashboards.yaml").read_text())["providers"]
    assert any(f":{provider['options']['path']}/" in volume for volume in services["grafana"]["volumes"])


def test_collector_receives_where_the_server_sends(services: dict[str, Any]) -> None:
    collector = yaml.safe_load((FOLDER / "collector.yaml").read_text())
    port = collector["receivers"]["otlp"]["protocols"]["grpc"]["endpoint"].rpartition(":")[2]
    assert services["server"]["environment"]["THREADKEEP_OTLP_ENDPOINT"] == f"http://collector:{port}"
    for pipeline in collector["service"]["pipelines"].values():
        for part in ("receivers", "processors", "exporters"):
            assert set(pipeline[part]) <= collector[part].keys()
