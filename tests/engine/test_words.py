"""What engines say, and what it becomes. The texts are as engines gave them."""

import pytest

from repro.engine import failures, gpus
from repro.engine.buildlog import BuildLog
from repro.engine.containers import Host, Wish, options
from repro.engine.contract import Job
from repro.engine.pulllog import PullLog
from repro.errors import ReproError, kinds
from repro.events import Progress


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            'Get "https://r.example/v2/": dial tcp: lookup r.example on 10.0.0.1:53: no such host',
            "registry-unreachable",
        ),
        (
            "Get https://r.example/v2/: net/http: request canceled (Client.Timeout exceeded)",
            "registry-unreachable",
        ),
        (
            "tls: failed to verify certificate: x509: certificate signed by unknown authority",
            "registry-unreachable",
        ),
        ("toomanyrequests: You have reached your pull rate limit.", "registry-unreachable"),
        (
            "pull access denied for nope, repository does not exist or may require 'docker login'",
            "base-not-found",
        ),
        ("manifest for python:9.9-slim not found: manifest unknown", "base-not-found"),
        ("no matching manifest for linux/arm64/v8 in the manifest list entries", "base-not-found"),
        ("something nobody has seen", "registry-unreachable"),
        ("failed to register layer: write /x: no space left on device", "disk-full"),
    ],
)
def test_a_failed_pull_has_a_cause(text: str, code: str) -> None:
    error = failures.pull_failed("python:3.11", text)
    assert error.code == code
    assert error.found == (text,)
    assert error.code in kinds()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('could not select device driver "" with capabilities: [[gpu]]', "Toolkit is not set up"),
        ('could not select device driver "nvidia" with capabilities: [[gpu]]', "Toolkit is not set up"),
        ('could not select device driver "" with capabilities: []', "Toolkit is not set up"),
        ('could not select device driver "cdi" with capabilities: []', "CDI is not enabled"),
        ("Unknown runtime specified nvidia", "Toolkit is not set up"),
        ("CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=7", "no CDI device"),
        (
            'unresolvable CDI devices nvidia.com/gpu=7\ncould not select device driver "": [[gpu]]',
            "no NVIDIA runtime to fall back to",
        ),
        (
            'error gathering device information "nvidia.com/gpu=0": no such file or directory',
            "for a path",
        ),
        ("cannot set both Count and DeviceIDs on device request", "one of the two"),
        ("error running hook: requirement error: unsatisfied condition: cuda>=12.4", "driver"),
        ("error running hook: device error: 9: unknown device", "no GPU"),
    ],
)
def test_refused_cards_are_explained(text: str, says: str) -> None:
    error = gpus.explain("all", text)
    assert error is not None
    assert error.code == "gpu-unavailable"
    assert says in error.message
    assert len(error.tries) > 1


@pytest.mark.parametrize("version", ["4.3.1", "4.9.3", "5.3.0"])
def test_a_podman_that_drops_requests_is_not_asked(version: str) -> None:
    with pytest.raises(ReproError) as caught:
        gpus.refuse_if_dropped("all", "podman", version)
    assert caught.value.code == "gpu-unavailable"
    assert caught.value.found == (f"Podman {version}",)


def test_engines_that_heed_requests_are_asked() -> None:
    gpus.refuse_if_dropped("none", "podman", "4.3.1")
    gpus.refuse_if_dropped("all", "podman", "5.4.0")
    gpus.refuse_if_dropped("all", "docker", "20.10.24+dfsg1")


def test_other_refusals_are_not_about_cards() -> None:
    assert gpus.explain("all", "No such image: x") is None


def test_cards_are_asked_for_with_compute() -> None:
    (all_cards,) = gpus.request("all", "request")
    assert all_cards["Count"] == -1
    assert all_cards["Capabilities"] == [["gpu", "compute", "utility"]]
    (two,) = gpus.request("0,GPU-ab", "request")
    assert two["DeviceIDs"] == ["0", "GPU-ab"]
    (named,) = gpus.request("0,1", "cdi")
    assert (named["Driver"], named["DeviceIDs"]) == ("cdi", ["nvidia.com/gpu=0", "nvidia.com/gpu=1"])
    assert gpus.request("none", "request") == []


def test_wishes_are_given_up_one_by_one() -> None:
    wish = Wish(gpu="cdi")
    limits = wish.after("error setting rlimit type 7: operation not permitted")
    assert limits == Wish(nofile=False, gpu="cdi")
    assert limits.after("error setting rlimit type 7: operation not permitted") is None
    assert wish.after('could not select device driver "cdi" with capabilities: []') == Wish(gpu="request")
    assert Wish(gpu="request").after('could not select device driver "" with capabilities: [[gpu]]') is None
    assert wish.after("container create: pids limit controller is not available") == Wish(
        pids=False, gpu="cdi"
    )


def test_a_rootless_engine_gets_the_containers_root() -> None:
    chosen = options(Job("i", ("x",)), Host(rootless=True, cdi=False), Wish())
    assert chosen["user"] == "0:0"


def test_a_build_log_keeps_the_failing_step() -> None:
    seen: list[object] = []
    log = BuildLog(seen.append)
    messages = [
        {"stream": "Step 1/2 : FROM base\n"},
        {"stream": " ---> 012345\n"},
        {"stream": "Step 2/2 : RUN pip install\n"},
        {"stream": "Looking in https://me:secret@index.example/simple\n"},
        {"stream": "ERROR: THESE PACKAGES DO NOT MATCH "},
        {"stream": "THE HASHES\n"},
        {"error": "The command returned a non-zero code: 1", "errorDetail": {"code": 1}},
    ]
    with pytest.raises(ReproError) as caught:
        log.read(messages)
    assert caught.value.code == "image-build-failed"
    assert "RUN pip install" in caught.value.message
    assert caught.value.why == "a wheel is not the file that was locked"
    assert "secret" not in "".join(caught.value.found)
    assert [e.done for e in seen if isinstance(e, Progress)] == [1, 2]


def test_a_full_disk_while_building_is_one() -> None:
    with pytest.raises(ReproError) as caught:
        BuildLog(lambda _event: None).read(
            [{"error": "Error processing tar file: write /x: no space left on device"}]
        )
    assert caught.value.code == "disk-full"


def test_a_build_log_counts_cached_steps_and_knows_the_result() -> None:
    log = BuildLog(lambda _event: None)
    log.read([{"stream": "Step 1/1 : FROM x\n ---> Using cache\n"}, {"aux": {"ID": "sha256:ab"}}])
    assert (log.cached_steps, log.image_id) == (1, "sha256:ab")


def test_a_pull_adds_up_its_layers() -> None:
    seen: list[object] = []
    PullLog("x:1", seen.append).read(
        [
            {"status": "Downloading", "id": "a", "progressDetail": {"current": 1, "total": 10}},
            {"status": "Downloading", "id": "b", "progressDetail": {"current": 5, "total": 20}},
        ]
    )
    assert seen[-1] == Progress("pull x:1", 6, 30, "B")
