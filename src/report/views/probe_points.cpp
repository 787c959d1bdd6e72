#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/probe_view.h"

namespace attn::report {

ProbeFindings findings_of(const std::vector<ListedPoint>& points) {
  ProbeFindings out;
  Json listed = Json::array();
  out.rows.columns = {{"Point"}, {"Shape"}, {"Dtype"}};
  for (const ListedPoint& point : points) {
    listed.push_back({{"name", point.name}, {"shape", point.shape}, {"dtype", point.dtype}});
    out.rows.rows.push_back({point.name, point.shape, point.dtype});
  }
  out.members.emplace_back("points", std::move(listed));
  out.text = plain_table(out.rows) + "\nB: prompts, T: positions of the prompt\n";
  return out;
}

ProbeFindings captured_findings(const std::string& path, const std::string& points) {
  ProbeFindings out;
  out.members = {{"file", json_text(path)}, {"points", json_text(points)}};
  out.text = fmt::format("wrote {} to {}\n", printable(points), printable(path));
  return out;
}

}  // namespace attn::report
