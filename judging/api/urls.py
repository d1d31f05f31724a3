"""Version 1 of the API: the endpoints over runs, and those over judgements."""

from judging.api import batches, experiments, figures, hints, studies
from runs.api import experiments as run_experiments
from runs.api import push, reruns, tasks
from runs.api.assembly import Api

api = Api(
    title="Crosscheck",
    version="1",
    description="Review web-agent runs, judge them blind, audit the evaluators, rerun what failed.",
    urls_namespace="api",
)
for router in (
    # Reads and pushes of runs share addresses, and so a router.
    push.router,
    push.imports_router,
    reruns.router,
    tasks.router,
    run_experiments.router,
    studies.runs_router,
    studies.router,
    figures.router,
    batches.router,
    hints.router,
    experiments.router,
    experiments.replications_router,
):
    api.add_router("", router)


app_name = "api"
urlpatterns = api.addresses()
