# SPDX-License-Identifier: GPL-2.0-or-later
"""``netgroupctl completion``: what a shell needs to complete the command line, from the command table."""

from argparse import Namespace
from collections.abc import Iterable

from netgroupd.cli.command import Command, Option
from netgroupd.cli.commands import COMMANDS, COMMON, PROGRAM
from netgroupd.cli.parser import singulars
from netgroupd.cli.terminal import Terminal

_PLACES = {"netns": "/run/netns", "link": "/sys/class/net"}
_LISTED = {kind: f"ls {place} 2>/dev/null" for kind, place in _PLACES.items()}


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
    return [word for option in command.options if option.positional for word in (*option.words, *singulars(option))]


def _named(options: Iterable[Option]) -> str:
    return "|".join(sorted({option.name for option in options}))


def bash() -> str:
    """A function and its registration for bash."""
    every = [option for command in COMMANDS for option in _switches(command) if option.metavar]
    lines = [
        f"# Completion of {PROGRAM} for bash.",
        f"_{PROGRAM}() {{",
        '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" verb="" given=0 at',
        "    COMPREPLY=()",
        "    # An equals sign is a word of its own.",
        '    if [[ $current == = ]]; then current=""; elif [[ $previous == = ]]; then'
        ' previous="${COMP_WORDS[COMP_CWORD-2]}"; fi',
        "    for ((at = 1; at < COMP_CWORD; at++)); do",
        '        case "${COMP_WORDS[at]}" in',
        f"            {_named(every)}) ((at++)); [[ ${{COMP_WORDS[at]}} == = ]] && ((at++));;",
        "            -*) ;;",
        '            *) if [[ -z $verb ]]; then verb="${COMP_WORDS[at]}"; else ((given++)); fi;;',
        "        esac",
        "    done",
        '    case "$previous" in',
    ]
    values = {option.name: _bash_value(option) for option in every}
    lines += [f"        {name}) {value}return;;" for name, value in values.items()]
    lines += ["    esac", '    case "$verb" in']
    lines.append(f"        '') {_bash_words([command.name for command in COMMANDS], COMMON, '--version')};;")
    for command in COMMANDS:
        lines.append(f"        {command.name}) {_bash_words([], _switches(command))}")
        for place, option in enumerate(option for option in command.options if option.positional):
            if value := _bash_value(option):
                lines.append(f"            ((given {'>=' if option.repeat else '=='} {place})) && {{ {value}}}")
        lines[-1] += ";;"
    lines += ["    esac", "}", f"complete -F _{PROGRAM} {PROGRAM}"]
    return "\n".join(lines) + "\n"


def _bash_words(words: Iterable[str], options: Iterable[Option], *more: str) -> str:
    every = " ".join([*words, *(option.name for option in options), "--help", *more])
    return f'COMPREPLY=($(compgen -W "{every}" -- "$current"))'


def _bash_value(option: Option) -> str:
    """What adds all that an option can be, as far as that is known."""
    if option.complete == "file":
        return 'compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current"); '
    if option.complete:
        # No words for -W, which would carry out what is written in the name of a link.
        found = f'cd {_PLACES[option.complete]} 2>/dev/null && compgen -f -- "$current"'
        return f"mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <({found}); "
    return f'COMPREPLY+=($(compgen -W "{" ".join(option.words)}" -- "$current")); ' if option.words else ""


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
        f"        [[ $words[at-1] == ({_named(option for option in COMMON if option.metavar)}) ]]"
        " || _describe command commands",
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
    return _quoted(
        f"{star}{option.name}{'=' if option.metavar else ''}[{doc}]"
        + (f":{option.metavar}:{action}" if option.metavar else "")
    )


def fish() -> str:
    """Completions for fish."""
    seen = f"__fish_seen_subcommand_from {_verbs(' ')}"
    lines = [f"complete -c {PROGRAM} -f"]
    for command in COMMANDS:
        lines.append(
            f"complete -c {PROGRAM} -n 'not {seen}' -a {command.name} -d {_quoted(command.summary.replace('`', ''))}"
        )
        inside = f"complete -c {PROGRAM} -n '__fish_seen_subcommand_from {command.name}"
        given = f"__fish_seen_subcommand_from {' '.join(_words(command))}"
        for option in command.options:
            if not option.positional:
                lines.append(f"{inside}'{_fish_option(option)}")
            elif option.words:
                lines.append(f"{inside}; and not {given}' -a '{' '.join(option.words)}'")
            elif option.complete == "file":
                lines.append(f"{inside}; and {given}' -F")
            elif option.complete:
                lines.append(f"{inside}; and {given}' -a '({_LISTED[option.complete]})'")
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
