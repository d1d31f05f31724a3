"""Train the detector on labelled pictures, export it, check the export, and measure it.

    python -m tools.detector.dataset DATA
    python -m tools.detector.train DATA --checkpoint FILE --minutes 25

Needs PyTorch (requirements-train.txt); running the detector does not.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import distributed
from torch.nn import functional

from tools.detector.evaluate import FLOOR, measure, told
from tools.detector.network import RANGES, STRIDES, Exported, Network
from tools.detector.samples import MADE, SIDE, TRAIN, Sample, Sampler, read_index, wanted
from webagent.vision.engines import MODEL, fed

BATCH = 12
RATE = 3e-3
KEPT = 0.99
"""How much of the averaged weights each step keeps; the average is what is exported."""
LARGEST_DIFFERENCE = 1e-3


def loss_of(network: torch.nn.Module, samples: list[Sample], device: torch.device) -> torch.Tensor:
    """How wrong the network is on the samples: of kinds (focal) and of boxes (1 - GIoU)."""
    pixels = np.stack([sample.pixels for sample in samples])
    # As the pictures lie in memory, and with short numbers: a third of the time on a CPU.
    pictures = torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2).float() / 255
    with torch.autocast(device.type, dtype=torch.bfloat16):
        outputs = network(pictures)
    total = torch.zeros((), device=device)
    for stride, sides, (short_logits, short_distances) in zip(
        STRIDES, RANGES, outputs, strict=True
    ):
        logits, distances = short_logits.float(), short_distances.float()
        targets = [wanted(sample, stride, sides) for sample in samples]
        kinds = torch.from_numpy(np.stack([t.kinds for t in targets])).to(device)
        boxes = torch.from_numpy(np.stack([t.boxes for t in targets])).to(device)
        weights = torch.from_numpy(np.stack([t.weights for t in targets])).to(device)
        total = total + kinds_loss(logits, kinds)
        total = total + boxes_loss(distances * stride, boxes, weights, stride)
    return total


def kinds_loss(logits: torch.Tensor, wanted_: torch.Tensor) -> torch.Tensor:
    """Focal loss with a softer demand near the middles. Source: Zhou et al. 2019, CenterNet."""
    # Where an element's middle is, the first term is 0: the second is needed at few cells only.
    unlike = functional.softplus(logits)
    missed = unlike * torch.sigmoid(logits).square() * (1 - wanted_).square().square()
    there = wanted_ == 1
    middles = logits[there]
    hit = functional.softplus(-middles) * torch.sigmoid(-middles).square()
    return (missed.sum() + hit.sum()) / there.sum().clamp(min=1)


def boxes_loss(
    distances: torch.Tensor, boxes: torch.Tensor, weights: torch.Tensor, stride: int
) -> torch.Tensor:
    """1 - GIoU over the cells with weight. Source: Rezatofighi et al. 2019."""
    here = weights > 0
    if not bool(here.any()):
        return distances.sum() * 0
    rows = torch.arange(weights.shape[1], device=weights.device)
    columns = torch.arange(weights.shape[2], device=weights.device)
    y, x = torch.meshgrid((rows + 0.5) * stride, (columns + 0.5) * stride, indexing="ij")
    x, y = x.expand_as(weights)[here], y.expand_as(weights)[here]
    left, top, right, bottom = distances.permute(1, 0, 2, 3)[:, here]
    x1, y1, x2, y2 = boxes.permute(1, 0, 2, 3)[:, here]
    shared = (torch.minimum(x + right, x2) - torch.maximum(x - left, x1)).clamp(min=0) * (
        torch.minimum(y + bottom, y2) - torch.maximum(y - top, y1)
    ).clamp(min=0)
    either = (left + right) * (top + bottom) + (x2 - x1) * (y2 - y1) - shared
    around = (torch.maximum(x + right, x2) - torch.minimum(x - left, x1)) * (
        torch.maximum(y + bottom, y2) - torch.minimum(y - top, y1)
    )
    giou = shared / either.clamp(min=1e-6) - (around - either) / around.clamp(min=1e-6)
    weight = weights[here]
    return 2 * ((1 - giou) * weight).sum() / weight.sum()


def train(
    rank: int, directory: Path, minutes: float, seed: int, checkpoint: Path, processes: int
) -> None:
    """Train for so long; the checkpoint then holds the averaged network and what it took.

    Goes on from the checkpoint if it is there. The rate falls with the time that has passed,
    so that a slow machine ends as well. Each process draws pieces of its own, on a thread of
    its own: on busy cores that is quicker than one process with many threads.
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = Network().to(device, memory_format=torch.channels_last)
    before: dict[str, float] = {"steps": 0, "minutes": 0.0}
    if checkpoint.is_file():
        kept = torch.load(checkpoint, map_location=device, weights_only=True)
        network.load_state_dict(kept["network"])
        before = kept["before"]
    averaged = torch.optim.swa_utils.AveragedModel(network, avg_fn=_average, use_buffers=True)
    distributed.init_process_group(
        "gloo", init_method=f"file://{checkpoint}.meeting", rank=rank, world_size=processes
    )
    together = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.02)
    pictures = [p for p in read_index(directory) if p.part == TRAIN]
    sampler = Sampler(directory, pictures, seed * processes + rank)
    started = time.monotonic()
    step, recent = 0, 0.0
    passed = torch.zeros(())
    while passed < 1:
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 40) * (0.02 + 0.98 * (1 - passed.item()))
        loss = loss_of(together, [sampler.draw() for _ in range(BATCH)], device)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 10.0)
        optimizer.step()
        averaged.update_parameters(network)
        step += 1
        recent = 0.98 * recent + 0.02 * loss.item() if step > 1 else loss.item()
        passed = torch.tensor((time.monotonic() - started) / (60 * minutes))
        distributed.broadcast(passed, src=0)  # all end with the same step
        if rank == 0 and step % 25 == 0:
            sys.stderr.write(f"step {step}, {passed:.0%}, loss {recent:.3f}\n")
    if rank == 0:
        taken = {
            "steps": before["steps"] + step,
            "minutes": before["minutes"] + minutes,
            "samples_a_step": BATCH * processes,
            "device": device.type,
            "last_loss": round(recent, 4),
        }
        torch.save({"network": averaged.module.state_dict(), "before": taken}, checkpoint)
    distributed.destroy_process_group()


