"""Measures the peers of a shape, each right first and timed second."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from peer_list import Peer
from peer_outcome import Outcome, is_right, refused, words_of, wrong
from peer_problem import Problem, Samples, make_problem
from peer_shapes import Shape
from peer_timing import TimedGraph, time_in_turns


def _loss() -> str:
    """Why the device's context can no longer be used; empty when it can.

    After an illegal access every later call fails, and nobody else may be
    blamed for it.
    """
    import torch
    try:
        torch.cuda.synchronize()
    except Exception as error:
        return words_of(error)
    return ""


class PeerRun:
    """Peers on a device. One that fails is listed with its words; when it
    takes the device's context along, so is everybody after it."""

    def __init__(self, peers: list[Peer]) -> None:
        import torch
        self._peers = peers
        self._device = torch.device("cuda", torch.cuda.current_device())
        self._stream = torch.cuda.Stream()
        self._lost = ""

    def measure(self, shape: Shape) -> dict[str, Outcome]:
        import torch
        if self._lost:
            return {peer.name: refused(self._lost) for peer in self._peers}
        outcomes: dict[str, Outcome] = {}
        rest = "not reached"
        try:
            with torch.cuda.stream(self._stream):
                self._measure(shape, outcomes)
            torch.cuda.empty_cache()
        except Exception as error:
            rest = words_of(error)
            if not self._lost and (loss := _loss()):
                self._lost = f"the device was lost at {shape.title}: {loss}"
        return {peer.name: outcomes.get(peer.name, refused(self._lost or rest))
                for peer in self._peers}

    def _measure(self, shape: Shape, outcomes: dict[str, Outcome]) -> None:
        problem = make_problem(shape, self._device, shape.num_sets)
        samples = [Samples(problem, set_idx)
                   for set_idx in (0, problem.num_sets - 1)]
        graphs: dict[str, TimedGraph] = {}
        for peer in self._peers:
            entered = self._enter(peer, problem, samples[0])
            if isinstance(entered, TimedGraph):
                graphs[peer.name] = entered
            else:
                outcomes[peer.name] = entered
        if not graphs:
            return
        times_us = time_in_turns(list(graphs.values()), self._stream)
        for (name, graph), time_us in zip(graphs.items(), times_us):
            error = samples[-1].relative_error(graph.last_output)
            outcomes[name] = (Outcome(time_us=time_us, relative_error=error)
                              if is_right(error) else wrong(error))

    def _enter(self, peer: Peer, problem: Problem,
               samples: Samples) -> TimedGraph | Outcome:
        """A graph of a peer whose first call was right, or why there is
        none."""
        try:
            call = peer.prepare(problem)
            error = samples.relative_error(call(0))
            if not is_right(error):
                return wrong(error)
            return TimedGraph(call, problem, self._stream)
        except Exception as error:  # whatever a peer raises
            if loss := _loss():
                self._lost = (f"the device was lost by {peer.name} at "
                              f"{problem.shape.title}: {loss}")
                raise
            return refused(words_of(error))


def _driver_version() -> str:
    try:
        return subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version",
             "--format=csv,noheader", "--id=0"],
            capture_output=True, text=True, timeout=20,
            check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def machine_context(peers: list[Peer]) -> dict[str, Any]:
    """GPU, driver, CUDA, and the versions of what was imported."""
    context: dict[str, Any] = {"python": sys.version.split()[0]}
    packages = {"torch", *(peer.module.split(".")[0] for peer in peers)}
    for package in sorted(packages):
        if package in sys.modules:
            context[package] = getattr(sys.modules[package], "__version__",
                                       "unknown")
    if not peers:
        return context
    import torch
    context |= {"device": torch.cuda.get_device_name(),
                "driver": _driver_version(), "cuda": torch.version.cuda}
    return context
