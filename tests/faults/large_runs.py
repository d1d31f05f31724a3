"""Runs of many large pictures, for imports that must not run out of memory or time.

    python -m tests.faults.large_runs --steps 1000 --megapixels 20

writes such a run as a file, imports it with `manage.py import_runs` in a folder of its own, and
prints how long that took and how much memory.
"""

import argparse
import io
import os
import resource
import struct
import subprocess
import sys
import time
import zlib
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np
from PIL import Image

from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.blobs import BlobStash
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.native.writer import write_zip
from webagent.trajectory.records import BlobRecord, Observation

ROOT = Path(__file__).parents[2]


def large_bundle(*, n_steps: int, seed: int, width: int) -> RunBundle:
    """A run every step of which has another picture, as wide as that and 5/8 as high."""
    bundle = run_bundle(1, n_steps=1)
    stash = cast(BlobStash, bundle.blobs)
    (first,) = bundle.steps
    run_id = f"large-{seed}"
    plain = picture(width, seed)
    steps = []
    for index in range(n_steps):
        content = with_words(plain, f"{seed} {index}")
        shot = BlobRecord(
            sha256=stash.add_bytes(content),
            media_type="image/png",
            bytes=len(content),
            role="screenshot",
        )
        seen = Observation(url="http://127.0.0.1/", screenshot=shot)
        steps.append(
            first.model_copy(
                update={"run_id": run_id, "index": index, "source_index": index, "before": seen}
            )
        )
    run = bundle.run.model_copy(update={"id": run_id, "events": ()})
    return replace(
        bundle, run=run, steps=tuple(steps), labels=(), evaluations=(), adjudications=(), hints=()
    )


def with_words(png: bytes, words: str) -> bytes:
    """The same picture as another file, by words that nobody sees."""
    chunk = b"tEXtComment\0" + words.encode()
    size, check = struct.pack(">I", len(chunk) - 4), struct.pack(">I", zlib.crc32(chunk))
    after_header = 8 + 25
    return png[:after_header] + size + chunk + check + png[after_header:]


def picture(width: int, number: int) -> bytes:
    """A PNG of plain fields and one of noise, as pages mostly are."""
    height = width * 5 // 8
    pixels = np.full((height, width, 3), 245, dtype=np.uint8)
    random = np.random.default_rng(number)
    part = max(1, height // 8)
    pixels[:part, : width // 4] = random.integers(0, 255, (part, width // 4, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=1)
    return file.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--megapixels", type=float, default=20)
    options = parser.parse_args()
    width = int((options.megapixels * 1e6 * 8 / 5) ** 0.5)
    with TemporaryDirectory(prefix="crosscheck-large-") as folder:
        file = Path(folder) / "large.zip"
        write_zip(file, [large_bundle(n_steps=options.steps, seed=1, width=width)])
        bound = {"IMPORT_MAX_UPLOAD_BYTES": str(file.stat().st_size)}  # beyond what is usual
        environment = os.environ | bound | {"DATA_DIR": str(Path(folder) / "data")}
        manage = [sys.executable, str(ROOT / "manage.py")]
        subprocess.run([*manage, "migrate", "--verbosity", "0"], env=environment, check=True)
        began = time.monotonic()
        subprocess.run([*manage, "import_runs", str(file)], env=environment, check=True)
        seconds = time.monotonic() - began
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    sys.stdout.write(
        f"{options.steps} steps of {options.megapixels:g} megapixels ({width} wide):"
        f" imported in {seconds:.0f} s, at most {memory:.0f} MB of memory.\n"
    )


if __name__ == "__main__":
    main()
