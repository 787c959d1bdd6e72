"""Checks that every command is disturbed by some scenario, and that every scenario names an existing command."""
import pathlib

from program import Folder
from scenario import scenarios


def known(attn):
    """Returns all commands, by the manual pages of the program."""
    with Folder() as folder:
        result = attn.run(("man", "--all", "-o", "pages"), folder)
        assert result.code == 0, result
        return {path.stem.removeprefix("attn-") for path in pathlib.Path(folder / "pages").glob("attn-*.1")}


def check(attn, _, __, ___):
    have, disturbed = known(attn), {scenario.words[0] for scenario in scenarios()}
    failures = [f"no scenario disturbs '{name}'" for name in sorted(have - disturbed)]
    failures += [f"'{name}' of a scenario is no command" for name in sorted(disturbed - have)]
    return f"{len(have)} commands in {len(scenarios())} scenarios", failures
