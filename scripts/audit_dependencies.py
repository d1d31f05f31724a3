"""Whether what Crosscheck stands on has known vulnerabilities (pip-audit, `--strict`).

Ends with 1 over a vulnerability. Where the advisory service cannot be asked it says so in one
line and ends with 0: nothing is known then, which is not the same as nothing being wrong.
"""

import json
import subprocess
import sys
from pathlib import Path

LISTS = ("requirements.txt", "requirements-dev.txt", "requirements-webarena.txt")
PIP_AUDIT = Path(sys.executable).with_name("pip-audit")
SECONDS = 120


def audit(name: str) -> tuple[list[str], str]:
    """What is vulnerable in a list of packages, and why that is not known (empty where it is)."""
    command = [str(PIP_AUDIT), "--strict", "--disable-pip", "--require-hashes", "--timeout", "10"]
    command += ["--progress-spinner", "off", "--format", "json", "--requirement", name]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], str(error)
    return verdict(ended.returncode, ended.stdout, ended.stderr)


def verdict(code: int, said: str, complained: str) -> tuple[list[str], str]:
    """The same from what pip-audit said. Only a whole answer about some packages counts."""
    try:
        packages = json.loads(said)["dependencies"]
    except (ValueError, KeyError, TypeError):
        packages = []
    if not packages or any("skip_reason" in package for package in packages):
        lines = complained.strip().splitlines() or [f"pip-audit ended with {code} and no answer"]
        return [], lines[-1]
    found = [
        f"{package['name']} {package['version']}: {flaw['id']}"
        f" (mended in {', '.join(flaw['fix_versions']) or 'no version yet'})"
        for package in packages
        for flaw in package["vulns"]
    ]
    return found, "" if found or code == 0 else f"pip-audit ended with {code}"


def main() -> int:
    known = True
    found: list[str] = []
    for name in LISTS:
        vulnerable, why = audit(name)
        found += vulnerable
        if why:
            known = False
            print(f"NOT AUDITED: {name}: the advisory service gave no answer: {why[:200]}")
    for line in found:
        print(f"VULNERABLE: {line}")
    if known and not found:
        print(f"No known vulnerability in {' and '.join(LISTS)}.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
