# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl completion``: what a shell needs to complete the command line, from the command table."""

from argparse import Namespace
from collections.abc import Iterable

from netgroupd.cli.command import Command, Option
from netgroupd.cli.commands import COMMANDS, COMMON, PROGRAM
from netgroupd.cli.terminal import Terminal

_LISTED = {"netns": "ls /run/netns 2>/dev/null", "link": "ls /sys/class/net"}


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print the script."""
    text = SHELLS[arguments.shell]()
    if terminal.as_json:
        terminal.answer({"shell": arguments.shell, "script": text})
    else:
        terminal.write(text)
    return 0


def _switches(command: Command) -> list[Option]:
    return [option for option in (*command.options, *COMMON) if not option.positional]


def _words(command: Command) -> list[str]:
    return [word for option in command.options if option.positional for word in option.words]


def _with(kind: str, options: Iterable[Option]) -> str:
    return "|".join(sorted({option.name for option in options if option.complete == kind}))


def bash() -> str:
    """A function and its registration for bash."""
    every = [option for command in COMMANDS for option in _switches(command)]
    files = [command.name for command in COMMANDS if any(o.positional and o.complete for o in command.options)]
    lines = [
        f"# Completion of {PROGRAM} for bash.",
        f"_{PROGRAM}() {{",
        '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" verb="" word',
        "    COMPREPLY=()",
        f'    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do case "$word" in {_verbs("|")}) verb="$word"; break;;'
        " esac; done",
        '    case "$previous" in',
        *(
            f'        {_with(kind, every)}) COMPREPLY=($(compgen -W "$({listing})" -- "$current")); return;;'
            for kind, listing in _LISTED.items()
        ),
        f'        {_with("file", every)}) COMPREPLY=($(compgen -f -- "$current")); return;;',
    ]
    lines += [
        f'        {option.name}) COMPREPLY=($(compgen -W "{" ".join(option.words)}" -- "$current")); return;;'
        for option in {option.name: option for option in every if option.words}.values()
    ]
    lines += ["    esac", '    case "$verb" in']
    for command in COMMANDS:
        words = " ".join([*_words(command), *(option.name for option in _switches(command)), "--help"])
        extra = ' $(compgen -f -- "$current")' if command.name in files else ""
        lines.append(f'        {command.name}) COMPREPLY=($(compgen -W "{words}" -- "$current"){extra});;')
    common = " ".join([*(command.name for command in COMMANDS), *(o.name for o in COMMON), "--help", "--version"])
    lines += [
        f'        *) COMPREPLY=($(compgen -W "{common}" -- "$current"));;',
        "    esac",
        "}",
        f"complete -F _{PROGRAM} {PROGRAM}",
    ]
    return "\n".join(lines) + "\n"


def zsh() -> str:
    """A completion function for zsh."""
    lines = [f"#compdef {PROGRAM}", "", f"_{PROGRAM}() {{", "    local -a commands", "    commands=("]
    lines += [f"        {_quoted(f'{command.name}:{command.summary}')}" for command in COMMANDS]
    common = " ".join(map(_zsh_spec, COMMON))
    lines += [
        "    )",
        "    local at=2",
        "    while (( at < CURRENT )) && [[ -z ${commands[(r)$words[at]:*]} ]]; do (( at++ )); done",
        "    if (( at == CURRENT )); then",
        "        _describe command commands",
        f"        _arguments {common} --help --version",
        "        return",
        "    fi",
        "    local verb=$words[at]",
        "    shift $(( at - 1 )) words; (( CURRENT -= at - 1 ))",
        "    case $verb in",
    ]
    for command in COMMANDS:
        specs = " ".join(map(_zsh_spec, command.options))
        lines.append(f"        {command.name}) _arguments {f'{specs} {common}'.lstrip()} --help;;")
    lines += ["    esac", "}", "", f'_{PROGRAM} "$@"']
    return "\n".join(lines) + "\n"


def _zsh_spec(option: Option) -> str:
    action = (
        f"({' '.join(option.words)})"
        if option.words
        else {"file": "_files", **{kind: f"($({listing}))" for kind, listing in _LISTED.items()}}.get(
            option.complete, ""
        )
    )
    doc = option.doc.replace("[", "(").replace("]", ")").replace(":", ",").replace("`", "")
    star = "*" if option.repeat else ""
    if option.positional:
        return _quoted(f"{star}:{option.name}:{action}")
    return _quoted(f"{star}{option.name}[{doc}]" + (f":{option.metavar}:{action}" if option.metavar else ""))


def fish() -> str:
    """Completions for fish."""
    seen = f"__fish_seen_subcommand_from {_verbs(' ')}"
    lines = [f"complete -c {PROGRAM} -f"]
    for command in COMMANDS:
        lines.append(
            f"complete -c {PROGRAM} -n 'not {seen}' -a {command.name} -d {_quoted(command.summary.replace('`', ''))}"
        )
        inside = f"complete -c {PROGRAM} -n '__fish_seen_subcommand_from {command.name}'"
        if words := _words(command):
            lines.append(f"{inside} -a '{' '.join(words)}'")
        for option in command.options:
            if not option.positional:
                lines.append(inside + _fish_option(option))
            elif option.complete == "file":
                lines.append(f"{inside} -F")
    lines += [f"complete -c {PROGRAM}{_fish_option(option)}" for option in COMMON]
    return "\n".join(lines) + "\n"


def _fish_option(option: Option) -> str:
    takes = f" -x -a '{' '.join(option.words)}'" if option.words else " -x" if option.metavar else ""
    listed = {kind: f" -x -a '({listing})'" for kind, listing in _LISTED.items()}
    takes = {"file": " -r -F", **listed}.get(option.complete, takes)
    return f" -l {option.name.lstrip('-')}{takes} -d {_quoted(option.doc.replace('`', ''))}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _verbs(separator: str) -> str:
    return separator.join(command.name for command in COMMANDS)


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
