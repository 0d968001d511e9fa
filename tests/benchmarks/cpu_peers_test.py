#!/usr/bin/env python3
"""What cpu_peers.py makes of peers, with stand-ins for them. Exit code 77: no
numpy."""

import json
import pathlib
import sys
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks/peers"))

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no numpy", file=sys.stderr)
    sys.exit(77)

import cpu_ggml
import cpu_openvino
import cpu_peer_calls
import cpu_peer_table
import cpu_peers
import cpu_problem
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
        self.problem = cpu_problem.make_problem(peer_shapes.parse_shape(SHAPE))
        self.peers = dict(cpu_peer_calls.PEERS)
        self.addCleanup(cpu_peer_calls.PEERS.update, self.peers)
        self.addCleanup(cpu_peer_calls.PEERS.clear)
        self.seconds = cpu_peers.SECONDS
        cpu_peers.SECONDS = 0.0

    def tearDown(self):
        cpu_peers.SECONDS = self.seconds

    def measure(self, make):
        cpu_peer_calls.PEERS["stand-in"] = cpu_peer_calls.Peer(make, 2)
        return cpu_peers.measure_peer("stand-in", self.problem, 1)

    def test_values_are_those_of_the_kernels_hash(self):
        values = cpu_problem.hash_uniform(3, 50)
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
        self.assertIn("0.002 allowed", outcome.words)

    def test_each_peer_that_is_here_is_right(self):
        # head_dim 64, which every peer takes; a last block that is not full.
        problem = cpu_problem.make_problem(
            peer_shapes.parse_shape("fp16/b:3/ctx:77/hkv:2/g:3/d:64/bs:16"))
        tried = 0
        for name, peer in self.peers.items():
            with self.subTest(name):
                try:
                    call = peer.make(problem, 2)
                except ImportError:
                    continue
                tried += 1
                allowed = min(peer.max_error, cpu_peer_calls.BF16_ERROR)
                self.assertLess(problem.relative_error(call()), allowed)
                # A second step finds what the first one left.
                self.assertLess(problem.relative_error(call()), allowed)
        if not tried:
            self.skipTest("no peer can be imported here")

    def test_pages_hold_the_tokens_of_their_blocks_and_zeros_past_the_end(self):
        ids = np.array([3, 0, 2, 1], np.int32)
        pages = cpu_openvino.pages_of(self.problem.keys, ids)
        self.assertEqual(pages.shape, (4, 2, cpu_openvino.PAGE_TOKENS, 16))
        self.assertTrue((pages[0, :, :8] == self.problem.keys[0, :, 32:]).all())
        self.assertTrue((pages[2] == self.problem.keys[1, :, :32]).all())
        self.assertFalse(pages[1, :, 8:].any())

    def test_bf16_is_the_nearest_with_ties_to_even(self):
        values = np.array([1, 1 + 2 ** -8, 1 + 3 * 2 ** -8, -2.5], np.float32)
        self.assertEqual(cpu_openvino.bf16_bits(values).tolist(),
                         [0x3F80, 0x3F80, 0x3F82, 0xC020])

    def test_a_folder_without_ggml_is_passed_over_with_a_reason(self):
        with unittest.mock.patch.object(
                cpu_ggml, "_folders", lambda: iter([pathlib.Path("/nowhere")])):
            outcome = self.measure(cpu_ggml.flash_attention_fp16)
            self.assertIn("PAGED_GGML", outcome.words)
            self.assertIsNone(cpu_peers.ggml_title())

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
        line = {"title": "1 x 40",
                "paged": {"time_us": 3.0, "gb_per_s": 1.0, "relative_error": 2e-4,
                          "relative_error_fp32": 3e-7},
                "peers": {name: {"not_measured": "why"} for name in names}}
        line["peers"][names[0]] = timed
        table = cpu_peer_table.table_of([line, line])
        self.assertIn("| 1 x 40 | 3.0 | 1.0 | 2.00 |", table)
        self.assertNotIn(names[1], table)
        timed["relative_error"] = 4e-3
        better = {**line, "peers": {names[0]: {"relative_error": 1e-3}}}
        self.assertEqual(cpu_peer_table.errors_of([line, better]), [
            "paged fp16: 2.0e-04 off", "paged, fp32 queries: 3.0e-07 off",
            f"{names[0]}: 4.0e-03 off"])
        reasons = cpu_peer_table.reasons_of([line, line])
        self.assertEqual(len(reasons), len(names) - 1)

    def test_a_disturbed_shape_is_measured_again_and_the_calmest_counts(self):
        def attempts(*pairs):
            lines = [({"paged": {"before_us": before, "after_us": after}}, {})
                     for before, after in pairs]
            with unittest.mock.patch.object(
                    cpu_peers, "measure_shape", side_effect=lines) as measure:
                line, _ = cpu_peers.measure_calmly("shape", None)
            return line["paged"]["before_us"], measure.call_count

        self.assertEqual(attempts((9.0, 9.5), (1.0, 1.0)), (9.0, 1))
        self.assertEqual(attempts((9.0, 18.0), (8.0, 8.1)), (8.0, 2))
        self.assertEqual(attempts((9.0, 18.0), (7.0, 9.0), (8.0, 16.0)), (7.0, 3))

    def test_a_record_keeps_rows_of_other_shapes_of_the_same_kernels_alone(self):
        names = [cpu_peers.row_name(name, cache, 2)
                 for name, cache in cpu_peers.SHAPES.items()]
        ours = {"kernels_cpu": "a", "commit": "new"}
        old = cpu_peers.record_of([{"name": name, "date": "then"} for name in
                                   names[:2]], ours, 2, None)
        line = {"name": names[0], "date": "now"}
        dates = lambda record: [(row["name"], row["date"])
                                for row in record["rows"]]
        kept = cpu_peers.record_of([line], ours, 2, old)
        self.assertEqual(dates(kept), [(names[0], "now"), (names[1], "then")])
        other = cpu_peers.record_of([line], {**ours, "kernels_cpu": "b"}, 2, old)
        self.assertEqual(dates(other), [(names[0], "now")])

    def test_every_shape_is_a_row_of_ours(self):
        source = (ROOT / "benchmarks/cpu/decode_cases.cc").read_text(encoding="utf-8")
        for name in cpu_peers.SHAPES:
            shape = peer_shapes.parse_shape(name)
            self.assertIn(f"{shape.max_context_len}, {shape.num_kv_heads}", source)


