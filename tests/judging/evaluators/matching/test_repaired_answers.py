"""Every rule about answers: what it changes, and a near miss that it must not change."""

import pytest

from judging.evaluators.matching.outcome import Verdict
from judging.evaluators.matching.repaired.matcher import RepairedMatcher
from judging.evaluators.matching.repaired.rules import ALL_RULES, REJECTING, Rule
from judging.evaluators.matching.strict import StrictMatcher
from tests.judging.evaluators.matching.factories import answered, string_task

REPAIRED = RepairedMatcher()
STRICT = StrictMatcher()

COUNT = "What is the total count of Pending reviews amongst all the reviews?"
ZIP = "What is the zip code of Carnegie Mellon University?"
BRAND = "What is the top-1 best-selling brand in Quarter 1 2022"
CLOSED = "Open my latest created issue that has theme editor in its title to check if it is closed"
REACHED = "Check if the walmart in pittsburgh can be reached in one hour by car from 5600 fifth ave"
STATES = "Which US states border Connecticut?"
CONTRIBUTORS = "List the name and number of commits of the top 3 contributors to metaseq repo"
PHONE = "What is the phone number of Western Pennsylvania Hospital"
PLACE = "Tell me the coordinates of Carnegie Mellon Café in DD format"
SPENT = "How much I spent on food shopping during from mid Jan to the end Jan 2023"
CLONE = "Show me the command to clone ChatGPT with SSH."
CLONE_REFERENCE = "git clone ssh://git@metis.lti.cs.cmu.edu:2222/convexegg/chatgpt.git"
AIRPORT = (
    "Pittsburgh International Airport, Southern Beltway, Findlay Township, Allegheny County, "
    "15231, United States"
)
ORDER = "The order is Princeton University, Yale University, Harvard University"
THREE_STATES = ["Rhode Island", "Massachusetts", "New York"]


def exact(reference: str) -> dict[str, object]:
    return {"exact_match": reference}


def includes(*references: str) -> dict[str, object]:
    return {"must_include": list(references)}


