"""Agreement between people, against hand-derived figures and two libraries."""

import warnings
from collections.abc import Sequence
from typing import TypeVar

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from judging.statistics.agreement import (
    Coefficient,
    agreement_interval,
    cohen_kappa,
    gwet_ac1,
    krippendorff_alpha,
    raw_agreement,
)
from judging.statistics.figures import Interval, Reason, Undefined

T = TypeVar("T")
PARADOX = [("s", "s")] * 8 + [("s", "f"), ("f", "s")]


def columns(ratings: Sequence[tuple[T, T]]) -> tuple[list[T], list[T]]:
    return [row[0] for row in ratings], [row[1] for row in ratings]


def test_the_paradox_high_agreement_low_kappa():
    assert raw_agreement(PARADOX) == pytest.approx(0.80)
    assert cohen_kappa(*columns(PARADOX)) == pytest.approx(-0.111, abs=1e-3)
    assert gwet_ac1(PARADOX) == pytest.approx(0.756, abs=1e-3)


def test_kappa_derived_by_hand_for_three_categories():
    # Table rows a, b, c: [4,1,0], [1,3,1], [0,0,5]; po = 12/15, pe = (5·5 + 5·4 + 5·6)/225
    table = {"aa": 4, "ab": 1, "ba": 1, "bb": 3, "bc": 1, "cc": 5}
    ratings = [(pair[0], pair[1]) for pair, times in table.items() for _ in range(times)]
    pe = 75 / 225
    assert cohen_kappa(*columns(ratings)) == pytest.approx((12 / 15 - pe) / (1 - pe))


def test_alpha_of_krippendorffs_own_example():
    # Krippendorff (2011), nominal data of four observers with missing labels: 0.743
    a = [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None]
    b = [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3]
    c = [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None]
    d = [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None]
    assert krippendorff_alpha(list(zip(a, b, c, d, strict=True))) == pytest.approx(0.743, abs=5e-4)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda r: cohen_kappa(*columns(r)), Reason.ONE_CLASS),
        (krippendorff_alpha, Reason.ONE_CLASS),
        (gwet_ac1, Reason.ONE_CLASS),
    ],
)
def test_one_class_says_so(function, reason):
    assert function([("s", "s")] * 5) == Undefined(reason)


def test_ac1_of_one_class_out_of_two_possible_ones_is_perfect():
    assert gwet_ac1([("s", "s")] * 5, categories=["s", "f"]) == 1.0
    with pytest.raises(ValueError, match="categories"):
        gwet_ac1([("s", "s")], categories=["f", "g"])


def test_one_constant_rater_gives_kappa_zero():
    assert cohen_kappa(["s"] * 10, ["s"] * 9 + ["f"]) == 0.0


@pytest.mark.parametrize("ratings", [[], [("s", None)], [(None, None), ("s",)]])
def test_no_pairs_says_so(ratings):
    none = Undefined(Reason.NO_PAIRS)
    assert raw_agreement(ratings) == none
    assert krippendorff_alpha(ratings) == none
    assert gwet_ac1(ratings) == none
    assert cohen_kappa(["s", None], [None, "f"]) == none


def test_runs_with_one_label_do_not_move_raw_agreement_kappa_or_alpha():
    more = [*PARADOX, ("f", None), (None, "f"), (None, None)]
    assert raw_agreement(more) == raw_agreement(PARADOX)
    assert cohen_kappa(*columns(more)) == cohen_kappa(*columns(PARADOX))
    assert krippendorff_alpha(more) == krippendorff_alpha(PARADOX)


labels = st.sampled_from(["success", "failure", "unsure"])
two_raters = st.lists(st.tuples(labels, labels), min_size=1, max_size=40)


@given(two_raters)
def test_kappa_as_statsmodels_has_it(ratings):
    found = cohen_kappa(*columns(ratings))
    names = sorted({label for row in ratings for label in row})
    table = np.zeros((len(names), len(names)))
    for first, second in ratings:
        table[names.index(first), names.index(second)] += 1
    if len(names) == 1:
        assert found == Undefined(Reason.ONE_CLASS)
    else:
        assert found == pytest.approx(cohens_kappa(table, return_results=False))


@given(
    st.lists(
        st.lists(st.one_of(st.none(), labels), min_size=3, max_size=3), min_size=2, max_size=30
    )
)
def test_alpha_as_the_krippendorff_package_has_it(ratings):
    assume(sum(sum(label is not None for label in row) >= 2 for row in ratings) > 0)
    found = krippendorff_alpha(ratings)
    kept = [row for row in ratings if sum(label is not None for label in row) >= 2]
    if len({label for row in kept for label in row if label is not None}) == 1:
        assert found == Undefined(Reason.ONE_CLASS)
        return
    numbers = {None: np.nan, "success": 0.0, "failure": 1.0, "unsure": 2.0}
    matrix = np.array([[numbers[label] for label in row] for row in kept]).T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = krippendorff.alpha(reliability_data=matrix, level_of_measurement="nominal")
    assert found == pytest.approx(expected)


@given(two_raters)
def test_coefficients_do_not_depend_on_order_of_runs_or_raters(ratings):
    turned = [(second, first) for first, second in reversed(ratings)]
    for function in (raw_agreement, krippendorff_alpha, gwet_ac1):
        assert function(turned) == pytest.approx(function(ratings)) or isinstance(
            function(ratings), Undefined
        )


@pytest.mark.parametrize("coefficient", Coefficient)
def test_bootstrap_intervals(coefficient):
    ratings = [("s", "s")] * 30 + [("f", "f")] * 20 + [("s", "f")] * 6 + [("f", "s")] * 4
    tasks = [index % 30 for index in range(60)]
    found = agreement_interval(coefficient, ratings, tasks, seed=11)
    assert isinstance(found, Interval)
    assert found == agreement_interval(coefficient, ratings, tasks, seed=11)
    value = {
        Coefficient.RAW: raw_agreement(ratings),
        Coefficient.KAPPA: cohen_kappa(*columns(ratings)),
        Coefficient.ALPHA: krippendorff_alpha(ratings),
        Coefficient.AC1: gwet_ac1(ratings),
    }[coefficient]
    assert isinstance(value, float)
    assert found.low < value < found.high


def test_bootstrap_of_one_class_has_no_interval():
    same = [("s", "s")] * 5
    assert agreement_interval(Coefficient.KAPPA, same, list(range(5)), seed=1) == Undefined(
        Reason.NEVER_DEFINED
    )
    assert agreement_interval(Coefficient.RAW, [], [], seed=1) == Undefined(Reason.NO_PAIRS)


def test_kappa_takes_two_raters():
    with pytest.raises(ValueError, match="two raters"):
        agreement_interval(Coefficient.KAPPA, [("s", "s", "f")], ["t"], seed=1)
