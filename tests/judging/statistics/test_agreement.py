"""Agreement between people, against hand-derived figures and two libraries."""

import warnings

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from judging.statistics.agreement import (
    Coefficient,
    agreement_interval,
    gwet_ac1,
    krippendorff_alpha,
    pooled_kappa,
    raw_agreement,
)
from judging.statistics.figures import Interval, Reason, Undefined

PARADOX = [("s", "s")] * 8 + [("s", "f"), ("f", "s")]
# Krippendorff (2011), section C: twelve units, four observers, nominal data.
OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)
UNITS = list(zip(*OBSERVERS, strict=True))


def test_the_paradox_high_agreement_low_kappa():
    assert raw_agreement(PARADOX) == pytest.approx(0.80)
    assert pooled_kappa(PARADOX) == pytest.approx(-0.111, abs=1e-3)
    assert gwet_ac1(PARADOX) == pytest.approx(0.756, abs=1e-3)


def test_kappa_derived_by_hand_for_three_categories():
    # Table rows a, b, c: [4,1,0], [1,3,1], [0,0,5]; po = 12/15, pe = (5·5 + 5·4 + 5·6)/225
    table = {"aa": 4, "ab": 1, "ba": 1, "bb": 3, "bc": 1, "cc": 5}
    ratings = [(pair[0], pair[1]) for pair, times in table.items() for _ in range(times)]
    pe = 75 / 225
    assert pooled_kappa(ratings) == pytest.approx((12 / 15 - pe) / (1 - pe))


def test_alpha_of_krippendorffs_own_example():
    # Nominal data of four observers with missing labels: 0.743
    assert krippendorff_alpha(UNITS) == pytest.approx(0.743, abs=5e-4)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (pooled_kappa, Reason.ONE_CLASS),
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
    assert pooled_kappa([("s", "s")] * 9 + [("s", "f")]) == 0.0


@pytest.mark.parametrize("ratings", [[], [("s", None)], [(None, None), ("s",)]])
def test_no_pairs_says_so(ratings):
    none = Undefined(Reason.NO_PAIRS)
    assert raw_agreement(ratings) == none
    assert krippendorff_alpha(ratings) == none
    assert gwet_ac1(ratings) == none
    assert pooled_kappa([("s", None), (None, "f")]) == none


def test_runs_with_one_label_do_not_move_raw_agreement_kappa_or_alpha():
    more = [*PARADOX, ("f", None), (None, "f"), (None, None)]
    assert raw_agreement(more) == raw_agreement(PARADOX)
    assert pooled_kappa(more) == pooled_kappa(PARADOX)
    assert krippendorff_alpha(more) == krippendorff_alpha(PARADOX)


labels = st.sampled_from(["success", "failure", "unsure"])
two_raters = st.lists(st.tuples(labels, labels), min_size=1, max_size=40)


@pytest.mark.slow
@given(two_raters)
def test_kappa_as_statsmodels_has_it(ratings):
    from statsmodels.stats.inter_rater import cohens_kappa

    found = pooled_kappa(ratings)
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
        Coefficient.KAPPA: pooled_kappa(ratings),
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


def test_alpha_of_krippendorffs_two_observers():
    # Krippendorff (2011), section B: twelve units, nominal data: 1 - 23*6/448 = 0.692
    meg, owen = "aabbdcccedda", "babbbccceddd"
    assert krippendorff_alpha(list(zip(meg, owen, strict=True))) == pytest.approx(0.692, abs=5e-4)


def test_kappa_of_cohens_own_example():
    # Cohen (1960), table 1, proportions of 200 cases: po = .70, pe = .41, kappa = .492
    table = [[88, 10, 2], [14, 40, 6], [18, 10, 12]]
    ratings = [
        (row, column) for row in range(3) for column in range(3) for _ in range(table[row][column])
    ]
    assert len(ratings) == 200
    assert raw_agreement(ratings) == pytest.approx(0.70)
    assert pooled_kappa(ratings) == pytest.approx(0.492, abs=5e-4)


def test_ac1_of_gwets_own_example():
    # Gwet (2008), 125 subjects of whom nearly all are positive: kappa -.0234, AC1 .9408
    ratings = [("+", "+")] * 118 + [("+", "-")] * 5 + [("-", "+")] * 2
    assert pooled_kappa(ratings) == pytest.approx(-0.0234, abs=5e-5)
    assert gwet_ac1(ratings) == pytest.approx(0.9408, abs=5e-5)


def test_ac1_of_gwets_four_raters():
    # Gwet (2014), Handbook of Inter-Rater Reliability, gives 0.77544 for these data in table 2.11
    # (those of Krippendorff); his package irrCAC prints it as `cac.raw4raters`.
    assert gwet_ac1(UNITS) == pytest.approx(0.77544, abs=5e-6)