def _average(kept: torch.Tensor, now: torch.Tensor, count: torch.Tensor | int) -> torch.Tensor:
    """The average of the last steps; at first of few, or the random start would stay in it."""
    share = max(1 - KEPT, 1 / (int(count) / 5 + 1))
    return kept + (now - kept) * share if now.is_floating_point() else now


def export(network: Network, path: Path, example: Image.Image) -> float:
    """Write the network as ONNX; return how far from PyTorch's its outputs on the picture are.

    Raises:
        ValueError: they are not the same.
    """
    import onnxruntime

    exported = Exported(network).eval()
    path.parent.mkdir(parents=True, exist_ok=True)
    outputs = [f"{what}_{stride}" for stride in STRIDES for what in ("kinds", "distances")]
    free = {2: "height", 3: "width"}
    torch.onnx.export(
        exported,
        (torch.zeros(1, 3, SIDE, SIDE),),
        str(path),
        input_names=["pictures"],
        output_names=outputs,
        dynamic_axes={"pictures": free},
        opset_version=17,
        dynamo=False,
    )
    # Of another shape than it was exported with: the sides must have stayed free.
    picture = torch.from_numpy(fed(example))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    with torch.no_grad():
        wanted_ = [output.numpy() for output in exported(picture)]
    given = session.run(None, {"pictures": picture.numpy()})
    # Among likelihoods too small to be looked at, the peaks are a matter of rounding.
    furthest = max(
        float(np.abs(np.where(a < FLOOR, 0, a) - np.where(b < FLOOR, 0, b)).max())
        for a, b in zip(wanted_, given, strict=True)
    )
    if furthest > LARGEST_DIFFERENCE:
        raise ValueError(f"The exported network differs from the trained one by {furthest}.")
    return furthest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tools.detector.train")
    parser.add_argument("data", type=Path, help="where tools.detector.dataset put its pictures")
    parser.add_argument("--tests", type=Path, help="pictures to test on, if not the same")
    parser.add_argument("--checkpoint", type=Path, required=True, help="weights, kept as they are")
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=MODEL)
    arguments = parser.parse_args()
    Path(f"{arguments.checkpoint}.meeting").unlink(missing_ok=True)
    torch.multiprocessing.spawn(
        train,
        (
            arguments.data,
            arguments.minutes,
            arguments.seed,
            arguments.checkpoint,
            arguments.processes,
        ),
        nprocs=arguments.processes,
    )
    kept = torch.load(arguments.checkpoint, map_location="cpu", weights_only=True)
    network = Network().eval()
    network.load_state_dict(kept["network"])
    pictures = [p for p in read_index(arguments.data) if p.part == TRAIN]
    tests = arguments.tests or arguments.data
    to_test_on = read_index(tests)
    with Image.open(tests / to_test_on[0].file) as example:
        difference = export(network, arguments.out, example)
    metrics = {
        **measure(arguments.out, tests, to_test_on),
        "training": {
            **kept["before"],
            "seed": arguments.seed,
            "pictures": len(pictures),
            "tasks": len({p.task for p in pictures} - {MADE}),
            "pictures_of_made_pages": sum(p.task == MADE for p in pictures),
            "first_and_last_seed": [min(p.seed for p in pictures), max(p.seed for p in pictures)],
        },
        "bytes": arguments.out.stat().st_size,
        "export_difference": difference,
    }
    arguments.out.with_name("metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
    sys.stdout.write(told(metrics) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
