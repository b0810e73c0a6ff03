// core/config/document.cpp -- builds Values straight from yaml-cpp's events, so that limits hold while the file is
// read. SPDX-License-Identifier: Apache-2.0
#include "core/config/document.h"

#include <sys/stat.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/config/syntax_words.h"

namespace config {
namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kMostValues = 250'000;     // aliases written out; a bomb of them stops here
constexpr std::size_t kLargestFile = 64u << 20;  // bytes; more is no configuration

[[noreturn]] void fail(base::Where where, std::string field, std::string what, std::string mend) {
  throw base::InputError({{std::move(field), std::move(what), std::move(mend), std::move(where)}});
}

std::size_t count(const Value& value) {
  std::size_t total = 1;
  for (const Value& item : value.items) total += count(item);
  for (const auto& [key, entry] : value.entries) total += count(entry);
  return total;
}

int depth(const Value& value) {
  int deepest = 0;
  for (const Value& item : value.items) deepest = std::max(deepest, depth(item));
  for (const auto& [key, entry] : value.entries) deepest = std::max(deepest, depth(entry));
  return deepest + 1;
}

class Builder : public YAML::EventHandler {
 public:
  explicit Builder(const std::string& file) : file_(file) {}

  Value root;
  bool filled = false;
  base::Where last_scalar;  // the last text of the document
  bool last_is_quoted = false;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(Value{}, mark, anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    Value value;
    value.kind = Value::Kind::scalar;
    value.text = text;
    value.quoted = tag == "!";
    last_scalar = at(mark);
    last_is_quoted = value.quoted;
    if (!value.quoted && !awaits_key() && (text == "null" || text == "~" || text.empty()))
      value.kind = Value::Kind::null;
    leaf(std::move(value), mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) fail(at(mark), {}, "an alias stands inside what it names", "write the value out");
    if (static_cast<int>(open_.size()) + it->second.depth > kDeepest) too_deep(mark);
    admit(it->second.size, mark);
    Value copy = it->second.value;
    copy.key_where = {};
    place(std::move(copy), mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(Value::Kind::list, mark, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(Value::Kind::map, mark, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapEnd() override { end(); }

 private:
  struct Open {
    Value value;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    bool has_key = false, key_is_quoted = false;
    std::string key;
    base::Where key_where;
    std::set<std::string> keys;
  };
  struct Anchored {
    Value value;
    std::size_t size = 0;
    int depth = 0;
  };

  base::Where at(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }
  bool awaits_key() const {
    return !open_.empty() && open_.back().value.kind == Value::Kind::map && !open_.back().has_key;
  }

  [[noreturn]] void too_deep(const YAML::Mark& mark) const {
    fail(at(mark), {}, "nested deeper than " + std::to_string(kDeepest) + " levels", "write it flatter");
  }
  /// {tp:8} is an entry without a value, whose key is "tp:8".
  void refuse_glued(const Open& map, const Value& value) const {
    const std::size_t colon = map.key.find(':');
    if (value.kind != Value::Kind::null || map.key_is_quoted || colon == map.key.npos || colon == 0) return;
    fail(map.key_where, {}, base::quoted(map.key) + " has no space behind its colon",
         "write " + map.key.substr(0, colon) + ": " + map.key.substr(colon + 1));
  }
  void admit(std::size_t more, const YAML::Mark& mark) {
    values_ += more;
    if (values_ <= kMostValues) return;
    fail(at(mark), {}, "more than " + std::to_string(kMostValues) + " values, aliases written out", "split the file");
  }
  void start(Value::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (awaits_key())
      fail(at(mark), {}, "a bracket is not closed, or a list or a map stands where a key belongs",
           "close every bracket, and write a word before each colon");
    if (static_cast<int>(open_.size()) >= kDeepest) too_deep(mark);
    admit(1, mark);
    Open frame;
    frame.value.kind = kind;
    frame.value.where = at(mark);
    frame.mark = mark;
    frame.anchor = anchor;
    open_.push_back(std::move(frame));
  }
  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    remember(done.value, done.anchor, done.mark);
    place(std::move(done.value), done.mark);
  }
  void leaf(Value value, const YAML::Mark& mark, YAML::anchor_t anchor) {
    admit(1, mark);
    value.where = at(mark);
    remember(value, anchor, mark);
    place(std::move(value), mark);
  }
  /// What has an anchor is kept a second time, and counts as such.
  void remember(const Value& value, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (!anchor) return;
    const std::size_t size = count(value);
    admit(size, mark);
    anchors_[anchor] = {value, size, depth(value)};
  }
  void place(Value value, const YAML::Mark& mark) {
    if (open_.empty()) {
      root = std::move(value);
      filled = true;
      return;
    }
    Open& top = open_.back();
    if (top.value.kind == Value::Kind::list) {
      top.value.items.push_back(std::move(value));
    } else if (!top.has_key) {
      take_key(top, value, mark);
    } else {
      refuse_glued(top, value);
      value.key_where = std::move(top.key_where);
      top.value.entries.emplace_back(std::move(top.key), std::move(value));
      top.has_key = false;
    }
  }
  void take_key(Open& map, const Value& value, const YAML::Mark& mark) {
    if (value.kind != Value::Kind::scalar) {
      fail(at(mark), {}, "an entry has no key", "write a word before the colon");
    }
    const auto control = [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; };
    if (std::any_of(value.text.begin(), value.text.end(), control)) {  // it would garble each message about its entry
      fail(at(mark), {}, "a key holds a control character: " + base::quoted(value.text), "write it without");
    }
    if (!map.keys.insert(value.text).second) {
      const auto first = std::find_if(map.value.entries.begin(), map.value.entries.end(),
                                      [&](const auto& entry) { return entry.first == value.text; });
      fail(at(mark), value.text, "is written twice in one map",
           "keep one of the two; the first is in line " + std::to_string(first->second.key_where.line));
    }
    map.key = value.text;
    map.key_is_quoted = value.quoted;
    map.key_where = at(mark);
    map.has_key = true;
  }

  const std::string& file_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::size_t values_ = 0;
};

/// yaml-cpp takes the end of the file for the end of a quoted text. The end of the document is not one, so that a quote
/// left open shows when the text is read with an end of document behind it.
bool leaves_a_quote_open(std::string_view text, const std::string& name) {
  std::istringstream stream{std::string(text) + "\n...\n"};
  Builder builder(name);
  try {
    YAML::Parser(stream).HandleNextDocument(builder);
  } catch (const YAML::Exception&) {
    return true;
  }
  return false;
}

/// The text of line `line`, counted from 0.
std::string_view line_of(std::string_view text, int line) {
  for (; line > 0 && !text.empty(); --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

}  // namespace

Value::Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

const Value* Value::find(std::string_view key) const {
  for (const auto& [name, entry] : entries) {
    if (name == key) return &entry;
  }
  return nullptr;
}

Value* Value::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

void Value::set(std::string_view key, Value value) {
  kind = Kind::map;
  if (Value* old = find(key)) {
    *old = std::move(value);
  } else {
    entries.emplace_back(key, std::move(value));
  }
}

Value scalar(std::string_view text, const base::Where& where) {
  Value out;
  out.kind = Value::Kind::scalar;
  out.text = text;
  out.where = out.key_where = where;
  return out;
}

std::string path_given(const std::string& word) { return word == "-" ? "/dev/stdin" : word; }

Value load(const std::string& path) {
  const base::Where whole{path, 0, 0};
  const std::string mend = "name a YAML or JSON file that exists and may be read";
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) fail(whole, {}, std::string("cannot be read: ") + std::strerror(errno), mend);
  if (S_ISDIR(status.st_mode)) fail(whole, {}, "cannot be read: it is a folder", mend);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(whole, {}, std::string("cannot be read: ") + std::strerror(errno), mend);
  std::string text;
  char block[1 << 16];
  while (file.read(block, sizeof block), file.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kLargestFile) fail(whole, {}, "is larger than 64 MiB", "name a configuration file");
  }
  return parse(text, path);
}

Value parse(std::string_view text, const std::string& name) {
  if (const std::size_t at = base::first_that_is_no_text(text); at < text.size()) {
    const std::string_view before = text.substr(0, at);
    const std::size_t begin = before.rfind('\n') + 1;  // of the line; npos + 1 is 0
    fail({name, 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')), static_cast<int>(at - begin) + 1},
         {}, "holds bytes that are no text", "save the file as UTF-8 text");
  }
  std::istringstream stream{std::string(text)};
  Builder builder(name);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder) || !builder.filled || builder.root.kind == Value::Kind::null) {
      fail({name, 0, 0}, {}, "is empty", "write `key: value` entries into it");
    }
    Builder second(name);
    if (parser.HandleNextDocument(second)) {
      fail(second.root.where, {}, "a second document starts", "keep one document in a file: remove the line ---");
    }
    if (builder.last_is_quoted && leaves_a_quote_open(text, name)) {
      fail(builder.last_scalar, {}, "a quote is opened here and never closed", "close the text with the same quote");
    }
  } catch (const YAML::Exception& error) {
    const bool at_end = error.mark.is_null();
    const SyntaxWords words = syntax_words(error.msg, at_end ? "" : line_of(text, error.mark.line));
    fail({name, at_end ? 0 : error.mark.line + 1, at_end ? 0 : error.mark.column + 1}, {},
         (name.ends_with(".json") ? "is not JSON: " : "is not YAML: ") + words.what, words.mend);
  }
  return std::move(builder.root);
}

Value merged(const Value& base, const Value& over) {
  if (base.kind != Value::Kind::map || over.kind != Value::Kind::map) return over;
  Value out = base;
  out.where = over.where;
  out.key_where = over.key_where;
  for (const auto& [key, entry] : over.entries) {
    const Value* below = out.find(key);
    out.set(key, below ? merged(*below, entry) : entry);
  }
  return out;
}

}  // namespace config
