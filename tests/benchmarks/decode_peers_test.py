"""decode_peers.py without PyTorch and GPU: shapes, our rows, and the program
with a stand-in for decode_benchmark."""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "benchmarks/peers"
sys.path.insert(0, str(PEERS))

from our_rows import Row, filter_of, measure_ours, read_record
from peer_list import Peer
from peer_outcome import MAX_WORDS, is_right, words_of
from peer_shapes import (ROTATE_BYTES, TABLE, choose_shapes, mix,
                         parse_shape)

SMALL = "fp16/b:8/ctx:128/hkv:4/g:2/d:128/bs:16"
LARGE = "fp16/b:64/ctx:4096/hkv:8/g:4/d:128/bs:16"


def record_of(rows):
    """Google Benchmark's JSON of {shape: microseconds}."""
    benchmarks = []
    for name, time_us in rows.items():
        for variant in ("auto", "gather"):
            benchmarks.append({
                "name": parse_shape(name).row_name(variant),
                "time_us": time_us if variant == "auto" else time_us / 2,
                "kv_bytes": float(parse_shape(name).kv_bytes),
                "ratio_to_gather": 0.5, "splits": 4.0})
    return json.dumps({"context": {"driver": "580.1"},
                       "benchmarks": benchmarks})


class ShapesTest(unittest.TestCase):
    def test_a_name_is_what_its_shape_is_called(self):
        for name in TABLE:
            self.assertEqual(parse_shape(name).name, name)
        self.assertEqual(len(set(TABLE)), len(TABLE))
        self.assertEqual(parse_shape(SMALL).row_name("auto"),
                         f"decode/auto/{SMALL}/l2:cold")

    def test_counts_true_lengths_once_per_kv_head(self):
        self.assertEqual(parse_shape(SMALL).kv_bytes, 8 * 128 * 4 * 128 * 4)
        one = parse_shape("fp16/b:64/lens:one_131072_among_1024/hkv:8/g:4/"
                          "d:128/bs:16")
        self.assertEqual(sum(one.context_lens), 131072 + 63 * 1024)

    def test_bytes_are_those_of_the_committed_record(self):
        record = read_record((ROOT / "benchmarks/results/h200/decode.json")
                             .read_text())
        rows = {shape: record.find(shape, "auto")
                for shape in map(parse_shape, TABLE)}
        found = [shape for shape, row in rows.items() if row and not row.error]
        self.assertIn("uniform_100_1000", [s.lens_name for s in found])
        for shape in found:
            self.assertEqual(record.why_not(shape), "", shape.name)

    def test_mixes_as_split_mix_64_does(self):
        self.assertEqual(mix(0), 0xE220A8397B1DCDAF)

    def test_sets_rotate_through_enough_and_calls_use_each_equally(self):
        for name in TABLE:
            shape = parse_shape(name)
            self.assertGreaterEqual(shape.num_sets * shape.kv_bytes,
                                    ROTATE_BYTES)
            self.assertGreaterEqual(shape.num_sets, 2)
            self.assertEqual(shape.num_calls % shape.num_sets, 0)
            least = 32 if shape.kv_bytes < 60e6 else 8
            self.assertGreaterEqual(shape.num_calls, least)

    def test_refuses_what_is_no_shape(self):
        for name in ("", SMALL + "/l2:cold", SMALL.replace("fp16", "fp8"),
                     SMALL.replace("ctx:128", "lens:none"),
                     SMALL.replace("b:8", "b:0")):
            with self.assertRaises(ValueError, msg=name):
                parse_shape(name)

    def test_chooses_by_name_or_title(self):
        self.assertEqual(len(choose_shapes(".")), len(TABLE))
        self.assertEqual([s.name for s in choose_shapes("b:8/ctx:128/")],
                         [SMALL])
        self.assertEqual([s.name for s in choose_shapes("^8 x 128,")],
                         [SMALL])
        for pattern in ("nowhere", "("):
            with self.assertRaises(ValueError):
                choose_shapes(pattern)


