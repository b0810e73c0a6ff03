// SPDX-License-Identifier: Apache-2.0
#include "core/config/nccl_log.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "core/base/fault.h"
#include "core/base/number.h"
#include "core/base/text.h"
#include "core/config/nccl_json.h"
#include "core/config/nccl_tests.h"

namespace config {
namespace {

struct Word {
  std::string_view text;
  int column = 0;  // of its first letter, from 1
};

std::vector<Word> words_of(std::string_view line, int before) {
  std::vector<Word> words;
  std::size_t at = 0;
  while (true) {
    at = line.find_first_not_of(" \t\r", at);
    if (at == std::string_view::npos) return words;
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back({line.substr(at, end - at), before + static_cast<int>(at) + 1});
    at = end;
  }
}

template <class T>
bool number(std::string_view text, T& out) {
  const std::optional<T> found = base::number_in<T>(text);
  if (found) out = *found;
  return found.has_value();
}

/// Where a table's columns stand among the words of a row; -1: there is none.
struct Columns {
  int time = -1, wrong = -1, in_time = -1, in_wrong = -1;
  std::size_t count = 0;
};

class LogReader {
 public:
  LogReader(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

  std::vector<NcclLog> read() {
    std::size_t start = 0;
    while (start < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', start), text_.size());
      ++line_;
      last_ = end == text_.size();  // no newline behind it: it may have been cut off
      read_line(text_.substr(start, end - start));
      start = end + 1;
    }
    close();
    if (logs_.empty() && faults_.empty()) {
      faults_.push_back(
          {"", "holds no table of nccl-tests", "give the output of all_reduce_perf or another test", {name_, 1, 1}});
    }
    if (!faults_.empty()) throw base::InputError(std::move(faults_));
    return std::move(logs_);
  }

 private:
  void read_line(std::string_view line) {
    int before = 0;
    if (line.starts_with("[")) {  // "[1,0]<stdout>:" of mpirun --tag-output
      const std::size_t tag = line.find(">:");
      if (tag != std::string_view::npos && line.substr(0, tag).find("<std") != std::string_view::npos) {
        before = static_cast<int>(tag) + 2;
        line.remove_prefix(tag + 2);
      }
    }
    const std::vector<Word> words = words_of(line, before);
    if (words.empty()) return;
    if (words[0].text.starts_with("#")) return read_comment(line, words);
    std::int64_t bytes = 0;
    if (number(words[0].text, bytes)) read_row(words, bytes);
  }

  void read_comment(std::string_view line, const std::vector<Word>& words) {
    const auto is = [&](std::size_t at, std::string_view text) { return words.size() > at && words[at].text == text; };
    if (is(1, "nccl-tests") && is(2, "version") && words.size() > 3) {
      close();
      version_ = words[3].text;
    } else if (is(1, "Collective") && is(3, "starting:") && words.size() > 4) {
      close();
      open().test = words[4].text;
    } else if (is(1, "nThread")) {
      if (log_.rows.size() > 0 || columns_.count > 0) close();
      open();
    } else if (is(1, "Rank") && words.size() > 8) {
      read_rank(words);
    } else if (is(1, "Avg") || is(1, "Out") || (is(1, "Collective") && is(3, "concluded:"))) {
      ended_ = true;
    } else if (line.find("algbw") != std::string_view::npos && line.find("size") != std::string_view::npos) {
      read_header(words);
    }
  }

  void read_rank(const std::vector<Word>& words) {
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      if (words[i].text != "on") continue;
      open().ranks += 1;
      hosts_.insert(std::string(words[i + 1].text));
      return;
    }
  }

  void read_header(const std::vector<Word>& words) {
    open();
    columns_ = {};
    for (std::size_t i = 1; i < words.size(); ++i) {  // behind the "#", so that a row's words begin with `size`
      const int at = static_cast<int>(i) - 1;
      const bool second = columns_.time >= 0;
      if (words[i].text == "time" || words[i].text == "cputime") (second ? columns_.in_time : columns_.time) = at;
      if (words[i].text == "#wrong" || words[i].text == "error") {
        (columns_.in_time >= 0 ? columns_.in_wrong : columns_.wrong) = at;
      }
      columns_.count = i;
    }
    if (columns_.time < 0) fault(words[0], "a header without a time column", "give the output as nccl-tests prints it");
  }

