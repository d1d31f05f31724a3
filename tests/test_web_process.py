"""What a process of the web server pays for before it answers anybody."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

HEAVY = {
    *("anthropic", "bm25s", "boto3", "botocore", "browsergym", "cv2", "gymnasium", "krippendorff"),
    *("matplotlib", "nltk", "onnxruntime", "openai", "playwright", "pyarrow", "rapidocr", "scipy"),
}
"""Each takes a tenth of its memory or of its start, and few pages need it."""
CODE = """
import sys
from django.core.wsgi import get_wsgi_application
from django.urls import resolve
get_wsgi_application()
resolve("/"), resolve("/api/v1/runs")
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_heavy_libraries_are_imported_only_by_the_pages_that_use_them() -> None:
    told = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=240
    )
    loaded = set(told.stdout.split())
    assert "ninja" in loaded  # all of the site is there
    assert loaded & HEAVY == set()
