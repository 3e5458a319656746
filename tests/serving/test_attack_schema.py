"""Requests made from the OpenAPI document itself: no fault of ours, and nothing without a scope."""

from __future__ import annotations

import hashlib

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase

from rankloop.serving.routes.openapi import document
from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

SCOPES = ["rank", "feedback", "admin", "metrics"]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    digest = hashlib.sha256(b"all").hexdigest()
    loop = {"features": 2, "rankers": ["solar-i", "slam:measure=AP"]}
    loop["journal"] = str(tmp_path_factory.mktemp("schema") / "j")
    plain = {"loops": {"shop": loop}}
    plain["tokens"] = [{"name": "all", "sha256": digest, "scopes": SCOPES}]
    plain["limits"] = {"requests_per_second": 1e6, "events_per_second": 1e6}
    running = Service.start(as_settings(plain))
    with background(running) as url:
        running.url = url
        yield running
    running.stop()


@pytest.fixture
def schema(service):
    return schemathesis.openapi.from_dict(document(service.endpoints, ["shop"], tokens=False))


def operations(schema):
    """Return all but the stream, which never ends."""
    found = [one.ok() for one in schema.get_all_operations()]
    return [one for one in found if not one.path.endswith("/events") or one.method == "post"]


@pytest.mark.slow
@pytest.mark.parametrize("token", ["all", "wrong", None])
def test_requests_made_from_the_document(service, schema, token):
    """With a token nothing is a fault of ours; without one, nothing at all happens."""
    before = service.loops["shop"].head
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    n = 8 if token == "all" else 3
    for operation in operations(schema):

        @hypothesis.settings(
            max_examples=n,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy())
        def ask(case):
            answer = case.call(base_url=service.url, headers=headers)
            fine = answer.status_code < 500 or "min_version" in answer.text
            assert fine, (case.as_curl_command(), answer.text)
            if case.operation.definition.raw.get("security") and token != "all":
                assert answer.status_code == 401

        ask()
    loop = service.loops["shop"]
    loop.settle()
    assert loop.ready
    if token != "all":
        assert loop.head == before
