"""Text as cells of tables that people open in spreadsheets."""

from __future__ import annotations

import unicodedata

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a spreadsheet may take for the beginning of a formula."""


def escape_formula(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula.

    Also where it begins with blanks, with signs that are not seen, or with full-width forms,
    which some spreadsheets read as the plain ones.
    """
    # A leading apostrophe makes spreadsheets take the cell as text.
    return f"'{text}" if _beginning(text) in FORMULA_SIGNS else text


def _beginning(text: str) -> str:
    for sign in text:
        if sign in FORMULA_SIGNS:
            return sign
        if sign.isspace() or unicodedata.category(sign) in ("Cf", "Cc"):
            continue
        return unicodedata.normalize("NFKC", sign)[:1]
    return ""
