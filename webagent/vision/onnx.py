"""How ONNX Runtime is run here: beside a browser, on few cores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

THREADS = 2


def open_session(path: Path) -> Any:
    """The model at the path, ready to run."""
    # Heavy, and needed only by those who look at pictures.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    # Waiting threads that keep a core busy would take it from the browser.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        str(path), sess_options=options, providers=["CPUExecutionProvider"]
    )
