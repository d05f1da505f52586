"""Kills and signals: what was seen stays readable, and nothing half-done passes for whole."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PATIENCE = 120


def start(rt, out, *command, **options):
    words = rt.record_words(out, *command)
    return subprocess.Popen(
        words, env=rt.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options
    )


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.torch
def test_kill_of_everything_leaves_a_readable_trace(rt, tmp_path):
    process = start(
        rt, tmp_path / "run", sys.executable, str(rt.programs / "endless.py"), "0.002", start_new_session=True
    )
    attempt = rt.Attempt(tmp_path / "run")
    wait_for(lambda: lines(attempt.path / "trace-0.jsonl") > 200)
    (child,) = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
    os.kill(process.pid, signal.SIGKILL)
    os.kill(child, signal.SIGKILL)
    process.communicate()
    data = (attempt.path / "trace-0.jsonl").read_bytes().split(b"\n")
    steps = [r["step"] for r in map(json.loads, data[:-1]) if r["k"] == "s"]
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) > 150
    assert attempt.state["status"] == "running"
    assert not (tmp_path / "run" / "result.json").exists()
    again = subprocess.run(
        rt.record_words(tmp_path / "run", "true"), env=rt.environment(), capture_output=True
    )
    assert again.returncode == 0
    assert rt.Attempt(tmp_path / "run", 2).state["status"] == "ok"


@pytest.mark.torch
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_reaches_the_program_and_the_record_is_closed(rt, tmp_path, number, code):
    process = start(rt, tmp_path / "run", sys.executable, str(rt.programs / "endless.py"), "0.01")
    attempt = rt.Attempt(tmp_path / "run")
    wait_for(lambda: lines(attempt.path / "trace-0.jsonl") > 20)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert attempt.state["status"] == "stopped"
    assert attempt.state["recorder"]["steps"] > 10
    assert not (tmp_path / "run" / "result.json").exists()
    assert not (attempt.path / "cache").exists()
    if number == signal.SIGINT:
        assert attempt.lines()[-1]["status"] == "stopped"


def test_a_wish_at_any_moment_of_the_start_leaves_no_program_behind(rt, tmp_path):
    for number in range(12):
        pid = tmp_path / f"pid-{number}"
        process = start(rt, tmp_path / f"run-{number}", "sh", "-c", f"echo $$ > {pid}; exec sleep 600")
        time.sleep(0.04 * number)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode in (130, -signal.SIGINT)
        if pid.exists() and (left := pid.read_text().strip()):
            assert not Path(f"/proc/{left}").exists(), f"the program goes on after {0.04 * number:.2f} s"


BETWEEN = """
import io, os, signal, subprocess, sys
sys.path.insert(0, sys.argv[1])
from runtime import program
started = subprocess.Popen

def interrupted(*words, **options):
    process = started(*words, **options)
    os.kill(os.getpid(), signal.SIGINT)
    return process

program.subprocess.Popen = interrupted
one = program.Program(["sleep", "600"], "/", dict(os.environ), io.BytesIO())
ending = one.run()
print(ending.code, ending.asked, one.process.poll())
"""


def test_a_wish_between_start_and_watch_reaches_the_program(rt):
    said = subprocess.run(
        [sys.executable, "-c", BETWEEN, rt.runtime.parent], capture_output=True, text=True, timeout=PATIENCE
    )
    assert said.stdout == "130 ['SIGINT'] -2\n", said.stderr


def test_program_that_ignores_the_wish_is_killed_at_the_second(rt, tmp_path):
    ready = tmp_path / "ready"
    stubborn = f"trap '' INT TERM; touch {ready}; while :; do sleep 0.1; done"
    process = start(rt, tmp_path / "run", "sh", "-c", stubborn)
    wait_for(ready.exists)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert rt.Attempt(tmp_path / "run").state["signal"] == "SIGKILL"


def test_killed_program_is_a_failed_run(rt, tmp_path):
    done = subprocess.run(rt.record_words(tmp_path / "run", "sh", "-c", "kill -9 $$"), env=rt.environment())
    assert done.returncode == 137
    state = rt.Attempt(tmp_path / "run").state
    assert (state["status"], state["exit_code"], state["signal"]) == ("failed", 137, "SIGKILL")


def test_two_at_once_never_share_a_folder(rt, tmp_path):
    processes = [start(rt, tmp_path / "run", "sleep", "0.3") for _ in range(6)]
    assert [p.communicate() and p.returncode for p in processes] == [0] * 6
    assert sorted(p.name for p in (tmp_path / "run").glob("attempt-*")) == [
        f"attempt-{n}" for n in range(1, 7)
    ]
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["status"] == "ok"
    assert 1 <= result["attempt"] <= 6


def test_a_daemon_that_keeps_the_output_open_does_not_hold_up_the_end(rt, tmp_path):
    """It left the program's process group, so it cannot be told to stop; its like are started by loggers."""
    pid_file = tmp_path / "pid"
    command = f"setsid sh -c 'echo $$ > {pid_file}; exec sleep 300' & sleep 0.3; echo trained"
    process = start(rt, tmp_path / "run", "sh", "-c", command)
    try:
        process.communicate(timeout=PATIENCE)
    finally:
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
    assert process.returncode == 0
    attempt = rt.Attempt(tmp_path / "run")
    assert attempt.state["status"] == "ok"
    assert "goes on" in attempt.state["reason"]
    assert attempt.log == "trained\n"


def test_an_interrupt_while_the_record_is_closed_does_not_tear_it(rt, tmp_path):
    """Signals at many moments around the end: either the run is whole, or it says that it was stopped."""
    for number in range(8):
        out = tmp_path / f"run-{number}"
        process = start(rt, out, "sh", "-c", "echo done")
        attempt = rt.Attempt(out)
        wait_for(lambda attempt=attempt: (attempt.path / "log.txt").exists())
        time.sleep(0.03 * number)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
        assert b"Traceback" not in said, said.decode()
        assert attempt.state["status"] in ("ok", "stopped", "running")
        assert (out / "result.json").exists() == (attempt.state["status"] == "ok")
