# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that runs templates, and everything it cannot do.

Template text in, rendered text out, over two pipes.  It is a fresh interpreter,
so nothing of the daemon is in its memory, and it gives up every right before it
sees the first template: no root, no capability, no file, no socket, no other
process, bounded time and memory.  What it needs of the outside (an included
file, variables, facts of the host) its parent hands in on request.
"""
