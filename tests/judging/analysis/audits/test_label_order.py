"""Agreement of first and second labels, as AgentRewardBench publishes it, on a made-up file.

The figures were computed with scikit-learn 1.9.1 (`cohen_kappa_score`) and krippendorff 0.9.0
(nominal) from the file itself: of each run the first row against the second.
"""

import io
from pathlib import Path

import pytest
from django.core.management import call_command
from django.urls import reverse

from judging.analysis.audits.people.agreement import agreement_of
from judging.models import Study
from judging.portability.judgements.label_files import import_labels
from runs.exports.services import bundles_of
from runs.models import Run
from tests.runs.factories import client_of, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("figures, alike on both"),
    pytest.mark.slow,
]
FILE = Path(__file__).parents[3] / "data" / "annotations" / "made_up.csv"
WANTED = {
    # question, whether "unsure" counts: runs, Cohen's kappa, Krippendorff's alpha
    ("success", True): (40, 0.707602, 0.711046),
    ("success", False): (39, 0.746753, 0.75),
    ("side_effect", True): (40, 0.772727, 0.774286),
    ("optimality", True): (40, 0.178571, 0.186296),
    ("optimality", False): (39, 0.181298, 0.188697),
    ("looping", False): (40, 0.847716, 0.849524),
}


@pytest.fixture(scope="module")
def study(kept_rows: None) -> Study:
    with FILE.open("rb") as file:
        assert import_labels(file, study="Made up", makes_stubs=True).bad == 0
    return Study.objects.get()


def figures(study: Study, question: str, **how: bool) -> tuple[int, float, float]:
    of = {each.question.key: each for each in agreement_of(study, **how).questions}[question]
    values = {each.key: each.value for each in of.figures}
    kappa, alpha = values["kappa"], values["alpha"]
    assert isinstance(kappa, float)
    assert isinstance(alpha, float)
    return of.runs, round(kappa, 6), round(alpha, 6)


def test_first_and_second_labels_agree_as_computed_elsewhere(study: Study) -> None:
    for (question, unsure), wanted in WANTED.items():
        assert figures(study, question, counts_unsure=unsure, by_order=True) == wanted


def test_between_people_kappa_differs_and_alpha_does_not(study: Study) -> None:
    runs, kappa, alpha = figures(study, "success")
    assert (runs, alpha) == (40, 0.711046)
    assert kappa != 0.707602


def test_exports_keep_the_order_of_the_file(study: Study) -> None:
    def named() -> dict[str, list[str]]:
        return {
            bundle.task.external_id: [label.annotator for label in bundle.labels]
            for bundle in bundles_of(Run.objects.all())
        }

    rows = [line.split(",") for line in FILE.read_text().splitlines()[1:]]
    wanted: dict[str, list[str]] = {}
    for row in rows:
        wanted.setdefault(row[2], []).append(f"{row[0].strip()}@agentrewardbench")
    assert named() == wanted


def test_page_and_command_offer_the_rule(study: Study) -> None:
    client = client_of(make_user("engineer"))
    address = reverse("judging:audit_agreement", args=[study.pk])
    page = client.get(f"{address}?pairing=order&unsure=out").content.decode()
    assert "first label against second" in page
    assert "label 1 against label 2" in page
    assert "0.75" in page
    for ending in ("json", "md", "tex"):
        table = reverse("judging:audit_table", args=[study.pk, "agreement", ending])
        written = client.get(f"{table}?pairing=order").content.decode()
        assert "first label is held against the second" in written
    out = io.StringIO()
    options = {"pairing": "order", "unsure": "out", "format": "csv", "stdout": out}
    call_command("report", "Made up", table="agreement", **options)
    line = next(line for line in out.getvalue().splitlines() if ",kappa,0.7467" in line)
    assert line.startswith("all,")
    assert client.get(f"{address}?pairing=x").status_code == 404
