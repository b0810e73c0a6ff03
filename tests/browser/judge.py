"""Which tests have failed for sure. A test that fails is tried once more in a fresh browser, and fails only if it fails there, too; where
the browser itself ends, the test has said nothing.

SPDX-License-Identifier: Apache-2.0
"""
import sys
import traceback
import unittest
from dataclasses import dataclass, field

from webdriver import BrowserGone

PASSED, FAILED, NOT_JUDGED = 0, 3, 5  # exit codes; 1 is Python's own where a program ends by an exception


class Attempt(unittest.TestResult):
    """One try of one test, up to its first failure."""

    def __init__(self):
        super().__init__()
        self.failfast, self.gone, self.told = True, False, []

    def keep(self, error):
        if error is None:
            return
        self.gone |= issubclass(error[0], BrowserGone)
        self.told.append("".join(traceback.format_exception(*error)))
        self.stop()

    def addError(self, test, err):
        super().addError(test, err)
        self.keep(err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.keep(err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.told.append(subtest.id())
        self.keep(err)


@dataclass
class Verdict:
    passed: list = field(default_factory=list)
    failed: list = field(default_factory=list)
    unclear: list = field(default_factory=list)

    def code(self):
        return FAILED if self.failed else NOT_JUDGED if self.unclear else PASSED


def tests_of(suite):
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from tests_of(entry)
        else:
            yield entry


def judge(suite, fresh_browser, out=sys.stderr):
    """`fresh_browser()` ends the browser in use and starts another one; it may throw BrowserGone."""
    verdict = Verdict()
    for test in list(tests_of(suite)):
        kept = verdict_of(test, fresh_browser, out)
        getattr(verdict, kept).append(test.id())
        print(f"{kept:8}{test.id()}", file=out, flush=True)
    return verdict


def verdict_of(test, fresh_browser, out):
    gone = False
    for attempt in (1, 2):
        try:
            if attempt == 2:
                fresh_browser()
            result = Attempt()
            test.run(result)
        except BrowserGone as error:
            print(f"no browser: {error}", file=out)
            return "unclear"
        if result.wasSuccessful():
            return "passed"
        print(f"try {attempt} of {test.id()}\n" + "\n".join(result.told), file=out, flush=True)
        gone |= result.gone
    return "unclear" if gone else "failed"
