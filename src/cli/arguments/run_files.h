// `attn run` over many files: runs the files of this process one after another, and writes each output atomically.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/open/execution.h"
#include "attn/shards/claims.h"
#include "options/options.h"
#include "output/common.h"

namespace attn::cli {

/// The options of `attn run` for many files.
struct FilesOptions {
  std::optional<std::string> output_dir, shard;
  shards::Schedule schedule = shards::Schedule::static_;
  bool redo = false, fail_fast = false;

  void declare(Options& options);
  /// Throws Error (usage) if one of the other options is given without --output-dir.
  void check() const;
};

/// Runs the model on the files of `inputs` that belong to this process and are not done, and writes the results to
/// --output-dir. Returns the exit code: 1 if a file failed.
[[nodiscard]] int run_files(const FilesOptions& files, const std::optional<std::string>& model,
                            const std::vector<std::string>& inputs, const open::Execution& execution,
                            const Common& common);

}  // namespace attn::cli
