"""Reads of runs, blinded for whoever looks, and the claims of the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models import Case, CharField, DecimalField, F, FloatField, Q, Value, When
from django.db.models.expressions import Combinable

from runs.querysets.queue import QueueQuerySet, RunRow
from runs.visibility import run_policy

if TYPE_CHECKING:
    from runs.models import User


def _hidden_where(
    condition: Q | None, field: str, output: models.Field[object, object]
) -> Combinable:
    """The field's value, or NULL where the condition holds."""
    if condition is None:
        return F(field)
    return Case(When(condition, then=Value(None)), default=F(field), output_field=output)


class RunQuerySet(QueueQuerySet[RunRow]):
    """Queries over runs. Generic, since the model is defined above this layer."""

    def shown_to(self, user: User) -> Self:
        """Runs that the person may open, with what is hidden from them blanked.

        Adds `is_blind`, `is_anonymous` (booleans) and `shown_outcome`, `shown_reward`,
        `shown_end_reason`, `shown_agent`, `shown_model`, `shown_experiment` (its name may tell
        the agent), `shown_cost`. Pages filter, sort and show only these, never the bare
        columns, so that not even an order or a count carries what is hidden.
        """
        policy = run_policy()
        blind, anonymous = policy.blind(user), policy.anonymous(user)
        return self.filter(policy.visible(user)).annotate(
            is_blind=_flag(blind),
            is_anonymous=_flag(anonymous),
            shown_outcome=_hidden_where(blind, "outcome", CharField()),
            shown_reward=_hidden_where(blind, "reward", FloatField()),
            shown_end_reason=_hidden_where(blind, "end_reason", CharField()),
            shown_agent=_hidden_where(anonymous, "agent__name", CharField()),
            shown_model=_hidden_where(anonymous, "agent__model", CharField()),
            shown_experiment=_hidden_where(anonymous, "experiment__name", CharField()),
            shown_cost=_hidden_where(
                anonymous, "cost", DecimalField(max_digits=14, decimal_places=6)
            ),
        )

    def not_blind(self) -> Self:
        """After `shown_to`: only runs on which the person is not blind."""
        return self.filter(is_blind=False)

    def for_list(self) -> Self:
        """With everything a row of the table shows, and none of the long texts beside it."""
        return self.select_related("task__task_set", "agent", "experiment").defer(
            "record",
            "evidence",
            "final_answer",
            "error_message",
            "task__record",
            "task__spec",
            "task__reference",
            "agent__config",
        )

    def latest_attempts(self) -> Self:
        """Without attempts that a later one replaced."""
        return self.filter(superseded=False)


def _flag(condition: Q | None) -> Combinable:
    if condition is None:
        return Value(False, output_field=models.BooleanField())
    return Case(
        When(condition, then=Value(True)),
        default=Value(False),
        output_field=models.BooleanField(),
    )
