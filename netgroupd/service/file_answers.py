# SPDX-License-Identifier: GPL-2.0-or-later
"""What is answered about the files and what was applied, without loading all of the engine."""

from netgroupd.engine.files import Files
from netgroupd.service.details import Answer, problems_answer


class FileAnswers:
    """Answers about the files and the records."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def check(self) -> Answer:
        """Of how many files a configuration is that can be used, and its warnings."""
        files, warnings = self._files.check()
        return {"files": files, "warnings": problems_answer(warnings)}

    def render(self) -> str:
        """The configuration as YAML."""
        return self._files.render()

    def render_lines(self) -> Answer:
        """The configuration as lines of YAML, each with the template's line that it is from."""
        return {"lines": [line._asdict() for line in self._files.render_lines()]}

    def history(self) -> Answer:
        """The generations that are kept."""
        return {"generations": [generation._asdict() for generation in self._files.history()]}
