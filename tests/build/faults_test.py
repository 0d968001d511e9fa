"""tests/FAULTS.md is true of the tests: what it names exists, and says which
case it is for."""

import pathlib
import re
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
# A list of them may go on in the next line of a comment.
NUMBERS = re.compile(r"BR-\d{3}(?:,(?:\s|//|#)*(?:BR-)?\d{3}\b)*")


def cases_of(text):
    """Every number in "BR-001, 002, BR-003"."""
    return {number for run in NUMBERS.findall(text)
            for number in re.findall(r"\d{3}", run)}


def tests_of_files():
    """The file of each "Suite.Case"."""
    files = {}
    for path in TESTS.rglob("*.cc"):
        for suite, case in re.findall(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+),\s*(\w+)\)",
                                      path.read_text(), re.M):
            files[f"{suite}.{case}"] = path
    for path in TESTS.rglob("*_test.py"):
        suite = ""
        for line in path.read_text().splitlines():
            if found := re.match(r"class (\w+)\(", line):
                suite = found[1]
            elif found := re.match(r"    def (test_\w+)\(", line):
                files[f"{suite}.{found[1]}"] = path
    return files


def tests_named(cell):
    """"ATest.One, Two; BTest.Three (why)" as suites with cases."""
    names = []
    for suite, case, more in re.findall(
            r"\b(\w+Test)\.(\w+)((?:, [A-Z]\w+(?![\w.]))*)", cell):
        names.append(f"{suite}.{case}")
        names += [f"{suite}.{other}" for other in re.findall(r"\w+", more)]
    return names


class FaultsTest(unittest.TestCase):
    def setUp(self):
        text = (TESTS / "FAULTS.md").read_text()
        self.rows = [(cases_of(row[0]), row[1]) for row in re.findall(
            r"^\| (BR-[^|]+) \| (.+) \|$", text, re.M)]
        self.files = tests_of_files()
        self.said = {path: cases_of(path.read_text())
                     for path in set(self.files.values())}

    def test_has_each_case_once(self):
        all_cases = [case for cases, _ in self.rows for case in cases]
        self.assertGreater(len(all_cases), 140)
        self.assertEqual(len(all_cases), len(set(all_cases)))

    def test_names_tests_that_exist(self):
        for cases, cell in self.rows:
            for name in tests_named(cell):
                self.assertTrue(name in self.files, f"{name} of {cases}")

    # In a comment of one of the files that the row names.
    def test_a_case_is_named_where_it_is_tested(self):
        for cases, cell in self.rows:
            said = set()
            for name in tests_named(cell):
                said |= self.said[self.files[name]]
            if tests_named(cell):
                self.assertEqual(cases - said, set(), cell)


if __name__ == "__main__":
    unittest.main()
