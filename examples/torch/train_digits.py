#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A convolutional network learns handwritten digits on several ranks, with unmodified DistributedDataParallel:

    torchrun --nproc-per-node=4 examples/torch/train_digits.py --backend tributary
    TRIB_SWITCH=10.0.0.1 torchrun ... examples/torch/train_digits.py --backend tributary      # through a switch
    torchrun --nproc-per-node=4 examples/torch/train_digits.py --backend gloo                 # for comparison

The backend's name is the only difference. `--model resnet50` trains a network of ResNet-50's size (25.6 million parameters) instead, which has
far more gradient to sum than these small images need: it is for measuring. The data are examples/data/digits.csv (its README has the source).
"""
import argparse
import contextlib
import hashlib
import json
import pathlib
import statistics
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "digits.csv"
EVERY = 6  # images of which one is for testing


def arguments():
    parser = argparse.ArgumentParser(description="Trains on handwritten digits with DistributedDataParallel.")
    parser.add_argument("--backend", default="tributary", help="of torch.distributed [tributary]")
    parser.add_argument("--model", choices=["cnn", "resnet50"], default="cnn", help="resnet50: of that size, for measuring [cnn]")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps [0: after the epochs]")
    parser.add_argument("--batch", type=int, default=16, help="images per rank and step [16]")
    parser.add_argument("--rate", type=float, default=0.05, help="learning rate [0.05]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compare", type=int, default=0, help="then measure so many steps with communication and without, in turn [0]")
    parser.add_argument("--json", metavar="FILE", help="rank 0 writes losses, times and the hash of the weights there")
    return parser.parse_args()


def digits():
    """(training set, test set): images of 1 x 8 x 8 from 0 to 1, and digits."""
    rows = [[int(number) for number in line.split(",")] for line in DATA.read_text().split()]
    table = torch.tensor(rows, dtype=torch.float32)
    images, labels = table[:, :64].view(-1, 1, 8, 8) / 16, table[:, 64].long()
    is_test = torch.arange(len(rows)) % EVERY == 0
    return TensorDataset(images[~is_test], labels[~is_test]), TensorDataset(images[is_test], labels[is_test])


def cnn():
    """Two convolutions and two full layers: 0.15 million parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 4 * 4, 128), nn.ReLU(), nn.Linear(128, 10))


class Bottleneck(nn.Module):
    """ResNet's block: a convolution in a quarter of the channels between two that leave it, and a way round."""

    def __init__(self, inner, into, stride):
        super().__init__()
        out = 4 * inner
        self.way = nn.Sequential(
            nn.Conv2d(into, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
            nn.Conv2d(inner, out, 1, bias=False), nn.BatchNorm2d(out))
        self.round = nn.Identity() if into == out and stride == 1 else nn.Sequential(
            nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, values):
        return torch.relu(self.way(values) + self.round(values))


def resnet50():
    """ResNet-50 (He and others, 2015) as it is for 1,000 classes: 25,557,032 parameters less the two colours that digits lack. Ten of
    the classes are used; strides of 1 leave something of an image of 8 x 8."""
    layers = [nn.Conv2d(1, 64, 7, 1, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    channels = 64
    for blocks, inner in ((3, 64), (4, 128), (6, 256), (3, 512)):
        for block in range(blocks):
            layers.append(Bottleneck(inner, channels, 2 if block == 0 else 1))
            channels = 4 * inner
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def train(model, loader, sampler, options, report):
    """The loop of any script. Losses are averaged over the ranks once per epoch."""
    optimizer = torch.optim.SGD(model.parameters(), lr=options.rate, momentum=0.9)
    steps = 0
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        losses, start = [], time.perf_counter()
        for images, labels in loader:
            losses.append(step_of(model, optimizer, images, labels))
            report["step_ms"].append(1000 * (time.perf_counter() - start))
            start = time.perf_counter()
            steps += 1
            if options.steps and steps == options.steps:
                break
        losses = torch.stack(losses)
        dist.all_reduce(losses, op=dist.ReduceOp.SUM)
        report["losses"] += (losses / dist.get_world_size()).tolist()
        yield epoch
        if options.steps and steps == options.steps:
            return


def step_of(model, optimizer, images, labels):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


def right_of(model, tests):
    """The part of the test images that are recognised; each rank looks at its share of them."""
    images, labels = (tensor[dist.get_rank()::dist.get_world_size()] for tensor in tests.tensors)
    model.eval()
    with torch.no_grad():
        right = (model.module(images).argmax(1) == labels).sum()
    model.train()
    dist.all_reduce(right)
    return right.item() / len(tests)


def compare(model, loader, steps, report):
    """Milliseconds of so many steps that sum gradients, and of as many that do not, in turn; the weights stay as they are."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    images, labels = next(iter(loader))
    for _ in range(steps):
        for name in ("with_ms", "without_ms"):
            with contextlib.nullcontext() if name == "with_ms" else model.no_sync():
                start = time.perf_counter()
                step_of(model, optimizer, images, labels)
                report[name].append(1000 * (time.perf_counter() - start))
            dist.barrier()


def hash_of(model):
    """The first half of a digest of all weights; every rank must have the same."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.module.named_parameters()):
        digest.update(name.encode() + tensor.detach().numpy().tobytes())
    hashes = [None] * dist.get_world_size()
    dist.all_gather_object(hashes, digest.hexdigest()[:16])
    if len(set(hashes)) != 1:
        raise SystemExit(f"ranks have different weights: {' '.join(hashes)}")
    return hashes[0]


def say(text):
    if dist.get_rank() == 0:
        print(text, flush=True)


def main():
    options = arguments()
    torch.set_num_threads(1)
    dist.init_process_group(options.backend)
    torch.manual_seed(options.seed)
    model = DistributedDataParallel(cnn() if options.model == "cnn" else resnet50())
    training, tests = digits()
    sampler = DistributedSampler(training, seed=options.seed)
    loader = DataLoader(training, batch_size=options.batch, sampler=sampler, drop_last=True)
    count = sum(parameter.numel() for parameter in model.parameters())
    say(f"{count:,} parameters, {dist.get_world_size()} ranks, backend {dist.get_backend()}, {len(training)} images to learn from, "
        f"{len(tests)} to test")
    report = {"backend": dist.get_backend(), "ranks": dist.get_world_size(), "parameters": count, "losses": [], "step_ms": [],
              "with_ms": [], "without_ms": []}
    for epoch in train(model, loader, sampler, options, report):
        latest = report["losses"][-len(loader):]
        report["accuracy"] = right_of(model, tests)
        say(f"epoch {epoch + 1}: loss {statistics.mean(latest):.4f}, {100 * report['accuracy']:.1f} % of the test images right, "
            f"{statistics.median(report['step_ms'][-len(loader):]):.1f} ms a step")
    report["hash"] = hash_of(model)
    say(f"hash of the final weights {report['hash']}, the same on all ranks")
    compare(model, loader, options.compare, report)
    if options.json and dist.get_rank() == 0:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
