"""Addresses of judging, gathered from the parts of the app."""

from django.urls import URLPattern, URLResolver, path

from judging.analysis.audits import urls as audit_urls
from judging.analysis.audits import whatif_urls
from judging.analysis.causes import urls as cause_urls
from judging.analysis.experiments import urls as experiment_urls
from judging.analysis.failure_modes import urls as failure_urls
from judging.analysis.hint_effects import urls as hint_urls
from judging.analysis.milestone_proposals import urls as milestone_proposal_urls
from judging.api.reference import api_reference
from judging.evaluating import urls as batch_urls
from judging.portability import urls as export_urls
from judging.studies import urls as people_urls

app_name = "judging"
urlpatterns: list[URLPattern | URLResolver] = [
    *people_urls.urlpatterns,
    *milestone_proposal_urls.urlpatterns,
    *audit_urls.urlpatterns,
    *batch_urls.urlpatterns,
    *cause_urls.urlpatterns,
    *whatif_urls.urlpatterns,
    *experiment_urls.urlpatterns,
    *export_urls.urlpatterns,
    *failure_urls.urlpatterns,
    *hint_urls.urlpatterns,
    path("api/", api_reference, name="api_reference"),
]
