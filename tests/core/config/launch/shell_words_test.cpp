// tests/core/config/launch/shell_words_test.cpp -- options are found in scripts as people write them.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_words.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using config::launch::shell_words;

/// Words with a space between, ";" where a command ends.
std::string words(const std::string& text) {
  std::string out;
  for (const auto& word : shell_words(text, "run.sh"))
    out += (out.empty() ? "" : " ") + (word.ends_command ? ";" : word.text);
  return out;
}

TEST(ShellWords, CommandsEndAtLinesAndGoOnBehindABackslash) {
  EXPECT_EQ(words("a b\nc \\\n  d # not this\ne"), "a b ; c d ; e ;");
  EXPECT_EQ(words("a; b && c"), "a ; b ; c ;");
}

TEST(ShellWords, AnArrayIsOneCommandOverItsLines) {
  EXPECT_EQ(words("ARGS=(\n --tp 2\n --bf16\n)\nrun"), "--tp 2 --bf16 ; run ;");
}

TEST(ShellWords, VariablesOfTheScriptAreFilledIn) {
  EXPECT_EQ(words("TP=4\nexport PP=2\nrun $TP ${PP} \"$TP x\" '$TP'"), "export ; run 4 2 4 x $TP ;");
  EXPECT_EQ(words("TP=${TP:-8}\nrun $TP"), "run 8 ;");
  EXPECT_EQ(words("run $DATA ${A[@]}"), "run $DATA ${A[@]} ;");  // not set here
}

TEST(ShellWords, BehindAProgramAndInAnArrayNamesWithValuesAreWords) {
  EXPECT_EQ(words("A=1 B=2 run a=$A b=$B"), "run a=1 b=2 ;");
  EXPECT_EQ(words("export A=1\nenv B=2 run c=$A$B"), "export ; env run c=12 ;");
  EXPECT_EQ(words("ARGS=(a=1 b=2)\nrun"), "a=1 b=2 ; run ;");
}

TEST(ShellWords, BehindAKeywordAPatternOrADeclarationNamesWithValuesAreVariables) {
  EXPECT_EQ(words("if [ -f x ]; then A=1; else A=2; fi\nrun $A"), "if [ -f x ] ; then ; else ; fi ; run 2 ;");
  EXPECT_EQ(words("for i in 1 2; do A=3; done\nf() { B=4; }\nrun $A$B"), "for i in 1 2 ; do ; done ; { ; } ; run 34 ;");
  EXPECT_EQ(words("export A B=2\nlocal -r C=3\nrun $B$C"), "export A ; local -r ; run 23 ;");
  EXPECT_EQ(words("case $1 in\n --tp) A=1; shift ;;\n a|b) A=2 ;;\nesac\nrun $A"),
            "case $1 in ; shift ; a ; esac ; run 2 ;");
  EXPECT_EQ(words("run -e A=1 env B=2\nrun $A$B"), "run -e A=1 env B=2 ; run $A$B ;");  // a program's, both
}

TEST(ShellWords, ParenthesesOfACommandInsideEndNeitherAnArrayNorACommand) {
  EXPECT_EQ(words("A=( --a $(x) --b 2 )\nrun $(y (z) w) a=1"), "--a $(x) --b 2 ; run $(y (z) w) a=1 ;");
}

TEST(ShellWords, ALineThatGoesOnInsideOfDoubleQuotesIsOne) {
  EXPECT_EQ(shell_words("sh -c \"run \\\n --tp 2\"", "run.sh").size(), 6u);  // sh, -c, run, --tp, 2
  EXPECT_EQ(words("A=\"a\\\nb\"\nrun $A"), "run ab ;");
}

TEST(ShellWords, ArithmeticOfWhatTheScriptSetsIsComputed) {
  EXPECT_EQ(words("MBS=2\nGBS=$((MBS*8*4))\nrun --gbs $GBS"), "run --gbs 64 ;");
  EXPECT_EQ(words("A=7\nrun $(( $A / 2 + ${A} % 4 - (1 - 3) )) \"$((A))x\""), "run 8 7x ;");  // 3 + 3 + 2
  EXPECT_EQ(words("run $((N * 2))"), "run $((N*2)) ;");                                       // not set here
  EXPECT_EQ(words("A=3\nrun $((A / 0)) $((A ** 2)) $((010))"), "run $((A/0)) $((A**2)) $((010)) ;");
}

