"""The endpoints over runs, in the order in which they are described."""

from ninja import Router

from runs.api import run_reads

ROUTERS: tuple[Router, ...] = (run_reads.router,)
