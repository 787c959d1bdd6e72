// A run over many files as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/report/format.h"

namespace attn::report {

struct FailedFile {
  std::string file, error;
};

/// What one process has done of many files.
struct FilesReport {
  std::string folder;
  std::int64_t files = 0;  ///< of all processes
  int shard = 0, shards = 1;
  bool claims = false;  ///< files were taken as they came free
  std::int64_t done = 0, skipped = 0, rows = 0;
  double seconds = 0;
  std::vector<FailedFile> failures;
};

/// table: a line or two, and what failed. json: "attn.files/1".
[[nodiscard]] std::string render(Format format, const FilesReport& report);

}  // namespace attn::report
