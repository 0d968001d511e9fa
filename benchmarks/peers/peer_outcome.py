"""What became of a peer on a shape."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

# A result further than this from float64, in relative L2 of a row, is wrong.
# Rounding weights and outputs to fp16 costs 5e-4; a token too few or too many
# 1/sqrt(context_len), 2.8e-3 at 131072.
MAX_RELATIVE_ERROR = 2e-3
MAX_WORDS = 200


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A time, or words that say why there is none: refused or wrong."""

    time_us: float = math.nan
    relative_error: float = math.nan
    words: str = ""
    is_wrong: bool = False

    @property
    def is_timed(self) -> bool:
        return not self.words

    def to_json(self, kv_bytes: int) -> dict[str, Any]:
        if self.is_timed:
            return {"time_us": self.time_us,
                    "gb_per_s": kv_bytes / self.time_us * 1e-3,
                    "relative_error": self.relative_error}
        return {"wrong" if self.is_wrong else "not_measured": self.words}


def refused(words: str) -> Outcome:
    return Outcome(words=words)


def wrong(relative_error: float,
          allowed: float = MAX_RELATIVE_ERROR) -> Outcome:
    """Never timed as good, however fast."""
    return Outcome(words=f"{relative_error:.2g} off float64 in relative L2, "
                         f"{allowed:g} allowed", is_wrong=True)


def is_right(relative_error: float) -> bool:
    # NaN compares false: a result of NaN is wrong.
    return relative_error <= MAX_RELATIVE_ERROR


def words_of(error: BaseException) -> str:
    """The type and the first line that says something, cut to a footnote."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
    return text if len(text) <= MAX_WORDS else text[:MAX_WORDS - 3] + "..."
