"""``dpframe completion``: scripts by which shells complete commands and options, made from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

SHELLS = ("bash", "zsh", "fish")

Words = dict[tuple[str, ...], list[str]]
"""The commands, choices and options that may follow the commands typed so far, by those."""


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for a shell; a word that is no command and no option is completed as a file.

    Args:
        parser: the parser of the command line.
        shell: one of `SHELLS`.
    """
    words = dict(_words(parser, ()))
    if shell == "fish":
        return "".join(_fish(parser.prog, path, known) for path, known in words.items())
    zsh = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return zsh + _bash(parser.prog, words)


def _words(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    actions = parser._actions  # argparse has no other way to list them
    nested = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    commands = {name: inner for action in nested for name, inner in action.choices.items()}
    options = [option for action in actions for option in action.option_strings if option.startswith("--")]
    places = [action for action in actions if not action.option_strings and action not in nested]
    choices = [str(choice) for action in places for choice in action.choices or ()]
    yield path, [*commands, *choices, *options]
    for name, inner in commands.items():
        yield from _words(inner, (*path, name))


def _bash(command: str, words: Words) -> str:
    """A function that joins the commands typed so far, as many as are known, and offers what may follow them."""
    cases = "\n".join(f'      "{" ".join(path)}") words="{" ".join(known)}" ;;' for path, known in words.items())
    return f"""\
_{command}() {{
  local typed="" words="" place
  for ((place = 1; place <= COMP_CWORD; place++)); do
    case "$typed" in
{cases}
      *) break ;;
    esac
    typed="${{typed:+$typed }}${{COMP_WORDS[place]}}"
  done
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _{command} {command}
"""


def _fish(command: str, path: tuple[str, ...], known: list[str]) -> str:
    """A line for each option, and one for all commands or choices."""
    seen = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in path) or "__fish_use_subcommand"
    plain = [word for word in known if not word.startswith("--")]
    lines = [f"complete -c {command} -n '{seen}' -l {word[2:]}" for word in known if word.startswith("--")]
    if plain:
        unseen = f"; and not __fish_seen_subcommand_from {' '.join(plain)}" if path else ""
        lines.insert(0, f"complete -c {command} -n '{seen}{unseen}' -a '{' '.join(plain)}'")
    return "".join(f"{line}\n" for line in lines)
