// SPDX-License-Identifier: Apache-2.0
#include "reports/html/escape.h"

namespace reports::html {
namespace {

/// What is not UTF-8 is replaced, as the JSON writer does it.
std::string valid_utf8(std::string_view text) {
  const std::string json = Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(json).get<std::string>();
}

bool forbidden(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\t' && c != '\n' && c != '\r') || code == 0x7f;
}

std::string without_less_than(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        if (forbidden(c)) {
          out += "\xEF\xBF\xBD";
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string script_json(const Json& json) {
  return without_less_than(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string script_string(std::string_view text) { return script_json(Json(std::string(text))); }

}  // namespace reports::html
