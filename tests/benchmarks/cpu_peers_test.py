#!/usr/bin/env python3
"""What cpu_peers.py makes of peers, with stand-ins for them. Exit code 77: no
numpy."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks/peers"))

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no numpy", file=sys.stderr)
    sys.exit(77)

import cpu_peer_calls
import cpu_peers
import peer_shapes

SHAPE = "fp16/b:2/ctx:40/hkv:2/g:3/d:16/bs:16"


def exact(problem, threads):
    """Attention in float64."""
    del threads
    keys, values = (t.astype(np.float64) for t in (problem.keys, problem.values))
    scores = problem.query.astype(np.float64) @ keys.swapaxes(2, 3)
    weights = np.exp(scores / np.sqrt(problem.shape.head_dim))
    weights /= weights.sum(axis=3, keepdims=True)
    return lambda: weights @ values


class CpuPeersTest(unittest.TestCase):

    def setUp(self):
        self.problem = cpu_peer_calls.make_problem(peer_shapes.parse_shape(SHAPE))
        self.peers = dict(cpu_peer_calls.PEERS)
        self.addCleanup(cpu_peer_calls.PEERS.update, self.peers)
        self.addCleanup(cpu_peer_calls.PEERS.clear)
        self.seconds = cpu_peers.SECONDS
        cpu_peers.SECONDS = 0.0

    def tearDown(self):
        cpu_peers.SECONDS = self.seconds

    def measure(self, make):
        cpu_peer_calls.PEERS["stand-in"] = (make, 2)
        return cpu_peers.measure_peer("stand-in", self.problem, 1)

    def test_values_are_those_of_the_kernels_hash(self):
        values = cpu_peer_calls.hash_uniform(3, 50)
        for index, value in enumerate(values):
            bits = peer_shapes.mix((3 << 40) ^ index)
            self.assertEqual(float(value), ((bits >> 54) - 512) / 256)

    def test_a_right_peer_is_timed(self):
        outcome = self.measure(exact)
        self.assertTrue(outcome.is_timed)
        self.assertLess(outcome.relative_error, 1e-12)

    def test_a_peer_that_leaves_a_token_out_is_wrong(self):
        def short(problem, threads):
            del threads
            scores = problem.query.astype(np.float64) @ (
                problem.keys[:, :, 1:].astype(np.float64).swapaxes(2, 3))
            weights = np.exp(scores / np.sqrt(problem.shape.head_dim))
            weights /= weights.sum(axis=3, keepdims=True)
            return lambda: weights @ problem.values[:, :, 1:].astype(np.float64)

        outcome = self.measure(short)
        self.assertFalse(outcome.is_timed)
        self.assertTrue(outcome.is_wrong)

    def test_a_peer_of_nan_is_wrong(self):
        outcome = self.measure(
            lambda problem, _: lambda: problem.query * np.float16(np.nan))
        self.assertTrue(outcome.is_wrong)

    def test_what_a_peer_raises_is_kept_as_words(self):
        def absent(problem, threads):
            raise ModuleNotFoundError("No module named 'absent'")

        outcome = self.measure(absent)
        self.assertIn("No module named 'absent'", outcome.words)
        self.assertFalse(outcome.is_wrong)

    def test_the_table_shows_ratios_and_the_list_each_reason_once(self):
        timed = {"time_us": 6.0, "time_over_ours": 2.0}
        names = list(cpu_peer_calls.PEERS)
        line = {"title": "1 x 40", "paged": {"time_us": 3.0, "gb_per_s": 1.0},
                "peers": {name: {"not_measured": "why"} for name in names}}
        line["peers"][names[0]] = timed
        table = cpu_peers.table_of([line, line])
        self.assertIn("| 1 x 40 | 3.0 | 1.0 | 2.00 |", table)
        self.assertNotIn(names[1], table)
        reasons = cpu_peers.reasons_of([line, line])
        self.assertEqual(len(reasons), len(names) - 1)

    def test_every_shape_is_a_row_of_ours(self):
        source = (ROOT / "benchmarks/cpu/decode_cases.cc").read_text(encoding="utf-8")
        for name in cpu_peers.SHAPES:
            shape = peer_shapes.parse_shape(name)
            self.assertIn(f"{shape.max_context_len}, {shape.num_kv_heads}", source)


if __name__ == "__main__":
    unittest.main()
