"""Sums up a run of scripts/test: reads what its parts left in the results folder.

Per part: JUnit files of the runners, or a file "counts"; "status" (exit code, seconds, limit) and
"part.log". A part that left no result, or ended badly without a failed test, counts as one failure;
exit code 77 is a skip."""

import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

# The closing lines of ctest, GoogleTest, Surefire and of our own parts.
SUMMARY = re.compile(r"^\d+% tests passed.*|^\[  (?:PASSED|FAILED|SKIPPED)  \] \d+ tests?[,.].*|"
                     r"^\[(?:INFO|ERROR|WARNING)\] Tests run: (?!.*Time elapsed).*|"
                     r"^\d+ files, .*|^\d+ of \d+ versions of Java .*", re.MULTILINE)


class Part:
    def __init__(self, folder):
        self.name = folder.name
        self.passed = self.failed = self.skipped = 0
        self.notes = []
        status, self.seconds, limit = map(int, (folder / "status").read_text().split())
        self.log = (folder / "part.log").read_text(errors="replace")
        counts = folder / "counts"
        if counts.exists():
            self.passed, self.failed, self.skipped = map(int, counts.read_text().split())
        for file in sorted(folder.glob("*.xml")):
            self.read_junit(file)
        ran = self.passed + self.failed + self.skipped
        if status == 77:
            self.skipped += 1
            self.notes.append(f"SKIPPED {self.name}: could not run here, see its output")
        elif status in (124, 137):
            self.failed += 1
            self.notes.append(f"FAILED {self.name}: not finished within {limit} s")
        elif status != 0 and self.failed == 0:
            self.failed += 1
            self.notes.append(f"FAILED {self.name}: ended with exit code {status}")
        elif ran == 0:
            self.failed += 1
            self.notes.append(f"FAILED {self.name}: left no result")
        self.notes += re.findall(r"^(?:FAILED|SKIPPED): .*", self.log, re.MULTILINE)

    def read_junit(self, file):
        try:
            cases = list(xml.parse(file).iter("testcase"))
        except xml.ParseError as error:
            self.failed += 1
            self.notes.append(f"FAILED {self.name}: {file.name} is broken: {error}")
            return
        for case in cases:
            label = ".".join(dict.fromkeys(filter(None, (case.get("classname"), case.get("name")))))
            skip = case.find("skipped")
            bad = case.find("failure") is not None or case.find("error") is not None
            if bad or case.get("status") == "fail":
                self.failed += 1
                self.notes.append(f"FAILED {self.name}: {label}")
            elif skip is not None or case.get("status") in ("notrun", "disabled"):
                self.skipped += 1
                why = " ".join(((skip.get("message") if skip is not None else "") or "").split())
                self.notes.append(f"SKIPPED {self.name}: {label}" + (f" ({why[:160]})" if why else ""))
            else:
                self.passed += 1


def main(results, names):
    parts = [Part(Path(results) / name) for name in names if (Path(results) / name).is_dir()]
    print("\n=== Summary")
    for part in parts:
        for line in dict.fromkeys(SUMMARY.findall(part.log)):
            print(f"{part.name}: {line}")
    for note in dict.fromkeys(note for part in parts for note in part.notes):
        print(note)
    print()
    for part in parts:
        print(f"{part.name:<9} {part.seconds:>5} s  {part.passed:>5} passed {part.failed:>4} failed "
              f"{part.skipped:>4} skipped")
    left_out = [name for name in names if name not in [part.name for part in parts]]
    if left_out:
        print(f"not asked for: {' '.join(left_out)}")
    passed, failed, skipped = (sum(getattr(part, kind) for part in parts)
                               for kind in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not parts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
