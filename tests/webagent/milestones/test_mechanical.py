"""Milestones found along the steps of a run."""

from hypothesis import given
from hypothesis import strategies as st

from webagent.milestones.checks import ElementCheck, ReportedCheck, StepView, TextCheck, UrlCheck
from webagent.milestones.findings import (
    Definition,
    Rule,
    digest_of,
    find_milestones,
    in_order,
    looks,
    track,
)
from webagent.trajectory.records import BlobRecord, Observation, StepRecord


def url(path: str, name: str = "", *, is_ordered: bool = False) -> Definition:
    rule = Rule(reached_when=UrlCheck(pattern=f"*{path}"))
    return Definition(name=name or path, is_ordered=is_ordered, rule=rule)


def at(step: int, path: str = "/", tree: str | None = None, *, fresh: bool = False) -> StepView:
    return StepView(step=step, url=f"http://site{path}", tree=tree, is_fresh_start=fresh)


def spans(milestone: Definition, *row: StepView) -> tuple[tuple[int, int | None], ...]:
    (found,) = find_milestones([milestone], row).findings
    return found.spans


AGREED = ElementCheck(name="I agree", state="checked")
BOX = "[4] checkbox 'I agree', checked='{}'"
YES, NO, ELSEWHERE = BOX.format("true"), BOX.format("false"), "[1] heading 'Hello'"


def test_an_address_counts_for_good():
    assert spans(url("/cart"), at(0), at(1, "/cart"), at(2)) == ((1, None),)


def test_a_state_is_lost_when_it_is_seen_otherwise_only():
    agreed = Definition(name="agreed", rule=Rule(reached_when=AGREED))
    row = (at(0, tree=NO), at(1, tree=YES), at(2, tree=ELSEWHERE), at(3, tree=NO), at(4, tree=YES))
    assert spans(agreed, *row) == ((1, 3), (4, None))


def test_what_takes_it_away_can_be_said():
    rule = Rule(reached_when=UrlCheck(pattern="*/cart"), lost_when=TextCheck(text="is empty"))
    cart = Definition(name="cart", rule=rule)
    row = (at(0), at(1, "/cart"), at(2), at(3, tree="[1] heading 'Your cart is empty'"), at(4))
    assert spans(cart, *row) == ((1, 3),)


def test_what_is_reached_and_lost_within_a_step_was_never_held():
    rule = Rule(reached_when=TextCheck(text="on"), lost_when=ReportedCheck(name="off"))
    lamp = Definition(name="lamp", rule=rule)
    off = StepView(step=1, reported={"off": True})
    assert spans(lamp, at(0), at(1, tree="[1] heading 'on'"), off) == ()
    assert spans(lamp, at(0, tree="[1] heading 'on'"), off) == ((0, 1),)


def test_what_holds_before_the_first_action_and_is_lost_by_it_was_never_reached():
    rule = Rule(reached_when=TextCheck(text="on"), lost_when=ReportedCheck(name="off"))
    row = (at(0, tree="[1] heading 'on'"), StepView(step=0, reported={"off": True}))
    assert spans(Definition(name="lamp", rule=rule), *row) == ()


def test_a_fresh_start_loses_everything():
    row = (at(0), at(1, "/cart"), at(2), at(3, fresh=True), at(4, "/cart"))
    assert spans(url("/cart"), *row) == ((1, 3), (4, None))


def test_ordered_milestones_count_only_in_order():
    first, second = url("/list", is_ordered=True), url("/item", is_ordered=True)
    row = [at(0, "/item"), at(1, "/list"), at(2), at(3, "/item")]
    found = find_milestones([first, second], row).findings
    assert [one.achieved_at for one in found] == [1, 3]
    assert in_order(found, [first, second]) == found


def test_it_says_which_milestones_there_was_nothing_to_look_at_for():
    text = Definition(name="text", rule=Rule(reached_when=TextCheck(text="x")))
    unchecked = Definition(name="unchecked")
    looked = find_milestones([url("/cart"), text, unchecked], [at(0)])
    assert [one.name for one in looked.findings] == ["/cart", "text"]
    assert looked.unseen == ("text",)