class OurRowsTest(unittest.TestCase):
    def test_reads_counters_and_refusals(self):
        text = record_of({SMALL: 4.0}).replace(
            '"splits": 4.0', '"splits": 4.0, "error_occurred": true, '
            '"error_message": "wrong result"')
        refused_row = read_record(text)
        self.assertEqual(refused_row.why_not(parse_shape(SMALL)),
                         "wrong result")
        record = read_record(record_of({SMALL: 4.0}))
        self.assertEqual(record.why_not(parse_shape(SMALL)), "")
        self.assertEqual(record.find(parse_shape(SMALL), "auto").time_us, 4.0)
        self.assertIn("no such row", record.why_not(parse_shape(LARGE)))

    def test_a_row_of_other_bytes_is_not_compared(self):
        record = read_record(record_of({SMALL: 4.0}))
        row = parse_shape(SMALL).row_name("auto")
        record.rows[row] = Row(4.0, 1.0, 0.5, 1)
        self.assertIn("1 bytes", record.why_not(parse_shape(SMALL)))

    def test_refuses_what_is_no_record(self):
        for text in ("", "[]", "{}"):
            with self.assertRaises(ValueError):
                read_record(text)

    def test_the_filter_lets_through_the_shapes_and_no_other(self):
        pattern = re.compile(filter_of([parse_shape(SMALL)]))
        ending = "/iterations:1/manual_time"
        for variant in ("auto", "gather"):
            self.assertTrue(pattern.search(
                f"decode/{variant}/{SMALL}/l2:cold{ending}"))
        for name in (f"decode/v1/{SMALL}/l2:cold",
                     f"decode/auto/{SMALL}/l2:warm",
                     f"decode/auto/{SMALL.replace('b:8', 'b:88')}/l2:cold"):
            self.assertFalse(pattern.search(name + ending), name)

    def test_a_program_that_is_not_there_is_an_error_without_its_path(self):
        record = measure_ours(pathlib.Path("/nowhere/at/all"),
                              [parse_shape(SMALL)], [])
        self.assertEqual(record.why_not(parse_shape(SMALL)),
                         "decode_benchmark: No such file or directory")


class OutcomeTest(unittest.TestCase):
    def test_nan_and_large_errors_are_wrong(self):
        self.assertTrue(is_right(1e-3))
        for error in (3e-3, math.inf, math.nan):
            self.assertFalse(is_right(error))

    def test_words_are_one_short_line(self):
        words = words_of(RuntimeError("\n  page size must be 256  \nhint\n"))
        self.assertEqual(words, "RuntimeError: page size must be 256")
        self.assertEqual(len(words_of(ValueError("x" * 999))), MAX_WORDS)
        self.assertEqual(words_of(KeyError()), "KeyError: no message")


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.folder.name)
        # No PyTorch, also where there is one.
        (path / "torch.py").write_text("raise ImportError('no torch here')")
        (path / "rows.json").write_text(record_of({SMALL: 4.0}))
        self.benchmark = path / "decode_benchmark"
        self.benchmark.write_text(textwrap.dedent(f"""\
            #!{sys.executable}
            import pathlib, shutil, sys
            here = pathlib.Path(__file__).parent
            (here / "arguments").write_text("\\n".join(sys.argv))
            out = [a[16:] for a in sys.argv if a[:16] == "--benchmark_out="]
            shutil.copy(here / "rows.json", out[0])
            """))
        self.benchmark.chmod(0o755)
        self.path = path

    def tearDown(self):
        self.folder.cleanup()

    def run_program(self, *arguments):
        return subprocess.run(
            [sys.executable, PEERS / "decode_peers.py", *arguments],
            capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(self.path)})

    def test_a_peer_that_cannot_be_imported_is_missing_with_the_error(self):
        peer = Peer("None", "no_such_module_at_all", lambda problem: None)
        self.assertIn("ModuleNotFoundError: No module named",
                      peer.import_error())

    def test_lists_shapes_and_peers_without_a_gpu(self):
        result = self.run_program("--list")
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in TABLE:
            self.assertIn(f"  {name}  ", result.stdout)
        self.assertIn("Triton: missing: ImportError: no torch here",
                      result.stdout)

    def test_without_any_peer_our_rows_stand_alone(self):
        out = self.path / "out.json"
        result = self.run_program(
            "--shapes=^8 x 128,", f"--decode_benchmark={self.benchmark}",
            f"--out={out}", "--kernels_core=abc")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("| 8 x 128, 4 x 2 | 2.1 | 2.0 | 4.0 | 524 | – | – |",
                      result.stdout)
        self.assertIn("missing: vLLM v1: ImportError: no torch here",
                      result.stdout)
        results = json.loads(out.read_text())
        self.assertEqual(results["context"]["kernels_core"], "abc")
        self.assertEqual(results["context"]["driver"], "580.1")
        self.assertNotIn(str(self.path), out.read_text())
        arguments = (self.path / "arguments").read_text().splitlines()
        self.assertIn("--backend=cuda", arguments)
        self.assertIn("--kernels_core=abc", arguments)

    def test_says_what_is_wrong_with_its_arguments_and_our_program(self):
        bad = self.run_program("--shapes=nowhere")
        self.assertEqual(bad.returncode, 2)
        self.assertIn("--shapes must match", bad.stderr)
        absent = self.run_program("--shapes=^8 x 128,",
                                  "--decode_benchmark=/nowhere/at/all")
        self.assertEqual(absent.returncode, 1)
        self.assertIn("paged: decode_benchmark: No such file", absent.stdout)


if __name__ == "__main__":
    unittest.main()
