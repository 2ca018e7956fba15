"""Results of a run of compat in a file, and as a table."""
import hashlib
import json
import re
from pathlib import Path

from runs import LIBRARY


class Record:
    """Results by case and JDK, written after each one; those of another library count for nothing."""

    def __init__(self, path, resume, any_library=False):
        self.path = Path(path) if path else None
        self.library = hashlib.sha256(LIBRARY.read_bytes()).hexdigest()[:16] if LIBRARY.is_file() else ""
        self.cases = {}
        old = json.loads(self.path.read_text()) if self.path and self.path.exists() else {}
        self.resume = resume
        if any_library:
            self.library = old["library"]
        if old.get("library") == self.library:
            self.cases = old["cases"]

    def word(self, name, jdk):
        return self.cases.get(name, {}).get(jdk.label, {}).get("word", "")

    def stands(self, name, jdk, counts):
        known = self.cases.get(name, {}).get(jdk.label, {})
        return self.resume and known.get("word") in ("ok", "skip") and known["carriers"] == counts

    def add(self, name, jdk, word, detail, counts):
        self.cases.setdefault(name, {})[jdk.label] = {"word": word, "detail": detail, "carriers": counts}
        if self.path:
            self.path.write_text(json.dumps({"library": self.library, "cases": self.cases}, indent=1) + "\n")

    def table(self, order):
        labels = sorted({label for row in self.cases.values() for label in row},
                        key=lambda label: int(re.match(r"\d+", label)[0]))
        print(f"library {self.library}\n\n| case | " + " | ".join(labels) + " |\n| --- |" + " --- |" * len(labels))
        for name in filter(self.cases.__contains__, order):
            cells = [self.cases[name].get(label, {}).get("word", "not run") for label in labels]
            print(f"| {name} | " + " | ".join("–" if cell == "skip" else cell for cell in cells) + " |")
