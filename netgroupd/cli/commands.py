# SPDX-License-Identifier: GPL-2.0-or-later
"""Every verb of ``netgroupctl``, in the order that somebody new would use them."""

from netgroupd.cli.command import Command, Example, Option, patience, seconds

PROGRAM = "netgroupctl"
SUMMARY = "configure very many network interfaces from a few lines"

COMMON = (
    Option("--offline", "Work here and now, without the daemon."),
    Option("--netns", "Work in this network namespace, without the daemon.", "NAME", complete="netns"),
    Option(
        "--config",
        "Read this directory or file instead of the system's; later ones win. Implies --offline.",
        "PATH",
        repeat=True,
        complete="file",
    ),
    Option("--json", "Print JSON for programs."),
)

_DIFFERS = ((2, "There are differences."),)
_LEFT_OUT = ((3, "It is done, but for optional rules that the kernel refused."),)
_CONFIRM = Option(
    "--confirm",
    "Put everything back after this many seconds, at most a day, unless `netgroupctl confirm` is run before.",
    "SECONDS",
    seconds,
)
_ALLOW = Option("--allow", "Go on although this link carries the way to you.", "LINK", repeat=True, complete="link")

COMMANDS = (
    Command(
        "check",
        "read the configuration and say what is wrong with it",
        "Reads the files, runs the templates and checks the result. Every problem is printed with its file, line and "
        "column; the kernel is asked for nothing but the links that there are. Key files that are missing are only "
        "warned of with --config, for what is checked may be meant for another host.",
        examples=(Example("check --config ./network", "Check a directory before it is installed."),),
    ),
    Command(
        "render",
        "print the YAML that the templates give",
        "Runs the templates as apply would, and prints what comes out, each file under its name. It need not be a "
        "configuration that can be used: `check` tells that.",
        options=(Option("--origins", "Print before each line the file and line of the template that gave it."),),
        examples=(Example("render --origins | grep br-1000", "Find the line that makes an interface."),),
    ),
    Command(
        "diff",
        "show what apply would do",
        "Compares the configuration with the kernel. Equal changes of many objects are one line; with --json each "
        "object is listed. What `check` warns of comes before, on the standard error.",
        examples=(
            Example("diff", "See what would change."),
            Example(
                "diff --json | jq -c '.steps[] | .steps[]? // . | .after // .before'",
                "List every object that would change.",
            ),
        ),
        exits=_DIFFERS,
    ),
    Command(
        "apply",
        "make the kernel what the configuration says",
        "Applies all of it or nothing: when the kernel refuses a step, everything done so far is put back; only rules "
        "that are `optional` are then left out. The plan is refused beforehand if it would cut the way to you. What "
        "`check` warns of is told too.",
        options=(_CONFIRM, _ALLOW),
        examples=(
            Example("apply", "Apply now."),
            Example("apply --confirm 60", "Apply, and go back by itself in a minute unless confirmed."),
        ),
        exits=_LEFT_OUT,
    ),
    Command(
        "confirm",
        "keep what `apply --confirm` did",
        "Ends the wait: the change is kept and becomes the current generation.",
        examples=(Example("confirm", "Say that you can still reach the host."),),
    ),
    Command(
        "rollback",
        "go back to an earlier generation",
        "Without a number, to the one before the current one or, while a change waits to be confirmed, to what was "
        "before it. The files are not touched: while they ask for what was left, each boot brings back what is in "
        "effect, until they are edited or `apply` insists.",
        options=(
            Option("generation", "The number that `history` shows.", "N", int),
            _CONFIRM,
            _ALLOW,
        ),
        examples=(Example("rollback 12", "Apply generation 12 again."),),
        exits=_LEFT_OUT,
    ),
    Command(
        "history",
        "list the generations",
        "Shows the configurations that were applied, the newest first, with what each changed.",
        examples=(Example("history", "Find the number to go back to."),),
    ),
    Command(
        "reload",
        "apply as `systemctl reload netgroupd` does",
        "Asks the daemon to apply the configuration and waits for the end. Fails with the reason when the new "
        "configuration is refused; the old one goes on.",
        examples=(Example("reload", "Apply by way of the daemon; two who do so at once are done as one."),),
    ),
    Command(
        "status",
        "show where things stand",
        "The generation, what waits to be confirmed, what is owned, what differs, and what the kernel can do.",
        options=(
            Option(
                "--wait-online",
                "Wait until all is as it was asked for and the hardware has its carriers, at most this long.",
                "SECONDS",
                patience,
            ),
        ),
        examples=(
            Example("status", "See whether all is as it was asked for."),
            Example("status --wait-online 60", "Start something only when the network is there."),
        ),
    ),
    Command(
        "show",
        "list objects, folded into ranges",
        "Lists what the kernel has of what is owned or configured, or with --desired what the configuration asks for. "
        "Without WHAT it is everything; where WHAT is the name of a link, the link and all that is on it.",
        options=(
            Option(
                "what",
                "What to list, or one class of it as its lines name it, such as filter; or the name of a link.",
                "WHAT",
                named=True,
                words=(
                    "links",
                    "groups",
                    "vrfs",
                    "addresses",
                    "routes",
                    "rules",
                    "neighbours",
                    "nexthops",
                    "vlans",
                    "vnis",
                    "fdb",
                    "mdb",
                    "tc",
                    "ethtool",
                    "vfs",
                    "tokens",
                    "settings",
                ),
            ),
            Option("name", "Only the group, VRF or link with this name.", "NAME", complete="link"),
            Option("--desired", "What the configuration asks for, not what is there."),
        ),
        examples=(
            Example("show --desired", "See what the configuration stands for."),
            Example("show links", "List every owned link, thousands in a few lines."),
            Example("show vrf red", "Show what is in one VRF; the singular does as well."),
            Example("show br3", "Show a link with its addresses, its routes and all else that is on it."),
        ),
    ),
    Command(
        "watch",
        "follow what happens",
        "Prints each change, its progress, and drift as the daemon sees them, until it is interrupted.",
        examples=(
            Example("watch", "Look on while somebody else applies."),
            Example("watch --json | jq -c .changed", "Hand it to a program, a line for each piece of news."),
        ),
    ),
    Command(
        "capture",
        "write a configuration for what the host has now",
        "Prints a configuration, with ranges, that describes the present state. Adopting it is a diff like any other.",
        examples=(Example("capture > /etc/netgroup/10-host.yaml", "Start from what is there."),),
    ),
    Command(
        "import",
        "turn another tool's files into a configuration",
        "Reads the files of ifupdown2, their templates and what they source, and prints the same as a configuration "
        "of netgroupd. What has no counterpart is told and listed as a comment, never dropped in silence.",
        options=(
            Option(
                "format",
                "Whose files they are.",
                "FORMAT",
                required=True,
                words=("ifupdown2",),
            ),
            Option("path", "A file.", "FILE", required=True, repeat=True, complete="file"),
        ),
        examples=(Example("import ifupdown2 /etc/network/interfaces", "See it as netgroupd would have it."),),
        module="convert",
    ),
    Command(
        "estimate",
        "say what the configuration will cost",
        "How many objects, how much kernel memory and about how long, before anything is made, and what would cost "
        "less. For root a few links of each kind are made and measured, in a network namespace of their own.",
        examples=(Example("estimate --config ./network", "Know whether a host can bear it."),),
    ),
    Command(
        "rehearse",
        "apply the configuration to a copy of this host in a virtual machine",
        "Captures this host's state, makes it again inside a virtual machine, applies the configuration there, and "
        "reports errors, time, memory and whether the result is as asked. The host is not touched. Needs "
        "linux-source-6.12 to build the kernel from, which takes some minutes the first time, and QEMU where a kernel "
        "cannot run as a process of the host.",
        options=(
            Option(
                "--kernel",
                "Which kernel of the lab to boot, stock if not mentioned.",
                "NAME",
                words=("stock", "patched"),
            ),
            Option("--memory", "How much memory the virtual machine has, such as 4G; 2G if not mentioned.", "SIZE"),
        ),
        examples=(
            Example("rehearse", "Try the files of this host before they are applied."),
            Example("rehearse --kernel patched --memory 4G", "Try them on another kernel, with more room."),
        ),
    ),
    Command(
        "graph",
        "draw the topology",
        "Writes a picture of links, groups and VRFs with ranges folded, and with pending changes in colour.",
        options=(
            Option(
                "--output",
                "The file to write, .svg or .png; without it, SVG goes to the terminal.",
                "FILE",
                complete="file",
            ),
            Option("--desired", "Draw what the configuration asks for, not what is there."),
        ),
        examples=(Example("graph --output network.svg", "Draw this host."),),
    ),
    Command(
        "features",
        "list what the running kernel can do",
        "Shows each kernel feature that netgroupd makes use of, whether it is there, and what it is good for.",
        examples=(Example("features --json | jq .light", "Ask for one of them in a script."),),
    ),
    Command(
        "completion",
        "print the completions for a shell",
        "Prints a script for the shell to load.",
        options=(Option("shell", "Which shell.", "SHELL", required=True, words=("bash", "zsh", "fish")),),
        examples=(Example("completion bash > /etc/bash_completion.d/netgroupctl", "Install them for everybody."),),
    ),
)

EXITS = (
    (0, "All is well."),
    (1, "An error, which was printed."),
    (64, "The command line is wrong."),
    (130, "Interrupted by Ctrl-C; that is how watch ends, with 0."),
)
