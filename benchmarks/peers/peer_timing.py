"""Timing on the GPU: CUDA graphs of several calls, replayed in turns."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from peer_problem import Call, Problem

if TYPE_CHECKING:
    import torch

NUM_ROUNDS = 21
NUM_WARM_UP_ROUNDS = 2


class TimedGraph:
    """`num_calls` calls, which rotate through the sets."""

    def __init__(self, call: Call, problem: Problem,
                 stream: torch.cuda.Stream) -> None:
        import torch
        # The graph reads what the call holds: copies of K and V, metadata.
        self._call = call
        self._num_calls = problem.shape.num_calls
        self._begin = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(stream):
            # Every set once: whatever is compiled or loaded for the alignment
            # of a set's table cannot be while the stream is captured.
            for set_idx in range(problem.num_sets):
                call(set_idx)
        torch.cuda.synchronize()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=stream):
            for i in range(self._num_calls):
                output = call(i % problem.num_sets)
        # Of the last set, and after a replay of that replay: kept, so that
        # the graph's memory pool does not reuse it.
        self.last_output = output

    def replay(self) -> None:
        self._graph.replay()

    def replay_timed(self) -> None:
        self._begin.record()
        self._graph.replay()
        self._end.record()

    def us_per_call(self) -> float:
        """Of the last timed replay, once the device is idle."""
        return self._begin.elapsed_time(self._end) * 1e3 / self._num_calls


def time_in_turns(graphs: list[TimedGraph],
                  stream: torch.cuda.Stream) -> list[float]:
    """Medians of microseconds per call.

    A round is enqueued as a whole behind one untimed replay, so that the
    host's launches are hidden behind work on the GPU; and whatever drifts
    meets every peer.
    """
    import torch
    samples: list[list[float]] = [[] for _ in graphs]
    with torch.cuda.stream(stream):
        for round_idx in range(-NUM_WARM_UP_ROUNDS, NUM_ROUNDS):
            graphs[0].replay()
            for graph in graphs:
                graph.replay_timed()
            torch.cuda.synchronize()
            if round_idx < 0:
                continue
            for graph, times_us in zip(graphs, samples):
                times_us.append(graph.us_per_call())
    return [statistics.median(times_us) for times_us in samples]