# rule, intent, references, an answer that passes only by the rule, one that must go on failing
RIGHT_ANSWERS = [
    (Rule.UNICODE, "", exact("Quest Lumaflex™ Band"), "Quest Lumaflex Band", "Quest Band"),
    (Rule.UNICODE, "", includes("can’t stop it"), "I can't stop it now", "I can stop it now"),
    (Rule.WHITE_SPACE, "", exact("Yoga ball"), "Yoga\u00a0 ball", "Yogaball"),
    (Rule.DIACRITICS, "", exact("Erik Linder-Norén"), "Erik Linder-Noren", "Erik Linder-Noran"),
    (Rule.MARKUP, "", exact("Sprite"), "**Sprite**", "**Spirit**"),
    (Rule.MARKUP, "", exact("Sprite"), "`Sprite`", "`Sprite Zero`"),
    (Rule.PUNCTUATION, "", includes("T. Gannon"), "T Gannon, a buyer", "Rachel Gannon"),
    (Rule.PUNCTUATION, "", includes("De Fer Coffee & Tea"), "De Fer Coffee and Tea", "De Fer Tea"),
    (Rule.PUNCTUATION, "", includes("Sean Miller"), "Sean-Miller", "sean.miller@gmail.com"),
    (Rule.SENTENCE, ZIP, exact("15213"), "The zip code is 15213.", "The zip code is 15217."),
    (Rule.SENTENCE, ZIP, exact("15213"), "郵便番号は 15213 です", "郵便番号は 15217 です"),
    (Rule.SENTENCE, BRAND, exact("Sprite"), "Brand: Sprite", "Brand: Sprite Stasis"),
    (Rule.SENTENCE, BRAND, exact("Sprite"), "It's Sprite!", "Sprite Stasis Ball"),
    (Rule.SENTENCE, BRAND, exact("Sprite"), "Sprite (a drink)", "Sprites"),
    (Rule.SENTENCE, BRAND, exact("Sprite"), "- Sprite", "Sprite / Nike"),
    (Rule.SENTENCE, CLOSED, exact("No"), "No, the issue is open.", "No issue was found"),
    (Rule.ALTERNATIVES, "", includes("65 |OR| 3"), "65", "66"),
    (Rule.ALTERNATIVES, "", includes("65 |OR| 3"), "It has 3 stars", "It has 13 stars"),
    (Rule.NUMBER_FORMAT, "", includes("3053.97"), "$3,053.97", "$3,053.79"),
    (Rule.NUMBER_FORMAT, "", includes("0.14", "745.00"), "$0.14 to $745", "$0.14 to $74"),
    (Rule.NUMBER_FORMAT, SPENT, includes("0"), "$0.00", "$0.10"),
    (Rule.NUMBER_WORDS, COUNT, includes("5"), "There are five pending reviews.", "Fifty reviews"),
    (Rule.NUMBER_WORDS, COUNT, includes("0"), "There are no pending reviews.", "I found no way"),
    (Rule.NUMBER_WORDS, COUNT, includes("23"), "twenty-three", "twenty"),
    (Rule.NUMBER_WORDS, SPENT, includes("0"), "You spent nothing.", "I did something."),
    (Rule.ROUNDING, "", includes("359.546"), "$359.55", "$359.56"),
    (Rule.ROUNDING, "", includes("3.745"), "3.75 per brush", "3.8 per brush"),
    (Rule.UNITS, "", includes("914km"), "914 km", "900 km"),
    (Rule.UNITS, "", exact("748m"), "0.748 km", "0.75 miles"),
    (Rule.UNITS, "", exact("1.7km"), "1.7 kilometers", "2 km"),
    (Rule.UNITS, "", includes("914km"), "It is 568 miles", "It is 560 miles"),
    (Rule.DURATIONS, "", includes("1h 23min"), "83 minutes", "1 hour 32 minutes"),
    (Rule.DURATIONS, "", includes("3h 30min"), "3 hours and 30 minutes", "3 hours"),
    (Rule.DATES, "", includes("3/2/22"), "on March 2nd, 2022", "on March 2nd, 2023"),
    (Rule.DATES, "", includes("2023-05-31"), "31.05.2023", "30.05.2023"),
    (Rule.DATES, "", includes("May 2023"), "2023-05", "2023-06"),
    (Rule.DATES, "", exact("Jan 2023"), "It was January 2023.", "January 3, 2023"),
    (Rule.DATES, "", includes("Jan 16, 2030"), "2030-01-16", "2030-01-17"),
    (
        Rule.COORDINATES,
        PLACE,
        includes("40.442", "-79.939"),
        "40.442° N, 79.939° W",
        "40.442, 79.939",
    ),
    (Rule.COORDINATES, PLACE, includes("40.460"), "40.461", "40.463"),
    (Rule.COORDINATES, PLACE, includes("-79.946"), "79.9468 W", "79.9448 W"),
    (Rule.PHONES, PHONE, exact("4125785000"), "412-578-5000", "412-578-5001"),
    (Rule.PHONES, PHONE, exact("4125785000"), "+1 (412) 578-5000", "+2 (412) 578-5000"),
    (Rule.POSTAL_CODES, ZIP, exact("15213"), "15213-3890", "15217-3890"),
    (
        Rule.LABELLED_VALUES,
        CONTRIBUTORS,
        includes("Susan Zhang: 70", "Stephen Roller: 51"),
        "Susan Zhang (70), Stephen Roller with 51 commits",
        "Susan Zhang (51), Stephen Roller with 70 commits",
    ),
    (
        Rule.SEQUENCES,
        "",
        includes(ORDER),
        "Princeton University -> Yale University -> Harvard University",
        "Princeton University -> Harvard University -> Yale University",
    ),
    (
        Rule.ADDRESSES,
        "",
        includes(AIRPORT),
        "Pittsburgh International Airport, Southern Beltway, Findlay Township, Allegheny County, "
        "Pennsylvania, 15231",
        "Pittsburgh International Airport, Findlay Township, Allegheny County, 15231",
    ),
    (
        Rule.POLARITY,
        CLOSED,
        exact("No"),
        "Its status badge shows Open, so it is not closed.",
        "It is closed.",
    ),
    (Rule.POLARITY, CLOSED, exact("Yes"), "Closed", "Not closed"),
    (Rule.POLARITY, REACHED, includes("Yes"), "It can be reached in 20 minutes", "It takes 20 min"),
    (Rule.POLARITY, REACHED, includes("Yes"), "It is reachable", "It cannot be reached"),
    (Rule.ANSWER_URLS, "", exact("http://web.cmoa.org/"), "web.cmoa.org", "cmoa.org"),
    (
        Rule.ANSWER_URLS,
        "",
        includes("http://www.reddit.com/f/books/59396/apple"),
        "http://localhost:9999/f/books/59396/apple",
        "http://localhost:9999/f/books/5939/apple",
    ),
    (
        Rule.CLONE_COMMANDS,
        CLONE,
        exact(CLONE_REFERENCE),
        "git clone ssh://git@localhost:2222/convexegg/chatgpt.git",
        "git clone ssh://git@localhost:2222/other/chatgpt.git",
    ),
    (
        Rule.CLONE_COMMANDS,
        CLONE,
        exact(CLONE_REFERENCE),
        "`git clone git@gitlab.example:convexegg/chatgpt.git`",
        "git clone http://gitlab.example/convexegg/chatgpt.git",
    ),
    (Rule.NUMBER_BOUNDARIES, COUNT, includes("0"), "The count is 0. I checked", "0.5 a day"),
    (Rule.NUMBER_BOUNDARIES, COUNT, includes("0"), "count=0", "count=10"),
]

