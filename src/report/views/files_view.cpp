#include "attn/report/files_view.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"

namespace attn::report {
namespace {

std::string files_text(const FilesReport& report) {
  const std::string part = report.shards == 1 ? "" : fmt::format(" (process {} of {})", report.shard, report.shards);
  const double rate = report.seconds > 0 ? static_cast<double>(report.done) / report.seconds : 0;
  std::string out = fmt::format("{}: {}{}: {} done in {} ({} files/s), {} were done before, {} failed\n",
                                printable(report.folder), counted(report.files, "file"), part, with_commas(report.done),
                                duration(report.seconds), measured(rate), with_commas(report.skipped),
                                with_commas(static_cast<std::int64_t>(report.failures.size())));
  for (const FailedFile& failure : report.failures)
    out += fmt::format("  {}: {}\n", printable(failure.file), printable(failure.error));
  return out;
}

std::string files_json(const FilesReport& report) {
  Json json;
  json["schema"] = "attn.files/1";
  json["folder"] = json_text(report.folder);
  json["files"] = report.files;
  json["shard"] = report.shard;
  json["shards"] = report.shards;
  json["schedule"] = report.claims ? "claim" : "static";
  json["done"] = report.done;
  json["skipped"] = report.skipped;
  json["rows"] = report.rows;
  json["seconds"] = report.seconds;
  json["failed"] = Json::array();
  for (const FailedFile& failure : report.failures)
    json["failed"].push_back({{"file", json_text(failure.file)}, {"error", json_text(failure.error)}});
  return json_document(json);
}

}  // namespace

std::string render(Format format, const FilesReport& report) {
  switch (format) {
    case Format::table:
      return files_text(report);
    case Format::json:
      return files_json(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