class CpuPeersRecordTest(unittest.TestCase):

    def setUp(self):
        self.rows = json.loads((ROOT / "benchmarks/results/cpu-x86_64/"
                                "cpu_peers.json").read_text())["rows"]

    def test_it_has_every_shape_and_every_peer_is_slower_than_ours(self):
        self.assertEqual([row["name"].split("/l2:")[0].split("/auto/")[1]
                          for row in self.rows], list(cpu_peers.SHAPES))
        for row in self.rows:
            self.assertEqual(list(row["peers"]), list(cpu_peer_calls.PEERS))
            for name, peer in row["peers"].items():
                self.assertGreater(peer["time_over_ours"], 1, (row["title"], name))

    def test_its_ratios_are_those_of_the_readme(self):
        text = (ROOT / "README.md").read_text()
        for name in cpu_peer_calls.PEERS:
            cells = text.split(f"\n| {name} | ")[1].split(" |\n")[0].split(" | ")
            self.assertEqual(len(cells), len(self.rows) + 1)
            errors = []
            for cell, row in zip(cells, self.rows):
                peer = row["peers"][name]
                ratio = peer["time_over_ours"]
                self.assertEqual(
                    cell, f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}")
                errors.append(peer["relative_error"])
            self.assertEqual(cells[-1], f"{max(errors):.0e}")


if __name__ == "__main__":
    unittest.main()