TEST(ShellWords, WhereACommandWritesToIsNoWordOfIt) {
  EXPECT_EQ(words("run --bf16 2>&1 | tee log"), "run --bf16 ; tee log ;");
  EXPECT_EQ(words("run a > log.txt --b 2>> $E &\nrun &> log b"), "run a --b ; run b ;");
  EXPECT_EQ(words("run --a < in 2> >(tee x) '>' 3"), "run --a tee x > 3 ;");
  EXPECT_EQ(words("run a2>b"), "run a2 ;");  // of a word, not of a number
}

TEST(ShellWords, AVariableOutsideOfQuotesIsAsManyWordsAsItHolds) {
  const auto count = [](const std::string& text) {
    return shell_words("A=\" --tp 2\n --bf16 \"\n" + text, "run.sh").size() - 1;
  };
  EXPECT_EQ(count("run $A"), 4u);  // run, --tp, 2, --bf16
  EXPECT_EQ(count("run $A x"), 5u);
  EXPECT_EQ(count("run \"$A\""), 2u);
  EXPECT_EQ(count("B=$A\nrun $B"), 4u);
  EXPECT_EQ(words("A=' '\nrun $A x"), "run x ;");
}

TEST(ShellWords, WhatOneShellHandsToAnotherIsAsManyWordsAsThatReads) {
  EXPECT_EQ(words("N=${N:-\"4\"}\nrun $N"), "run 4 ;");
  EXPECT_EQ(words("O=\"--tp 2 --bf16\"\nC=\"python x.py ${O}\"\nsrun sh -c \"${C}\""),
            "srun sh -c python x.py --tp 2 --bf16 ;");
  EXPECT_EQ(words("A=(\"--tp 2\" \"--name=a b\")"), "--tp 2 --name=a b ;");
  EXPECT_EQ(shell_words("A=(\"--tp 2\" \"--name=a b\")", "run.sh").size(), 4u);  // and the end of the command
}

TEST(ShellWords, PlacesAreThoseOfTheFile) {
  const auto found = shell_words("run \\\n  --tp 2", "run.sh");
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[1].where.line, 2);
  EXPECT_EQ(found[1].where.column, 3);
}

TEST(ShellWords, AWordOutOfAVariableIsWhereTheScriptSetsIt) {
  const auto found = shell_words("A=\"\n  --tp 2\n\"\nB=4\nrun $A --pp \"$B\"", "run.sh");
  ASSERT_EQ(found.size(), 6u);  // run, --tp, 2, --pp, 4 and the end of the command
  EXPECT_EQ(found[1].where.line, 2);
  EXPECT_EQ(found[1].where.column, 3);
  EXPECT_EQ(found[2].where.column, 8);
  EXPECT_EQ(found[3].where.line, 5);
}

TEST(ShellWords, WhatStandsUnderAConditionIsKnownAndSoIsWhatComesOfIt) {
  const auto conditional = [](const std::string& text) {
    std::string out;
    for (const auto& word : shell_words(text, "run.sh")) {
      if (word.conditional) out += (out.empty() ? "" : " ") + word.text;
    }
    return out;
  };
  EXPECT_EQ(conditional("A=1\nif [ -f x ]; then A=2; fi\nB=3\nrun --a $A --b $B --c $((A * 2))"), "then 2 4");
  EXPECT_EQ(conditional("case $1 in\n a) run --a 1;;\nesac\nrun --b"), "case $1 in run --a 1");
  EXPECT_EQ(conditional("if x; then if y; then z; fi; run 1; fi; run 2"), "then if y then z fi run 1");
  EXPECT_EQ(conditional("if x; then A=2; fi\nO=\" --a $A --b 3\"\nrun $O"), "then 2");  // not all of O
  EXPECT_EQ(conditional("echo if case\nrun"), "");                                      // words of a command
}

