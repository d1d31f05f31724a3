"""What prose quotes."""

import pytest

from webagent.trajectory.texts import quoted


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('Click "OK", then "Don\'t save".', ["OK", "Don't save"]),
        ("The user's list 'Ann's books', not Bob's.", ["Ann's books"]),
        ("Call `save`, open «Datei» or ‘Ann’s books’.", ["save", "Datei", "Ann’s books"]),
        ("“He said 'no'” and 'yes'", ["He said 'no'", "yes"]),
        ("「保存」と『削除』", ["保存", "削除"]),
        # Scripts without blanks have letters right beside the marks.
        ("ボタン\"OK\"と'保存'を、'削除'も押す", ["OK", "保存", "削除"]),
        ('버튼 "저장"을 누르세요', ["저장"]),
        ('A 5" disk and a 7" one', []),
        ('A mark " that\nnobody " closes', []),
        (f'"{"x" * 201}"', []),
        ('""', []),
    ],
)
def test_quotations(text: str, found: list[str]) -> None:
    assert quoted(text) == found