# rule, intent, references, an answer that only the rule rejects, one that must go on passing
WRONG_ANSWERS = [
    (Rule.WORD_BOUNDARIES, REACHED, includes("Yes"), "Yesterday it was", "Yes, it was"),
    (Rule.WORD_BOUNDARIES, "", includes("Lo"), "Flow", "Lo"),
    (Rule.WORD_BOUNDARIES, "", includes("WSH09-29"), "WSH09-29-XL", "WSH09-29."),
    (Rule.WORD_BOUNDARIES, "", includes("Joust Bag"), "Joust Baggage", "Joust Bags"),
    (Rule.NUMBER_BOUNDARIES, "", includes("36.39"), "136.39", "It is 36.39."),
    (Rule.NUMBER_BOUNDARIES, "", includes("16"), "In 2016", "In total 16"),
    (Rule.NUMBER_BOUNDARIES, "", includes("346"), "1346", "346"),
    (Rule.NUMBER_BOUNDARIES, "", includes("1.46", "85"), "$1.46 - $185", "$1.46 - $85"),
    (Rule.NUMBER_BOUNDARIES, "", includes("6", "2"), "62", "6 and 2"),
    (Rule.NUMBER_BOUNDARIES, COUNT, includes("3"), "All is on page 3 of 12", "3, on page 1 of 12"),
    (Rule.WORD_BOUNDARIES, "", includes("914km"), "1914km", "914km"),
    (
        Rule.NEGATION,
        "",
        includes("Jane Smith"),
        "It is not Jane Smith",
        "Not Jane Doe but Jane Smith",
    ),
    (Rule.NEGATION, COUNT, includes("5"), "It isn't 5", "I am not joking: 5"),
    (
        Rule.NEGATION,
        BRAND,
        includes("Sprite"),
        "Sprite is not a brand here; it is Nike",
        "Sprite is not a small brand. It is well known.",
    ),
    (Rule.NEGATION, BRAND, includes("Sprite"), "Unlike Sprite, Nike sells", "Nothing like Sprite"),
    (Rule.NEGATION, "", includes("Sprite"), "Sprite is not the answer", "Sprite, not Nike"),
    (Rule.HEDGING, COUNT, includes("5"), "Maybe 5", "5, and maybe more next week"),
    (Rule.HEDGING, "", includes("Sprite"), "It might be Sprite", "It is Sprite"),
    (Rule.HEDGING, ZIP, includes("15213"), "Not found; probably 15213", "15213, the most likely"),
    (Rule.HEDGING, BRAND, includes("Sprite"), "Sprite?", "Which one? Sprite."),
    (Rule.HEDGING, COUNT, includes("5"), "more than 5", "5, more than last year"),
    (Rule.SHOTGUN, COUNT, includes("0"), "0 1 2 3 4 5 6 7 8 9", "0 of 351"),
    (Rule.SHOTGUN, COUNT, includes("0"), "0 or 6", "0 or so"),
    (Rule.SHOTGUN, "", includes("$15"), "$15 to $20", "$15, up from $20"),
    (Rule.SHOTGUN, REACHED, includes("Yes"), "Yes or No", "Yes, no doubt"),
    (Rule.SHOTGUN, REACHED, includes("Yes"), "yes/no", "yes / reachable"),
    (Rule.SHOTGUN, "", includes("Acadia"), "Acadia or Zion", "Acadia, call or visit first"),
    (
        Rule.CONTRADICTION,
        COUNT,
        includes("0"),
        "The answer is 3. 0 errors came up.",
        "The answer is 0. 3 errors came up.",
    ),
    (Rule.CONTRADICTION, REACHED, includes("Yes"), "No. Yes is for trains", "Yes. No detours"),
    (
        Rule.CONTRADICTION,
        BRAND,
        includes("Sprite"),
        "Nike, followed by Sprite",
        "Sprite, followed by Nike",
    ),
    (
        Rule.EXTRA_ITEMS,
        STATES,
        includes(*THREE_STATES),
        "Rhode Island, Massachusetts, New York, and Vermont",
        "Connecticut borders Rhode Island, Massachusetts, and New York.",
    ),
    (
        Rule.EXTRA_ITEMS,
        "List all books by Ines Calder.",
        includes("The Salt Road", "Tidewater"),
        "The Salt Road, Tidewater, Small Engines, Moss: A Field Guide",
        "Books by Ines Calder: The Salt Road, Tidewater",
    ),
    (
        Rule.EXTRA_ITEMS,
        STATES,
        includes(*THREE_STATES),
        "- Rhode Island\n- Massachusetts\n- New York\n- Vermont",
        "1. Rhode Island\n2. Massachusetts\n3. New York\nTotal: 3",
    ),
    (
        Rule.EXTRA_ITEMS,
        "Where is the nearest tea cafe to University of Pittsburgh",
        includes("Fuku Tea"),
        None,
        "Fuku Tea, 3716 Forbes Avenue, Central Oakland, Pittsburgh, and Allegheny County",
    ),
    (
        Rule.CASE_SENSITIVE_CODES,
        "Get me my RSS feed token",
        exact("TMN_bBn9Z48qVbUFZV45"),
        "tmn_bbn9z48qvbufzv45",
        "TMN_bBn9Z48qVbUFZV45",
    ),
]


