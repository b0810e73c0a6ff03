"""SPDX-License-Identifier: Apache-2.0"""
import io
import unittest

from judge import FAILED, NOT_JUDGED, PASSED, BrowserGone, judge


def verdict(*outcomes, fresh=lambda: None):
    """Of tests that end so, each a list of what its tries throw (None: they pass)."""
    suite = unittest.TestSuite()
    for tries in outcomes:
        left = iter(tries)

        def once(left=left):
            error = next(left)
            if error:
                raise error
        suite.addTest(unittest.FunctionTestCase(once))
    return judge(suite, fresh, io.StringIO())


WRONG, GONE = AssertionError("wrong"), BrowserGone("crashed")


class Judge(unittest.TestCase):
    def test_a_test_that_passes_is_not_run_again(self):
        self.assertEqual(verdict([None]).code(), PASSED)  # a second try would end the list

    def test_one_failure_is_no_failure(self):
        self.assertEqual(verdict([WRONG, None]).code(), PASSED)

    def test_two_failures_of_the_same_test_are(self):
        self.assertEqual(verdict([None], [WRONG, WRONG]).code(), FAILED)

    def test_one_failure_of_each_of_two_tests_is_none(self):
        self.assertEqual(verdict([WRONG, None], [WRONG, None]).code(), PASSED)

    def test_a_browser_that_ends_says_nothing_of_the_page(self):
        self.assertEqual(verdict([GONE, GONE]).code(), NOT_JUDGED)
        self.assertEqual(verdict([WRONG, GONE]).code(), NOT_JUDGED)
        self.assertEqual(verdict([GONE, WRONG]).code(), NOT_JUDGED)
        self.assertEqual(verdict([GONE, None]).code(), PASSED)

    def test_nor_does_one_that_does_not_start_again(self):
        def fresh():
            raise GONE
        self.assertEqual(verdict([WRONG], fresh=fresh).code(), NOT_JUDGED)

    def test_what_has_failed_counts_more_than_what_is_unclear(self):
        self.assertEqual(verdict([GONE, GONE], [WRONG, WRONG]).code(), FAILED)

    def test_the_second_try_has_a_fresh_browser(self):
        started = []
        verdict([None], [WRONG, None], fresh=lambda: started.append(1))
        self.assertEqual(len(started), 1)

    def test_of_a_test_in_parts_one_part_fails_it(self):
        class Parts(unittest.TestCase):
            ran = 0

            def runTest(self):
                for part in range(3):
                    with self.subTest(part):
                        Parts.ran += 1
                        self.assertNotEqual(part, 1)
        self.assertEqual(judge(unittest.TestSuite([Parts()]), lambda: None, out=io.StringIO()).code(), FAILED)
        self.assertEqual(Parts.ran, 4)  # two tries, up to the part that fails


if __name__ == "__main__":
    unittest.main()
