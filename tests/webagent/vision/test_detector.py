"""The detector that ships, on screenshots of tasks that it was not trained on."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tools.detector.dataset import seen_tasks, unseen_tasks
from tools.detector.evaluate import measure, told
from tools.detector.samples import INDEX, read_index
from webagent.environment.miniwob import task_names
from webagent.vision.engines import (
    MODEL,
    SAME_ELEMENT,
    THRESHOLD,
    Detector,
    NoModel,
    distinct,
    fed,
    load_detector,
)
from webagent.vision.screen import KINDS, Box, Element

PICTURES = Path("tests/data/vision")


@pytest.fixture(scope="module")
def detector() -> Detector:
    return load_detector()


def test_most_elements_are_found_on_unseen_tasks():
    measured = measure(MODEL, PICTURES, read_index(PICTURES))
    assert "seen" not in measured
    result: Any = measured["unseen"]
    assert result["elements"] == 53
    assert result["recall"] >= 0.7
    assert result["precision"] >= 0.65
    assert told(measured).startswith("unseen: pictures 10, elements 53, mAP 0.")


def test_the_same_picture_gives_the_same_elements_the_surest_first(detector):
    with Image.open(PICTURES / "count-shape-unseen-1000001-0.png") as image:
        once, again = detector.find(image), detector.find(image)
    assert once == again
    sure = [element.confidence for element in once]
    assert sure == sorted(sure, reverse=True)
    assert all(element.kind in KINDS for element in once)
    for index, element in enumerate(once):
        assert 0 <= element.box.x1 < element.box.x2 <= image.width
        assert 0 <= element.box.y1 < element.box.y2 <= image.height
        assert all(element.box.iou(other.box) <= SAME_ELEMENT for other in once[:index])


@pytest.mark.parametrize("size", [(1, 1), (33, 1000), (498, 321)])
def test_pictures_of_any_size_are_looked_at(detector, size):
    picture = Image.new("RGB", size, "white")
    assert detector.find(picture) == []
    given = fed(picture)
    assert given.dtype == np.float32
    assert given.shape[2] % 32 == given.shape[3] % 32 == 0


def test_of_boxes_that_are_nearly_one_the_surest_stays():
    sure = Element("button", Box(0, 0, 20, 10), 0.9)
    near = Element("link", Box(1, 0, 20, 10), 0.8)
    other = Element("link", Box(0, 0, 10, 10), 0.7)
    assert distinct([other, near, sure]) == [sure, other]


def test_without_a_model_it_says_how_to_make_one(tmp_path):
    with pytest.raises(NoModel, match=r"tools\.detector\.train"):
        load_detector(tmp_path / "none.onnx")


def test_the_model_is_small_and_its_figures_are_kept_beside_it():
    metrics = json.loads(MODEL.with_name("metrics.json").read_text())
    assert metrics["bytes"] == MODEL.stat().st_size < 2_000_000
    assert metrics["export_difference"] < 1e-3
    assert metrics["threshold"] == THRESHOLD
    assert metrics["seen"]["recall"] >= 0.95
    assert metrics["unseen"]["recall"] >= 0.8


def test_tasks_are_trained_on_or_tested_on():
    seen, unseen = set(seen_tasks()), set(unseen_tasks())
    assert not seen & unseen
    assert seen | unseen == set(task_names())
    assert {picture.task for picture in read_index(PICTURES)} <= unseen


def test_a_labelled_picture_is_read_as_it_was_written(tmp_path):
    pictures = read_index(PICTURES)
    (tmp_path / INDEX).write_text("".join(picture.line() + "\n" for picture in pictures))
    assert read_index(tmp_path) == pictures