def judged(matcher: RepairedMatcher | StrictMatcher, intent: str, references: object, answer: str):
    return matcher.evaluate(string_task(references, intent=intent, note="why"), answered(answer))


@pytest.mark.parametrize(("rule", "intent", "references", "right", "wrong"), RIGHT_ANSWERS)
def test_accepting_rules(rule, intent, references, right, wrong):
    found = judged(REPAIRED, intent, references, right)
    assert judged(STRICT, intent, references, right).verdict == Verdict.FAILED
    assert found.verdict == Verdict.PASSED
    assert rule.value in found.rules
    rules = REJECTING | {Rule(name) for name in found.rules}
    only, without = RepairedMatcher(rules=rules), RepairedMatcher(rules=rules - {rule})
    assert judged(only, intent, references, right).verdict == Verdict.PASSED
    assert judged(without, intent, references, right).verdict == Verdict.FAILED
    assert judged(REPAIRED, intent, references, wrong).verdict == Verdict.FAILED


@pytest.mark.parametrize(("rule", "intent", "references", "wrong", "right"), WRONG_ANSWERS)
def test_rejecting_rules(rule, intent, references, wrong, right):
    if wrong is not None:
        found = judged(REPAIRED, intent, references, wrong)
        assert judged(STRICT, intent, references, wrong).verdict == Verdict.PASSED
        assert found.verdict == Verdict.FAILED
        assert rule.value in found.rules
        rules = (ALL_RULES - REJECTING) | {Rule(name) for name in found.rules}
        only, without = RepairedMatcher(rules=rules), RepairedMatcher(rules=rules - {rule})
        assert judged(only, intent, references, wrong).verdict == Verdict.FAILED
        assert judged(without, intent, references, wrong).verdict == Verdict.PASSED
    assert judged(STRICT, intent, references, right).verdict == Verdict.PASSED
    assert judged(REPAIRED, intent, references, right).verdict == Verdict.PASSED


def test_every_rule_about_answers_is_in_a_table():
    tabled = {row[0] for row in RIGHT_ANSWERS} | {row[0] for row in WRONG_ANSWERS}
    elsewhere = {Rule.PLAIN_NOT_ACHIEVABLE, Rule.SETTLED_WITHOUT_JUDGE}
    urls = {rule for rule in Rule if rule.value.startswith("url_")}
    assert tabled | elsewhere | urls == ALL_RULES


