"""The Helm chart: rendered with several sets of values, valid for Kubernetes, with what a cluster needs of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.runs.toolchains import require
from threadkeep_server.config.settings import ConfigError, Settings, load_settings

from .rendering import CHART, Rendered, render

SECRETS = {"database": {"existingSecret": "database"}, "auth": {"existingSecret": "tokens"}}
SQLITE = {"database": {"engine": "sqlite"}, "auth": {"existingSecret": "tokens"}}
ALL = {
    "image": {"repository": "registry.internal/threadkeep", "digest": "sha256:" + "0" * 64, "pullSecrets": [{"name": "pull"}]},
    "database": {"existingSecret": "database", "key": "uri"},
    "replicas": 3,
    "auth": {"existingSecret": "tokens", "key": "t", "oidc": {"issuer": "https://issuer.internal", "audience": "threadkeep"}},
    "tls": {"enabled": True, "existingSecret": "certificate", "clients": True},
    "settings": {"default_ttl": "90d", "max_calls": 500, "audit_reads": True},
    "envFrom": [{"secretRef": {"name": "keys"}}],
    "service": {"type": "LoadBalancer", "annotations": {"a": "b"}},
    "autoscaling": {"enabled": True, "callsInFlight": 40},
    "networkPolicy": {
        "from": [{"podSelector": {"matchLabels": {"agents": "yes"}}}],
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
        "egress": [{"ports": [{"port": 5432, "protocol": "TCP"}]}],
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "podAnnotations": {"a": "b"},
    "podLabels": {"c": "d"},
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "agents", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "topologySpreadConstraints": [],
}
VALUES: dict[str, dict[str, Any]] = {
    "several servers": SECRETS,
    "one server": SQLITE,
    "all": ALL,
    "inline": {"database": {"url": "postgresql://u:p@db/t"}, "auth": {"tokens": '0123456789abcdef = {tenant = "acme"}\n'}},
    "least": SECRETS
    | {
        "database": {"existingSecret": "database", "migrate": False},
        "auth": {"insecure": True},
        "preStopSeconds": 0,
        **{name: {"enabled": False} for name in ("podDisruptionBudget", "networkPolicy")},
        "serviceAccount": {"create": False},
        "service": {"headless": True},
    },
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no database": ({"auth": {"insecure": True}}, "set database.existingSecret"),
    "no authentication": ({"database": {"existingSecret": "d"}}, "set auth.existingSecret"),
    "a misspelled value": (SECRETS | {"replica": 2}, "additional properties 'replica' not allowed"),
    "two servers on SQLite": (SQLITE | {"replicas": 2}, "replicas"),
    "autoscaling on SQLite": (SQLITE | {"autoscaling": {"enabled": True}}, "autoscaling"),
    "TLS without a certificate": (SECRETS | {"tls": {"enabled": True}}, "existingSecret"),
    "a URL of another database": (SECRETS | {"database": {"url": "mysql://d"}}, "url"),
    "no time to drain": (SECRETS | {"terminationGracePeriodSeconds": 9}, "terminationGracePeriodSeconds must be"),
    "an issuer without an audience": (
        {"database": {"existingSecret": "d"}, "auth": {"oidc": {"issuer": "https://i"}}},
        "audience",
    ),
    "scaling by nothing": (SECRETS | {"autoscaling": {"enabled": True, "cpu": 0}}, "autoscaling requires"),
}


@pytest.fixture(scope="module")
def rendered() -> dict[str, Rendered]:
    require("go")
    return render(VALUES | {name: values for name, (values, _) in REFUSED.items()})


@pytest.mark.parametrize("name", VALUES)
def test_manifests_are_valid_for_kubernetes(rendered: dict[str, Rendered], name: str) -> None:
    assert (rendered[name].error, rendered[name].wrong) == ("", ())
    for (kind, _), manifest in rendered[name].manifests.items():
        pod = manifest["spec"]["template"] if kind in {"Deployment", "StatefulSet", "Job"} else None
        if pod is not None:
            assert_restricted(pod["spec"])


def assert_restricted(pod: dict[str, Any]) -> None:
    """Fails unless the pod may run in a namespace of the level `restricted`, with a root that nothing can write to."""
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert {"data", "tmp"} <= mounted


@pytest.mark.parametrize("name", REFUSED)
def test_values_that_cannot_work_are_refused(rendered: dict[str, Rendered], name: str) -> None:
    assert REFUSED[name][1] in rendered[name].error


def test_postgres_has_two_servers_that_may_be_moved_one_by_one(rendered: dict[str, Rendered]) -> None:
    found = rendered["several servers"]
    assert found.kinds == {
        "ConfigMap",
        "Deployment",
        "Job",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Service",
        "ServiceAccount",
    }
    spec = found.one("Deployment")["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert found.one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    job = found.one("Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == ["db", "upgrade"]
    assert "2 servers on PostgreSQL" in found.notes


def test_sqlite_is_a_stateful_set_of_one(rendered: dict[str, Rendered]) -> None:
    found = rendered["one server"]
    assert found.kinds == {"ConfigMap", "StatefulSet", "NetworkPolicy", "Service", "ServiceAccount"}
    spec = found.one("StatefulSet")["spec"]
    assert spec["replicas"] == 1
    assert spec["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == "10Gi"
    assert "env" not in spec["template"]["spec"]["containers"][0]


def test_all_features_reach_the_manifests(rendered: dict[str, Rendered]) -> None:
    found = rendered["all"]
    metrics = found.one("HorizontalPodAutoscaler")["spec"]["metrics"]
    assert [each["type"] for each in metrics] == ["Resource", "Pods"]
    assert metrics[1]["pods"]["metric"]["name"] == "threadkeep_calls_in_flight"
    assert "replicas" not in found.one("Deployment")["spec"], "the autoscaler sets them"
    endpoint = found.one("ServiceMonitor")["spec"]["endpoints"][0]
    assert (endpoint["port"], endpoint["scheme"]) == ("admin", "https")
    policy = found.one("NetworkPolicy")["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    pod = found.one("Deployment")["spec"]["template"]["spec"]
    [server] = pod["containers"]
    assert server["image"] == "registry.internal/threadkeep@sha256:" + "0" * 64
    assert {probe["httpGet"]["scheme"] for name, probe in server.items() if name.endswith("Probe")} == {"HTTPS"}
    assert {volume["name"] for volume in pod["volumes"]} == {"data", "tmp", "tokens", "tls"}


def test_a_url_in_the_values_is_kept_in_a_secret(rendered: dict[str, Rendered]) -> None:
    found = rendered["inline"]
    secret = found.one("Secret")["stringData"]
    assert secret == {"url": "postgresql://u:p@db/t", "tokens.toml": '0123456789abcdef = {tenant = "acme"}\n'}
    assert "postgresql" not in str(found.one("ConfigMap"))
    # The Secret is no hook, so a first install has none when hooks run; the servers create the schema themselves.
    assert found.one("Job")["metadata"]["annotations"]["helm.sh/hook"] == "pre-upgrade"


def test_insecure_is_said_in_the_notes(rendered: dict[str, Rendered]) -> None:
    assert "WARNING: auth.insecure" in rendered["least"].notes
    assert "WARNING" not in rendered["all"].notes


@pytest.mark.parametrize("name", VALUES)
def test_every_variable_is_a_setting(rendered: dict[str, Rendered], name: str) -> None:
    variables = rendered[name].one("ConfigMap")["data"]
    settings = {f"THREADKEEP_{field.upper()}" for field in Settings.model_fields}
    assert variables.keys() <= settings
    assert all(isinstance(value, str) for value in variables.values())


def test_ports_are_those_of_the_image(rendered: dict[str, Rendered]) -> None:
    image = (CHART.parents[1] / "container" / "Containerfile").read_text()
    served = {int(port) for port in re.findall(r"_ADDRESS=0\.0\.0\.0:(\d+)", image)}
    [server] = rendered["several servers"].one("Deployment")["spec"]["template"]["spec"]["containers"]
    assert {port["containerPort"] for port in server["ports"]} == served
    assert f"USER {server_user(rendered['several servers'])}:" in image


def test_migration_accepts_the_settings_of_its_job(rendered: dict[str, Rendered], monkeypatch: pytest.MonkeyPatch) -> None:
    image = (CHART.parents[1] / "container" / "Containerfile").read_text()
    [job] = rendered["several servers"].one("Job")["spec"]["template"]["spec"]["containers"]
    given = {each["name"]: each.get("value", "postgresql://u:p@db/t") for each in job["env"]}
    for name, value in (dict(re.findall(r"(THREADKEEP_\w+)=(\S+)", image)) | given).items():
        monkeypatch.setenv(name, value)
    assert load_settings().database_url == "postgresql://u:p@db/t"
    monkeypatch.delenv("THREADKEEP_INSECURE")
    with pytest.raises(ConfigError, match="auth_tokens"):
        load_settings()


def server_user(found: Rendered) -> int:
    user: int = found.one("Deployment")["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    return user


def test_versions_are_those_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = re.search(r'^version = "(.+)"$', (Path(__file__).parents[2] / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    assert chart["version"] == chart["appVersion"] == version[1]
