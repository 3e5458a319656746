"""The files that deploy the service, each against what would read it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml

import rankloop as rl
from rankloop.serving.metrics import Metrics
from rankloop.serving.routes.base import Endpoint
from rankloop.serving.settings.service import read_settings

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
DASHBOARD = json.loads((DEPLOY / "grafana" / "rankloop.json").read_text())
ALERTS = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())
KUBERNETES = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "rankloop.yaml").read_text()))
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()


def promtool(*words: object) -> subprocess.CompletedProcess[str]:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed: it is part of Debian's package prometheus")
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True)


def expressions() -> list[str]:
    panels = (target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"])
    rules = (rule["expr"] for group in ALERTS["groups"] for rule in group["rules"])
    return [*panels, *rules]


def test_every_metric_that_is_read_exists():
    text = Metrics({}).text().decode()
    known = set(re.findall(r"^# TYPE (\w+)", text, re.M))
    for family in list(known):
        known |= {f"{family}_{end}" for end in ("bucket", "count", "sum", "total")}
    read = set(chain.from_iterable(re.findall(r"\brankloop_\w+", e) for e in expressions()))
    assert read
    assert read <= known


def test_every_route_that_is_read_exists():
    from rankloop.serving.routes.endpoints import ENDPOINTS

    routes = {f"{e.method} {e.path}" for e in ENDPOINTS if isinstance(e, Endpoint)}
    read = set(chain.from_iterable(re.findall(r'route="([^"]+)"', e) for e in expressions()))
    assert read
    assert read <= routes


def test_rules_of_alerts():
    checked = promtool("check", "rules", DEPLOY / "prometheus" / "alerts.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_alerts_fire_and_stay_silent(tmp_path):
    """Prometheus itself evaluates the rules on made-up series."""
    (tmp_path / "alerts.yml").write_text((DEPLOY / "prometheus" / "alerts.yml").read_text())
    series = [
        ('up{job="rankloop",instance="a"}', "1 1 0 0 0 0"),
        ('rankloop_ready{loop="shop",instance="a"}', "1 1 1 1 1 1"),
        ('rankloop_leads{loop="shop",instance="a"}', "1 1 1 1 1 1"),
        ('rankloop_lag{loop="shop",instance="a"}', "0 6000 9000 0 0 0"),
    ]
    down = {"severity": "page", "job": "rankloop", "instance": "a"}
    annotations = {
        "summary": "a does not answer",
        "description": "Look at its log, then restart it: nothing that was acknowledged is lost.",
    }
    silent = [
        {"eval_time": "5m", "alertname": rule["alert"], "exp_alerts": []}
        for group in ALERTS["groups"]
        for rule in group["rules"]
        if rule["alert"] != "RankloopDown"
    ]
    fires = {
        "eval_time": "5m",
        "alertname": "RankloopDown",
        "exp_alerts": [{"exp_labels": down, "exp_annotations": annotations}],
    }
    tests = {
        "rule_files": ["alerts.yml"],
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series],
                "alert_rule_test": [fires, *silent],
            }
        ],
    }
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(tests))
    checked = promtool("test", "rules", tmp_path / "tests.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_configuration_of_prometheus(tmp_path):
    token = tmp_path / "token"
    token.write_text("secret")
    for file in (DEPLOY / "prometheus").iterdir():
        text = file.read_text().replace("/run/secrets/prometheus-token", str(token))
        (tmp_path / file.name).write_text(text)
    checked = promtool("check", "config", tmp_path / "prometheus.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_settings_of_containers_are_valid():
    address = {"RANKLOOP__LOOPS__PRODUCTS__JOURNAL": "postgresql://rankloop@db/rankloop"}
    settings = read_settings(DEPLOY / "serve.toml", address)
    assert settings.loops["products"].journal == "postgresql://rankloop@db/rankloop"
    assert {scope for token in settings.tokens for scope in token.scopes} == {
        "rank",
        "feedback",
        "metrics",
    }


def test_settings_of_kubernetes_are_valid(tmp_path):
    (settings,) = (r["data"]["serve.toml"] for r in KUBERNETES if r["kind"] == "ConfigMap")
    (tmp_path / "serve.toml").write_text(settings)
    assert read_settings(tmp_path / "serve.toml", {}).loops.keys() == {"products"}
    # The same rules as in the other containers, apart from the name of the token.
    ours = tomllib.loads((DEPLOY / "serve.toml").read_text())
    assert tomllib.loads(settings)["loops"] == ours["loops"]


@pytest.mark.filterwarnings("ignore")  # of the package that checks
@pytest.mark.parametrize("resource", KUBERNETES, ids=lambda r: r["kind"])
def test_resources_of_kubernetes_fit_its_schema(resource):
    validate = pytest.importorskip("kubernetes_validate")
    version = validate.latest_version()
    validate.validate(resource, version, strict=True)
    with pytest.raises(validate.ValidationError):  # it does look
        validate.validate({**resource, "colour": "red"}, version, strict=True)


def test_kubernetes_points_at_what_exists():
    (deployment,) = (r for r in KUBERNETES if r["kind"] == "Deployment")
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert container["image"] == f"rankloop:{rl.__version__}"
    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    labels = pod["metadata"]["labels"]
    for resource in KUBERNETES:
        selector = resource.get("spec", {}).get("selector", {})
        if selector:
            assert selector.get("matchLabels", selector) == labels
    user = re.search(r"--uid (\d+)", DOCKERFILE)
    assert user is not None
    assert pod["spec"]["securityContext"]["runAsUser"] == int(user[1])


def test_compose_mounts_and_secrets_exist():
    for service in COMPOSE["services"].values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (DEPLOY / source).exists(), source
        assert set(service.get("secrets", [])) <= COMPOSE["secrets"].keys()
        assert service.get("depends_on", {}).keys() <= COMPOSE["services"].keys()
    assert COMPOSE["services"]["rankloop"]["read_only"]


def test_image_copies_what_the_build_needs():
    """The context is a list of exceptions, so that no secret gets into an image by accident."""
    root = DEPLOY.parent
    copied = {
        word.strip("/")
        for line in re.findall(r"^COPY (?!--from)(.+) /\S*$", DOCKERFILE, re.M)
        for word in line.split()
    }
    assert all((root / word).exists() for word in copied)
    allowed = set(re.findall(r"^!(\S+)", (root / ".dockerignore").read_text(), re.M))
    assert copied == allowed
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert {project["readme"], *project["license-files"]} <= copied


def test_dashboard_is_one_that_grafana_reads():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    provided = yaml.safe_load(
        (DEPLOY / "grafana/provisioning/dashboards/rankloop.yaml").read_text()
    )
    folder = provided["providers"][0]["options"]["path"]
    mounts = COMPOSE["services"]["grafana"]["volumes"]
    assert f"./grafana/rankloop.json:{folder}/rankloop.json:ro" in mounts


def test_citation_names_this_version():
    citation = yaml.safe_load((DEPLOY.parent / "CITATION.cff").read_text())
    assert citation["version"] == rl.__version__
    assert len(citation["references"]) == 5
