"""The endpoints over runs, in the order in which they are described."""

from ninja import Router

from runs.api import experiments, imports, push, reruns, tasks

ROUTERS: tuple[Router, ...] = (
    # Reads and pushes of runs share addresses, and so a router.
    push.router,
    imports.router,
    reruns.router,
    tasks.router,
    experiments.router,
)
