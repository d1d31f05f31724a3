"""The endpoints over runs, in the order in which they are described."""

from ninja import Router

from runs.api import experiment_reads, imports, push, reruns, task_reads

ROUTERS: tuple[Router, ...] = (
    # Reads and pushes of runs share addresses, and so a router.
    push.router,
    imports.router,
    reruns.router,
    task_reads.router,
    experiment_reads.router,
)