TEST(ShellWords, ABranchIsReadWhereItsConditionIsKnown) {
  const auto read = [](const std::string& condition) {
    return words("D=1\nE=''\nif " + condition + "; then A=2; else A=4; fi\nrun $A");
  };
  for (const char* yes :
       {"[ $D = 1 ]", "[[ $D == 1 ]]", "test $D -eq 1", "[ $D -lt 2 ]", "[ -z \"$E\" ]", "true", "[ \"$D\" != 2 ]",
        "[ ${F:-0} -eq 0 ]", "[ $D = 1 ] && [ -z \"$E\" ]", "[ $X = 1 ] || [ $D = 1 ]", "! [ $D = 2 ]",
        "[[ $D == 1 && ! $D -gt 3 ]]", "[ $D = 1 -a $D -lt 5 ]", "[ $D = 2 ] && false || [ $D = 1 ]", "[ a ]"})
    EXPECT_NE(read(yes).find("run 2 ;"), std::string::npos) << yes;
  for (const char* no :
       {"[ $D = 2 ]", "[[ $D == 2 ]]", "test $D -ne 1", "[ -n \"$E\" ]", "false", "! [ $D = 1 ]",
        "[ $D = 1 ] && [ $D = 2 ]", "[ $X = 1 ] && false", "[[ $D == 2 || -z a ]]", "[ $X = 1 -a $D = 2 ]"})
    EXPECT_NE(read(no).find("run 4 ;"), std::string::npos) << no;
  // Not known: the last one is taken, and told.
  for (const char* open : {"[ $X = 1 ]", "[ -f a ]", "grep x y", "[[ $D == 1* ]]", "[ $D = 1 ] && x",
                           "[ $D = 1 ] | grep x", "[[ ( $D == 1 ) ]]", "(( D == 1 ))", "[ $X = 1 ] && [ $D = 1 ]"})
    EXPECT_NE(read(open).find("run 4 ;"), std::string::npos) << open;
}

TEST(ShellWords, OfBranchesThatAreDecidedOneIsTaken) {
  const auto read = [](const std::string& d) {
    return words("D=" + d +
                 "\nif [ $D = 1 ]; then\n run 1\nelif [ $D = 2 ]; then\n if x; then run 2; fi\nelse\n run 3\nfi");
  };
  EXPECT_EQ(read("1"), "if [ 1 = 1 ] ; then ; run 1 ; fi ;");
  EXPECT_NE(read("2").find("run 2"), std::string::npos);
  EXPECT_EQ(read("2").find("run 1"), std::string::npos);
  EXPECT_EQ(read("2").find("run 3"), std::string::npos);
  EXPECT_EQ(read("3").find("run 2"), std::string::npos);
  EXPECT_NE(read("3").find("run 3"), std::string::npos);
}

TEST(ShellWords, AListOfQuestionsAndAssignmentsIsReadAsItWouldRun) {
  const auto a_after = [](const std::string& list) {
    const std::string out = words("D=1\nE=\nA=2\n" + list + "\nrun $A");
    return out.substr(out.rfind("run ") + 4, 1);
  };
  EXPECT_EQ(a_after("[ $D = 1 ] && A=4"), "4");
  EXPECT_EQ(a_after("[ $D = 2 ] && A=4"), "2");
  EXPECT_EQ(a_after("[ $D = 2 ] || A=4"), "4");
  EXPECT_EQ(a_after("[ $D = 1 ] || A=4"), "2");
  EXPECT_EQ(a_after("[ $D = 1 ] && A=4 || A=8"), "4");
  EXPECT_EQ(a_after("[ $D = 2 ] && A=4 || A=8"), "8");
  EXPECT_EQ(a_after("[ $D = 1 ] && export A=4 || export A=8"), "4");
  EXPECT_EQ(a_after("[ $D = 1 ] && [ $D = 2 ] && A=4"), "2");
  EXPECT_EQ(a_after("[ $D = 2 ] && # why\n  A=4"), "2");  // goes on in the next line
  EXPECT_EQ(a_after("[ $D = 2 ] && x=1; A=4"), "4");      // is over
  EXPECT_EQ(a_after("[ -z $E ] && A=4"), "4");            // one word, which is a text
  EXPECT_EQ(a_after("[ $D = 2 ] && grep x y && A=4"), "2");
  EXPECT_EQ(a_after("[ $D = 2 ] && let A=A*2"), "2");
  EXPECT_EQ(a_after("[ $D = 1 ] && let A=A*2"), "4");
  EXPECT_EQ(a_after("[ $D = 2 ] && (( A = A * 2 ))"), "2");
  EXPECT_EQ(a_after("[ $D = 2 ] && unset A"), "2");
  EXPECT_EQ(a_after("[ $D = 2 ] && { x; A=4; }"), "2");
  EXPECT_EQ(a_after("[ $D = 1 ] && { A=4; } || { A=8; }"), "4");
  EXPECT_EQ(a_after("[ $D = 2 ] && { A=4; } || { A=8; }"), "8");
  EXPECT_EQ(a_after("f() {\n  A=4\n}\n"), "4");  // a function is read where it stands
  // All else is read as if it ran.
  EXPECT_EQ(a_after("cd x && A=4"), "4");
  EXPECT_EQ(a_after("[ $D = 2 ] && ( A=4 )"), "4");
  EXPECT_EQ(a_after("i=0\nwhile [ $i -lt 3 ]; do [ $i = 2 ] && A=4; i=$((i+1)); done"), "4");
}

