// A run over many files, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/report/format.h"

namespace attn::report {

struct FailedFile {
  std::string file, error;
};

/// The work of one process on many files.
struct FilesReport {
  std::string folder;
  std::int64_t files = 0;  ///< number of files, over all processes
  int shard = 0, shards = 1;
  bool claims = false;  ///< processes claim files dynamically
  std::int64_t done = 0, skipped = 0, rows = 0;
  double seconds = 0;
  std::vector<FailedFile> failures;
};

/// table: one or two lines, and the failures. json: "attn.files/1".
[[nodiscard]] std::string render(Format format, const FilesReport& report);

}  // namespace attn::report
