"""A request that is sent again under its `Idempotency-Key` has its effect once.

The row of the key, the effect and the answer are written in one transaction. So a second sending
at the same time waits for the first (the database holds the key unique), a crash leaves neither
effect nor key, and an error keeps nothing: the request may be sent again.
"""

from collections.abc import Callable
from functools import update_wrapper
from typing import Concatenate, ParamSpec, cast

from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from pydantic import BaseModel

from runs.api.authentication import ApiRequest
from runs.api.bodies import request_hash
from runs.api.problems import Problem, invalid
from runs.models import ApiAnswer
from runs.models.people import ANSWERS_KEPT
from runs.queue.sweeping import swept

HEADER = "Idempotency-Key"
LONGEST_KEY = 255
P = ParamSpec("P")


class Answer:
    """What an endpoint with an effect answers: status, body and, of a new thing, its address."""

    def __init__(self, status: int, body: BaseModel, *, location: str = "") -> None:
        self.status = status
        self.body = body.model_dump_json()
        self.location = location


Endpoint = Callable[Concatenate[ApiRequest, P], Answer]
Carried = Callable[Concatenate[ApiRequest, P], HttpResponse]


def once(endpoint: Endpoint[P]) -> Carried[P]:
    """Carry an endpoint out in one transaction, and once for each key of its caller."""

    def carried_out(request: ApiRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        return answer_once(request, lambda: endpoint(request, *args, **kwargs))

    return cast("Carried[P]", update_wrapper(carried_out, endpoint))


def answer_once(request: ApiRequest, effect: Callable[[], Answer]) -> HttpResponse:
    """Have the effect and answer; under a key that was used, give the answer of then.

    For endpoints that prepare something outside of the transaction; others are marked `once`.

    Raises:
        Problem: 422 where the key was used with another request.
    """
    key = _key(request)
    if key is None:
        with transaction.atomic():
            answer = effect()
        return _response(answer)
    sent = request_hash(request)
    if before := _before(request, key):
        return _again(before, sent)
    with transaction.atomic():
        if row := _claim(request, key, sent):
            answer = effect()
            row.status, row.body, row.location = answer.status, answer.body, answer.location
            row.save(update_fields=["status", "body", "location"])
            return _response(answer)
    if before := _before(request, key):
        return _again(before, sent)
    raise Problem(
        409, "The same request is being carried out; send it again.", headers={"Retry-After": "1"}
    )


def _claim(request: ApiRequest, key: str, sent: str) -> ApiAnswer | None:
    """The key's row; None where another sending of the same request was first."""
    try:
        with transaction.atomic():
            return ApiAnswer.objects.create(owner=request.user, key=key, request_hash=sent)
    except IntegrityError:
        return None


def _key(request: HttpRequest) -> str | None:
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not key.strip() or len(key) > LONGEST_KEY or not key.isprintable():
        reason = f"must be 1 to {LONGEST_KEY} printable characters"
        raise invalid((f"header.{HEADER}", reason))
    return key


def _before(request: ApiRequest, key: str) -> ApiAnswer | None:
    """The answer kept under the key; what is older than promised is forgotten."""
    kept = ApiAnswer.objects.filter(owner=request.user, key=key).first()
    if kept is not None and kept.created_at < timezone.now() - ANSWERS_KEPT:
        kept.delete()
        return None
    return kept


def _again(before: ApiAnswer, sent: str) -> HttpResponse:
    if before.request_hash != sent:
        reason = "was used with another request; take a new key for each"
        raise Problem(
            422,
            "The key was used before.",
            kind="key-reused",
            errors=[(f"header.{HEADER}", reason)],
        )
    response = _response(before)
    response["Idempotency-Replayed"] = "true"
    return response


def _response(answer: Answer | ApiAnswer) -> HttpResponse:
    """The answer as it is sent."""
    response = HttpResponse(answer.body, status=answer.status, content_type="application/json")
    if answer.location:
        response["Location"] = answer.location
    return response


AT_A_TIME = 1000


@swept
def forget_old_answers() -> int:
    """Delete answers older than they are promised to be kept, so many at a time; how many."""
    old = ApiAnswer.objects.filter(created_at__lt=timezone.now() - ANSWERS_KEPT)
    n, _ = ApiAnswer.objects.filter(
        pk__in=list(old.values_list("pk", flat=True)[:AT_A_TIME])
    ).delete()
    return n
