"""The tensors and the reference of decode_peers.py, on the CPU. Exit code 77:
no PyTorch."""

import math
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks/peers"))

try:
    import torch
except ImportError:
    print("skipped: this Python has no PyTorch", file=sys.stderr)
    sys.exit(77)

import framework_peers
from peer_outcome import is_right
from peer_problem import Samples, make_problem
from peer_shapes import parse_shape


class TorchTest(unittest.TestCase):
    SHAPE = "fp16/b:3/ctx:70/hkv:2/g:3/d:64/bs:16"

    def setUp(self):
        self.problem = make_problem(parse_shape(self.SHAPE),
                                    torch.device("cpu"), num_sets=2)

    def test_every_block_belongs_to_one_sequence_of_one_set(self):
        blocks = self.problem.tables.flatten().tolist()
        self.assertEqual(sorted(blocks), list(range(2 * 3 * 5)))
        self.assertNotEqual(blocks, sorted(blocks))

    def test_sdpa_agrees_with_float64_on_its_own_set_alone(self):
        call = framework_peers.pytorch_sdpa(self.problem)
        for set_idx in (0, 1):
            output = call(set_idx)
            self.assertTrue(is_right(
                Samples(self.problem, set_idx).relative_error(output)))
            self.assertFalse(is_right(
                Samples(self.problem, 1 - set_idx).relative_error(output)))

    def test_nan_in_a_sampled_row_is_an_error_of_nan(self):
        output = framework_peers.pytorch_sdpa(self.problem)(0).clone()
        output.view(-1)[0] = math.nan
        error = Samples(self.problem, 0).relative_error(output)
        self.assertTrue(math.isnan(error))
        with self.assertRaises(ValueError):
            Samples(self.problem, 0).relative_error(output[:1])


if __name__ == "__main__":
    unittest.main()