def test_pooled_kappa_by_hand():
    """Pairs ab on 4 runs, ac on 2, bc on 2, where they say the same on 3, 1 and 2 of them.

    By chance ab agree on (2·3 + 2·1)/4 = 2, ac on (1·2 + 1·0)/2 = 1, bc on (1·1 + 1·1)/2 = 1:
    (6 − 4) / (8 − 4).
    """
    ratings = [
        ("s", "s", None),
        ("s", "s", None),
        ("f", "f", None),
        ("f", "s", None),
        ("s", None, "s"),
        ("f", None, "s"),
        (None, "s", "s"),
        (None, "f", "f"),
    ]
    assert pooled_kappa(ratings) == pytest.approx(0.5)


def test_pooled_kappa_of_raters_who_label_everything_is_congers():
    """Conger (1980): po and pe are the means over pairs."""
    ratings = [("s", "s", "f"), ("f", "f", "f"), ("s", "f", "s"), ("s", "s", "s"), ("f", "s", "f")]
    sides = list(zip(*ratings, strict=True))
    observed, chance = [], []
    for one, other in ((0, 1), (0, 2), (1, 2)):
        observed.append(np.mean([row[one] == row[other] for row in ratings]))
        chance.append(sum(sides[one].count(c) * sides[other].count(c) for c in "sf") / 25)
    expected = (np.mean(observed) - np.mean(chance)) / (1 - np.mean(chance))
    assert pooled_kappa(ratings) == pytest.approx(expected)


def test_a_pair_of_one_class_is_pooled_and_not_lost():
    # ab agree on all of 3 runs with one class, ac on 3 of 4: (6 − 3 − 2) / (7 − 3 − 2)
    ratings = [["s", "s", None]] * 3
    ratings += [["s", None, "s"], ["s", None, "s"], ["f", None, "f"], ["f", None, "s"]]
    assert pooled_kappa(ratings) == pytest.approx((6 - 3 - 2) / (7 - 3 - 2))


def test_pooled_kappa_takes_a_column_a_rater():
    with pytest.raises(ValueError, match="column"):
        pooled_kappa([("s", "s", "f"), ("s", "f")])


three_raters = st.lists(st.tuples(*[st.one_of(st.none(), labels)] * 3), min_size=1, max_size=30)
SYMMETRIC = (raw_agreement, pooled_kappa, krippendorff_alpha, gwet_ac1)


@given(three_raters, st.permutations(range(3)), st.randoms())
def test_coefficients_do_not_depend_on_the_order_of_three_raters(ratings, order, random):
    turned = [tuple(row[place] for place in order) for row in ratings]
    random.shuffle(turned)
    for function in SYMMETRIC:
        found, expected = function(turned), function(ratings)
        if isinstance(expected, Undefined):
            assert found == expected
        else:
            assert found == pytest.approx(expected)


@given(st.lists(st.tuples(labels, st.booleans()), min_size=2, max_size=30))
def test_raters_who_always_agree_have_one(rows):
    """Each run is seen by the first two raters or by all three."""
    ratings = [(label, label, label if all_three else None) for label, all_three in rows]
    assume(len({label for label, _ in rows}) > 1)
    for function in SYMMETRIC:
        assert function(ratings) == pytest.approx(1.0)


@given(three_raters)
def test_pooled_kappa_from_tables_of_pairs(ratings):
    """By the definition, from each pair's own runs and its own chance agreement."""
    agreeing = by_chance = both = 0.0
    for one, other in ((0, 1), (0, 2), (1, 2)):
        pairs = [(r[one], r[other]) for r in ratings if r[one] is not None and r[other] is not None]
        names = {label for pair in pairs for label in pair}
        both += len(pairs)
        agreeing += sum(first == second for first, second in pairs)
        for name in names:
            first, second = (sum(pair[side] == name for pair in pairs) for side in (0, 1))
            by_chance += first * second / len(pairs)
    found = pooled_kappa(ratings)
    if not both:
        assert found == Undefined(Reason.NO_PAIRS)
    elif both - by_chance < 1e-9:
        assert found == Undefined(Reason.ONE_CLASS)
    else:
        assert found == pytest.approx((agreeing - by_chance) / (both - by_chance))


def test_pooled_kappa_has_an_interval():
    ratings: list[list[str | None]] = [["s", "s", None], ["f", None, "f"], [None, "s", "s"]] * 8
    ratings += [["s", "f", "s"]] * 8
    found = agreement_interval(Coefficient.KAPPA, ratings, list(range(32)), seed=3)
    value = pooled_kappa(ratings)
    assert isinstance(found, Interval)
    assert isinstance(value, float)
    assert found.low < value < found.high