TEST(ShellWords, WhatAListMayAssignIsTold) {
  const auto conditional = [](const std::string& text) {
    const auto all = shell_words(text + "\nrun $A", "run.sh");
    return std::pair(all[all.size() - 2].text, all[all.size() - 2].conditional);
  };
  EXPECT_EQ(conditional("A=2\n[ $X = 1 ] && A=4"), std::pair(std::string("4"), true));
  EXPECT_EQ(conditional("A=2\nif [ $X = 1 ] && [ 1 = 1 ]; then A=4; fi"), std::pair(std::string("4"), true));
  EXPECT_EQ(conditional("A=2\nif [ 1 = 1 ] && [ 1 = 2 ]; then A=4; fi"), std::pair(std::string("2"), false));
  // What an elif asks is known though the branch before it is not.
  const std::string chain = "; then A=3; elif [ 1 = 2 ]; then A=5; fi";
  EXPECT_EQ(conditional("A=2\nif [ $X = 1 ]" + chain), std::pair(std::string("3"), true));
  EXPECT_EQ(conditional("A=2\nif [ 1 = 1 ]" + chain), std::pair(std::string("3"), false));
  EXPECT_EQ(conditional("A=2\n[ 1 = 1 ] && A=4"), std::pair(std::string("4"), false));
}

TEST(ShellWords, OfAListWhatIsKnownDecides) {
  EXPECT_EQ(words("! [ 1 -lt 2 ] && A=1\nrun A$A"), "! [ 1 -lt 2 ] ; run A ;");
  // Whatever X is, its question or the assignment is true: what stands behind the second "||" is not run.
  EXPECT_TRUE(words("B=0\n[ -z \"$X\" ] || A=1 || B=2\nrun $B").ends_with("run 0 ;"));
  EXPECT_TRUE(words("if true; then [ 1 = 2 ] && A=1; fi\nrun A$A").ends_with("run A ;"));
  EXPECT_EQ(words("[ 1 = 2 ] && ARGS+=(--fp8) || run"), "[ 1 = 2 ] ; run ;");
  EXPECT_EQ(words("[ 1 = 2 ] && other --x\nrun"), "[ 1 = 2 ] ; run ;");
  const auto perhaps = shell_words("[ $X = 1 ] && ARGS+=(--fp8)\n", "run.sh");
  EXPECT_TRUE(std::ranges::any_of(perhaps, [](auto& word) { return word.text == "--fp8" && word.conditional; }));
  // In each round of a loop it is another one, whichever list sets it, too.
  EXPECT_TRUE(words("for A in 1 2; do x; done\n[ 1 = 2 ] && A=1\nrun $A").ends_with("run $A ;"));
}

TEST(ShellWords, BehindThenALetAndADeclarationAreWhatTheyAre) {
  EXPECT_TRUE(words("A=1\nif true; then let A=A*4; fi\nrun $A").ends_with("run 4 ;"));
  EXPECT_TRUE(config::launch::shell_script("if true; then declare -a X; fi", "run.sh").arrays.contains("X"));
}

TEST(ShellWords, ArithmeticThatSetsAVariableIsComputed) {
  EXPECT_TRUE(words("A=1\nlet A=A*4\n((A *= 2))\n((A++))\nrun $A").ends_with("run 9 ;"));
  EXPECT_TRUE(words("A=1\n((A = X + 1))\nrun $A").ends_with("run $((A = X + 1)) ;"));  // it is 1 no more
}

TEST(ShellWords, WhatACommandTellsIsOneWordThatEndsWithItsParentheses) {
  EXPECT_TRUE(words("A=$(git rev-parse --show-toplevel)\nrun --data $A/x")
                  .ends_with("run --data $(git rev-parse --show-toplevel)/x ;"));
  for (const char* inside : {"echo $X | tr -d ')'", "sed \"s/(.*//\" f", "echo \\(", "echo a # (\n",
                             "echo \"$(y ')')\"", "cat <<'END'\nit's a ( here\nEND\n", "cat <<<'('"}) {
    const std::string all = words("A=2\nB=$(" + std::string(inside) + ")\nA=4\nrun $A");
    EXPECT_TRUE(all.ends_with("run 4 ;")) << inside << ": " << all;
  }
}