  void read_row(const std::vector<Word>& words, std::int64_t bytes) {
    if (columns_.count == 0 || columns_.time < 0) return;  // a number that some other program printed
    const std::size_t needed = static_cast<std::size_t>(std::max(columns_.time, columns_.in_time)) + 3;
    if (words.size() < needed) {
      if (last_) return log_.notes.push_back("the last row is cut off and left out");
      return fault(words.back(), "the row of " + std::string(words[0].text) + " bytes ends here, before its columns do",
                   "mend or delete the line");
    }
    if (bytes <= 0) return;  // nccl-tests rounds sizes below one element a rank down to nothing
    NcclRow row{bytes, {}, {}};
    if (!read_time(words, columns_.time, row.out_of_place)) return;
    if (columns_.in_time >= 0 && !read_time(words, columns_.in_time, row.in_place)) return;
    if (wrong(words, columns_.wrong) || wrong(words, columns_.in_wrong)) {
      return log_.notes.push_back(std::string(words[0].text) + " bytes: results were wrong, the row is left out");
    }
    if (row.time().si() > 0) log_.rows.push_back(row);
  }

  bool read_time(const std::vector<Word>& words, int column, base::Seconds& out) {
    const Word& word = words[column];
    double us = 0;
    if (word.text == "N/A" || word.text == "-") return true;
    if (!number(word.text, us) || us < 0 || us > 1e12) {
      fault(word, base::quoted(word.text) + " is no time in microseconds", "mend or delete the line");
      return false;
    }
    out = base::us(us);
    return true;
  }

  static bool wrong(const std::vector<Word>& words, int column) {
    double count = 0;
    return column >= 0 && static_cast<std::size_t>(column) < words.size() && number(words[column].text, count) &&
           count > 0;
  }

  NcclLog& open() {
    open_ = true;
    return log_;
  }

  void close() {
    if (open_ && (columns_.count > 0 || !log_.rows.empty())) {
      log_.file = name_;
      log_.version = version_;
      log_.hosts = static_cast<int>(hosts_.size());
      if (log_.test.empty()) log_.test = std::filesystem::path(name_).filename().string();
      if (const NcclTest* test = nccl_test_in(log_.test)) {
        log_.op = test->op;
        if (!ended_) log_.notes.push_back("the end is missing: rows that were printed are used");
        logs_.push_back(std::move(log_));
      } else {
        faults_.push_back({"",
                           "which collective this table is of is told nowhere",
                           "give the file the test's name, such as all_reduce_perf.log",
                           {name_, line_, 1}});
      }
    }
    log_ = {};
    hosts_.clear();
    columns_ = {};
    open_ = ended_ = false;
  }

  void fault(const Word& at, std::string what, std::string mend) {
    faults_.push_back({"", std::move(what), std::move(mend), {name_, line_, at.column}});
  }

  std::string_view text_;
  std::string name_, version_;
  int line_ = 0;
  bool last_ = false, open_ = false, ended_ = false;
  NcclLog log_;
  std::set<std::string> hosts_;
  Columns columns_;
  std::vector<NcclLog> logs_;
  std::vector<base::Fault> faults_;
};

}  // namespace

std::vector<NcclLog> parse_nccl_log(std::string_view text, const std::string& name) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return parse_nccl_json(text, name);
  return LogReader(text, name).read();
}

std::vector<NcclLog> read_nccl_log(const std::string& path) {
  std::error_code error;
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path, error)) {
    throw base::InputError({{"LOG", "cannot read " + path, "name a file with the output of nccl-tests", {}}});
  }
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return parse_nccl_log(text, path);
}

}  // namespace config