def test_the_digest_changes_with_all_that_makes_a_difference():
    cart = url("/cart")
    others = [
        [],
        [cart, url("/pay")],
        [url("/pay"), cart],
        [cart.model_copy(update={"weight": 2.0})],
        [cart.model_copy(update={"is_ordered": True})],
        [cart.model_copy(update={"rule": None})],
        [cart.model_copy(update={"name": "other"})],
    ]
    assert len({digest_of([cart]), *map(digest_of, others)}) == 8
    assert digest_of([cart]) == digest_of([Definition.model_validate_json(cart.model_dump_json())])


class TestLooks:
    TREES = {"a" * 64: NO, "b" * 64: YES}

    def step(self, index: int, tree: str, branch: int = 0, **more: object) -> StepRecord:
        blob = BlobRecord(sha256=tree * 64, media_type="text/plain", bytes=1, role="a11y_tree")
        before = Observation(url=f"http://site/{index}", a11y_tree=blob)
        return StepRecord.model_validate(
            {"run_id": "r", "index": index, "branch": branch, "before": before, **more}
        )

    def look(self, *steps: StepRecord) -> list[StepView]:
        return list(looks(steps, lambda blob: self.TREES.get(blob.sha256)))

    def test_a_step_is_its_page_and_then_its_action(self):
        page, action = self.look(self.step(0, "a", extra={"milestones": {"m": True, "n": "?"}}))
        assert (page.url, page.tree, page.reported) == ("http://site/0", NO, {})
        assert (page.step, page.shown_at) == (0, 0)
        assert (action.url, action.reported) == (None, {"m": True})

    def test_a_page_came_of_the_step_before_and_is_shown_at_its_own(self):
        row = self.look(self.step(0, "a"), self.step(1, "b"))
        assert [(seen.step, seen.shown_at) for seen in row] == [
            (0, 0),
            (0, None),
            (0, 1),
            (1, None),
        ]
        agreed = Definition(name="agreed", rule=Rule(reached_when=AGREED))
        (found,) = find_milestones([agreed], row).findings
        assert (found.achieved_at, found.evidence_step) == (0, 1)

    def test_the_page_after_it_comes_last(self):
        after = Observation(url="http://site/end")
        assert [seen.url for seen in self.look(self.step(0, "b", after=after))] == [
            "http://site/0",
            None,
            "http://site/end",
        ]

    def test_a_tree_that_is_gone_is_no_page(self):
        assert self.look(self.step(0, "c"))[0].tree is None

    def test_another_branch_is_a_fresh_start(self):
        row = self.look(self.step(0, "a"), self.step(1, "a"), self.step(2, "a", branch=1))
        assert [seen.step for seen in row if seen.is_fresh_start] == [2]
        assert [seen.step for seen in row] == [0, 0, 0, 1, 2, 2]


rows = st.lists(
    st.tuples(
        st.sampled_from(["page", "action", "after"]),
        st.sampled_from([YES, NO, ELSEWHERE, None]),
        st.dictionaries(st.sampled_from(["a", "b"]), st.booleans()),
        st.booleans(),
    ),
    max_size=20,
)


@given(rows)
def test_whatever_a_run_shows_the_findings_are_sound(
    row: list[tuple[str, str, dict[str, bool], bool]],
):
    """Every row of looks gives spans that can be tracked, in order, none of them made up."""
    seen, step = [], 0
    for what, tree, reported, fresh in row:
        if what == "action":
            seen.append(StepView(step=step, reported=reported))
        else:
            is_fresh = fresh and what == "page"
            seen.append(StepView(step=step, url="http://s", tree=tree, is_fresh_start=is_fresh))
        step += what == "after"
    lost = Rule(reached_when=AGREED, lost_when=ReportedCheck(name="a"))
    milestones = [
        Definition(name="box", rule=Rule(reached_when=AGREED)),
        Definition(name="a", is_ordered=True, rule=Rule(reached_when=ReportedCheck(name="a"))),
        Definition(name="b", is_ordered=True, rule=Rule(reached_when=ReportedCheck(name="b"))),
        Definition(name="lost", rule=lost),
    ]
    found = find_milestones(milestones, seen).findings
    progress = track(found, dict.fromkeys(("box", "a", "b", "lost"), 1.0), step + 1)
    assert 0 <= progress.final <= progress.maximum <= 100
    assert in_order(found, milestones) == found
    said = {name for one in seen for name, is_so in one.reported.items() if is_so}
    assert {one.name for one in found if one.spans and one.name in ("a", "b")} <= said
