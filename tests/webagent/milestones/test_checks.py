"""Mechanical checks of single looks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from webagent.milestones.checks import (
    ActionCheck,
    Check,
    ElementCheck,
    ReportedCheck,
    StepView,
    TextCheck,
    UrlCheck,
    fits,
)
from webagent.milestones.findings import Rule
from webagent.trajectory.records import ActionRecord, Target

TREE = """RootWebArea 'Shop'
\t[2] heading 'Your  CART'
\t[3] StaticText 'Total: ￥1,200'
\t[4] checkbox 'I agree', clickable, checked='false'
\t[5] checkbox 'News', clickable, checked='true'
\t[6] textbox 'Name' value='Ann Lee'
\t[7] combobox 'Colour' value='red', clickable, expanded=True
\t[8] button 'Pay', clickable, disabled=True
\t[9] textbox 'Nick name'"""


def page(tree: str = TREE, url: str = "http://shop.test/cart") -> StepView:
    return StepView(step=3, url=url, tree=tree)


def done(name: str, *args: str, text: str | None = None, error: str | None = None) -> StepView:
    action = ActionRecord(
        raw=name,
        dialect="browsergym",
        name=name,
        args=args,
        target=Target(bid=args[0], text=text) if text else None,
        status="error" if error else "ok",
        error=error,
    )
    return StepView(step=3, actions=(action,))


class TestFits:
    @pytest.mark.parametrize(
        ("pattern", "text", "does"),
        [
            ("abc", "abc", True),
            ("abc", "abcd", False),
            ("a*c", "abbc", True),
            ("a*c", "ac", True),
            ("a*a", "a", False),
            ("*cart*", "http://shop/cart?x=1", True),
            ("*.html", "index.html", True),
            ("*.html", "index.html?x", False),
            ("a*b*c", "a-c-b", False),
            ("**", "", True),
            ("a?c[d]", "a?c[d]", True),
        ],
    )
    def test_star_alone_stands_for_anything(self, pattern: str, text: str, does: bool):
        assert fits(pattern, text) is does

    @given(st.lists(st.text("ab", max_size=3), min_size=1), st.data())
    def test_what_a_pattern_was_made_from_fits_it(self, parts: list[str], data: st.DataObject):
        between = [data.draw(st.text("ab", max_size=3)) for _ in parts[1:]]
        text = parts[0] + "".join(a + b for a, b in zip(between, parts[1:], strict=True))
        assert fits("*".join(parts), text)

    def test_no_page_makes_it_slow(self):
        assert not fits("*".join(["a"] * 200) + "b", "a" * 200_000)


class TestAddresses:
    @pytest.mark.parametrize(
        ("pattern", "url", "does"),
        [
            ("http://shop.test/cart", "http://shop.test/cart/", True),
            ("*/Cart", "http://shop.test/cart", True),
            ("*/a b", "http://shop.test/a%20b", True),
            ("*/cart", "http://shop.test/cart?id=3", False),
            ("*/cart?id=*", "http://shop.test/cart?id=3", True),
        ],
    )
    def test_the_whole_address_fits(self, pattern: str, url: str, does: bool):
        assert UrlCheck(pattern=pattern).finds(page(url=url)) is does

    def test_a_page_without_an_address_says_nothing(self):
        assert not UrlCheck(pattern="*/cart").can_see(StepView(step=0, tree=TREE))


class TestTexts:
    @pytest.mark.parametrize(
        ("text", "does"),
        [
            ("your cart", True),
            ("Total: ¥1,200", True),
            ("Ann", True),
            ("total*1,200", True),
            ("1,200 total", False),
            ("empty", False),
        ],
    )
    def test_words_on_the_page(self, text: str, does: bool):
        assert TextCheck(text=text).finds(page()) is does

    def test_ids_and_roles_are_no_words_of_the_page(self):
        assert not TextCheck(text="checkbox").finds(page())

    def test_a_tree_of_another_form_is_searched_whole(self):
        seen = page(tree='{"name": "Your cart"}')
        assert TextCheck(text="your cart").finds(seen)


class TestElements:
    @pytest.mark.parametrize(
        ("check", "says"),
        [
            (ElementCheck(role="button", name="Pay"), True),
            (ElementCheck(role="link", name="Pay"), False),
            (ElementCheck(name="I agree", state="checked"), False),
            (ElementCheck(name="I agree", state="unchecked"), True),
            (ElementCheck(role="checkbox", name="News", state="checked"), True),
            (ElementCheck(role="checkbox", state="checked"), True),
            (ElementCheck(name="Name", state="value", value="ann*"), True),
            (ElementCheck(name="Name", state="value", value="ann"), False),
            (ElementCheck(name="Name", state="value", value="*"), True),
            (ElementCheck(name="Nick name", state="value", value="*"), False),
            (ElementCheck(name="Nick name", state="value"), True),
            (ElementCheck(name="Colour", state="expanded"), True),
            (ElementCheck(name="Pay", state="disabled"), True),
            (ElementCheck(name="Elsewhere", state="checked"), None),
        ],
    )
    def test_states(self, check: ElementCheck, says: bool | None):
        assert check.finds(page()) is says


class TestActions:
    @pytest.mark.parametrize(
        ("check", "seen", "does"),
        [
            (ActionCheck(action="click"), done("click", "12"), True),
            (ActionCheck(action="click"), done("fill", "12", "x"), False),
            (ActionCheck(target="add to*"), done("click", "12", text="Add to cart"), True),
            (ActionCheck(target="add to*"), done("click", "12"), False),
            (ActionCheck(action="fill", text="ann"), done("fill", "12", "Ann", text="Name"), True),
            (ActionCheck(action="fill", text="12"), done("fill", "12", "Ann", text="Name"), False),
            (
                ActionCheck(action="send_msg_to_user", text="*42*"),
                done("send_msg_to_user", "It is 42."),
                True,
            ),
            (ActionCheck(action="click"), done("click", "12", error="timeout"), False),
        ],
    )
    def test_what_was_done(self, check: ActionCheck, seen: StepView, does: bool):
        assert check.finds(seen) is does


def test_what_the_environment_reports():
    check = ReportedCheck(name="cart")
    assert not check.can_see(StepView(step=0))
    assert check.finds(StepView(step=0, reported={"cart": True})) is True
    assert check.finds(StepView(step=0, reported={"cart": False})) is False


@pytest.mark.parametrize(
    ("check", "seen"),
    [
        (UrlCheck(pattern="*cart"), page()),
        (TextCheck(text="your cart"), page()),
        (ElementCheck(name="News", state="checked"), page()),
        (ElementCheck(name="Name", state="value", value="ann*"), page()),
        (ElementCheck(role="button"), page()),
        (ActionCheck(action="click"), done("click", "12", text="Pay")),
        (ReportedCheck(name="a"), StepView(step=0, reported={"a": True})),
    ],
)
def test_what_is_found_has_evidence_in_words(check: Check, seen: StepView):
    assert check.can_see(seen)
    assert check.finds(seen)
    assert check.evidence(seen)


@pytest.mark.parametrize(
    "reached",
    [
        {"kind": "url", "pattern": " ** "},
        {"kind": "text", "text": ""},
        {"kind": "regex", "pattern": "(a+)+"},
        {"kind": "element", "state": "gone"},
        {"kind": "url", "pattern": "x", "flags": "i"},
        {"kind": "element"},
        {"kind": "action"},
    ],
)
def test_a_check_that_asks_for_nothing_or_too_much_is_refused(reached: dict[str, str]):
    with pytest.raises(ValidationError):
        Rule.model_validate({"reached_when": reached})