TEST(ShellWords, AnEmptyTextInPlaceOfAVariableIsNoWord) {
  EXPECT_EQ(words("run ${A:-} ${B-} ${C:=} x"), "run x ;");
  EXPECT_EQ(words("A=${A:-}\nrun ${A:-4} ${A-5}"), "run 4 ;");
  EXPECT_EQ(words("if false; then A=2; fi\nrun $A x"), "if false ; fi ; run x ;");  // the text says when
}

TEST(ShellWords, WhatStandsInPlaceOfAVariableHoldsOthers) {
  EXPECT_EQ(words("B=2\nrun ${A:-${B:-3}} ${C:-${D:-4}} ${E:-\"$B/x\"} ${F:-$G}"), "run 2 4 2/x $G ;");
}

TEST(ShellWords, TextInPlaceOfAVariableThatHasAValue) {
  EXPECT_TRUE(words("A=1\nB=\nrun ${A:+--x} ${B:+--y} ${B+--z} ${C:+--w}").ends_with("run --x --z ${C:+--w} ;"));
}

TEST(ShellWords, TheHeaderOfABatchSaysHowManyNodesThereAre) {
  EXPECT_TRUE(words("#!/bin/bash\n#SBATCH --nodes=8\nrun $SLURM_NNODES ${SLURM_JOB_NUM_NODES}").ends_with("run 8 8 ;"));
  EXPECT_TRUE(words("#SBATCH -N 4\nrun $SLURM_NNODES").ends_with("run 4 ;"));
  EXPECT_TRUE(words("#SBATCH --nodes=4-8\nrun $SLURM_NNODES").ends_with("run $SLURM_NNODES ;"));  // some of them
}

TEST(ShellWords, WhatStandsInFrontOfAProgramIsThatProgramsAlone) {
  const std::string none = words("TP=2 python a.py\ntorchrun ${TP:-4}");
  EXPECT_TRUE(none.ends_with("torchrun 4 ;")) << none;
  const std::string before = words("TP=8\nTP=2 env X=1 python a.py\ntorchrun $TP");
  EXPECT_TRUE(before.ends_with("torchrun 8 ;")) << before;
  const std::string kept = words("TP=2 PP=4\nexport DP=3\ntorchrun $TP $PP $DP");
  EXPECT_TRUE(kept.ends_with("torchrun 2 4 3 ;")) << kept;
}

TEST(ShellWords, AVariableThatIsUnsetIsNone) {
  EXPECT_EQ(words("export A=2\nunset A\nrun $A"), "export ; unset A ; run $A ;");
}

TEST(ShellWords, AVariableGrows) {
  EXPECT_EQ(words("A='--tp 2'\nA+=' --pp 4'\nrun $A"), "run --tp 2 --pp 4 ;");
  const auto script = config::launch::shell_script("A='--tp 2'\nif x; then A=\"$A --pp 4\"; fi\nrun $A", "run.sh");
  std::string conditional;
  for (const auto& word : script.words) conditional += word.conditional ? word.text + ' ' : "";
  EXPECT_EQ(conditional, "then --pp 4 ");  // what was there before is so in any case
  EXPECT_TRUE(script.replaced.empty());
}

TEST(ShellWords, EvalReadsItsWordsAgain) {
  EXPECT_EQ(words("C=\"run --a '[1] + 2' --b 3 |& tee log\"\neval $C"), "eval run --a [1] + 2 --b 3 ; tee log ;");
  EXPECT_NE(words("A='eval $A'\neval $A").find("eval"), std::string::npos);  // comes to an end
  EXPECT_EQ(words("A=4\nexport L='run --a'\nbash -c '$L $A'"), "export ; bash -c run --a 4 ;");
}

TEST(ShellWords, ADocumentIsNoCommandUnlessItIsAScript) {
  EXPECT_EQ(words("cat <<EOF > x.json\n--a \"b\nEOF\nrun"), "cat ; run ;");
  EXPECT_EQ(words("cat <<-'E F' > x.json\n\tdon't\n\tE F\nrun"), "cat ; run ;");
  EXPECT_EQ(words("sbatch <<EOF\nrun --a\nEOF\nb"), "sbatch ; run --a ; EOF ; b ;");
}

TEST(ShellWords, AnOpenQuoteIsToldWhereItOpens) {
  try {
    shell_words("run\n  \"a b", "run.sh");
    FAIL();
  } catch (const base::InputError& error) {
    EXPECT_STREQ(error.what(), "run.sh:2:3: error: \": opens a text that nothing closes\n  mend: close it");
  }
}

}  // namespace