@pytest.mark.parametrize(
    ("references", "answer"),
    [
        (exact("15213"), "15213 or 15217"),
        (exact("15213"), "It is not 15213"),
        (exact("15213"), "It might be 15213"),
        (exact("15213"), "The answer is 15217. I also saw 15213"),
        (exact("06516"), "6516"),
        (exact("Sprite"), "Sprite, Nike, and Adidas"),
        (exact("Sprite"), "Sprite or Nike"),
        (exact("Hannah Lim"), "Hannah Lim and Emma Lopez"),
        (exact("Sprite"), " ".join(["word"] * 60) + " Sprite"),
    ],
)
def test_a_sentence_does_not_carry_what_it_does_not_assert(references, answer):
    assert judged(REPAIRED, "Tell me the one", references, answer).verdict == Verdict.FAILED


@pytest.mark.parametrize("answer", ["N/A.", "The answer is N/A", "**N/A**", '"N/A"!'])
def test_not_achievable_in_plain_words_needs_no_judge(answer):
    found = judged(REPAIRED, "", {"fuzzy_match": "N/A"}, answer)
    assert found.verdict == Verdict.PASSED
    assert found.judge_calls == ()
    assert found.rules in {("plain_not_achievable",), ("markup", "plain_not_achievable")}


@pytest.mark.parametrize("answer", ["N/A or 5", "not N/A", "It is N/A because of the weather", "5"])
def test_anything_more_than_not_achievable_goes_to_the_judge(answer):
    found = judged(REPAIRED, "", {"fuzzy_match": "N/A"}, answer)
    assert found.verdict == Verdict.NEEDS_JUDGE


@pytest.mark.parametrize(
    ("references", "answer"),
    [
        (["1h 23min"], "It takes 1 hour 23 minutes."),
        (["Time: 15min"], "Time: 15 minutes"),
        (["3/2/22"], "March 2nd, 2022"),
        (["March 11th 2023"], "3/11/2023"),
        (["driving: 2min", "walking: 16min"], "Driving takes 2 min and walking 16 min."),
    ],
)
def test_quantities_among_fuzzy_references_need_no_judge(references, answer):
    found = judged(REPAIRED, "", {"fuzzy_match": references}, answer)
    assert found.verdict == Verdict.PASSED
    assert "settled_without_judge" in found.rules
    assert found.judge_calls == ()


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("1h 23min", "1 hour 30 minutes"),
        ("1h 23min", "maybe 83 minutes"),
        ("3/2/22", "3/3/22"),
        ("It is comfortable", "It is comfortable"),
    ],
)
def test_the_judge_keeps_what_is_no_quantity_or_not_equal(reference, answer):
    found = judged(REPAIRED, "", {"fuzzy_match": [reference]}, answer)
    assert found.verdict == Verdict.NEEDS_JUDGE
    assert len(found.judge_calls) == 1


def test_a_clone_command_must_be_on_a_known_host_where_hosts_are_known():
    task = string_task(exact(CLONE_REFERENCE), intent=CLONE)
    hosts = (("http://gitlab.lab:8023", "http://gitlab.com"),)
    known = type(task)(evaluation=task.evaluation, intent=CLONE, host_aliases=hosts)
    command = "git clone ssh://git@{}:2222/convexegg/chatgpt.git"
    for host, verdict in (("gitlab.lab", "passed"), ("evil.example", "failed")):
        assert REPAIRED.evaluate(known, answered(command.format(host))).verdict == verdict


def test_errors_of_the_specification_stay_errors():
    for references in (None, {"must_include": "x"}, {"exact_match": 5}, {"fuzzy_match": "x"}):
        assert judged(REPAIRED, "", references, "x").verdict == Verdict.ERROR


def test_configuration():
    matcher = RepairedMatcher.from_config({"off": ["hedging", "negation"]})
    assert ALL_RULES - matcher.rules == {Rule.HEDGING, Rule.NEGATION}
    assert matcher.identity.config == {"off": ["hedging", "negation"], "missing_answer": ""}
    assert matcher.identity.config_hash != REPAIRED.identity.config_hash
    assert RepairedMatcher.from_config(matcher.identity.config) == matcher
    with pytest.raises(ValueError, match="no rule"):
        RepairedMatcher.from_config({"off": ["typo"]})
    with pytest.raises(ValueError, match="no setting"):
        RepairedMatcher.from_config({"rules": []})
    with pytest.raises(ValueError, match="not a list"):
        RepairedMatcher.from_config({"off": "hedging"})
