// SPDX-License-Identifier: Apache-2.0
#include "cli/html.h"

#include "cli/output.h"
#include "core/base/fault.h"
#include "reports/html/assets.h"

namespace cli {

Option html_option() {
  return {"--html", "FILE", "write a page with charts that opens offline (docs/html.md); - prints only it"};
}

void check_html(const Arguments& args) {
  if (!args.has("--html") || reports::html::has_vega()) return;
  throw base::InputError({{"--html",
                           "this forerun was built without Vega, which draws its charts",
                           "install Debian's libjs-vega (./dev does) and build again, or use --json",
                           {}}});
}

void write_page(const Arguments& args, const std::function<void(std::ostream&)>& write) {
  if (args.has("--html")) write_to(args.get("--html"), "--html", write);
}

const char* version() { return FORERUN_VERSION; }

}  // namespace cli
