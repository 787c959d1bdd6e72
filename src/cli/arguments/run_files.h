// attn run over many files: those of this process, one after the other, each written whole or not at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/open/execution.h"
#include "attn/shards/claims.h"
#include "options/options.h"
#include "output/common.h"

namespace attn::cli {

/// The options of `attn run` that are about many files.
struct FilesOptions {
  std::optional<std::string> output_dir, shard;
  shards::Schedule schedule = shards::Schedule::static_;
  bool redo = false, fail_fast = false;

  void declare(Options& options);
  /// Throws Error (usage) where one of the others is given without --output-dir.
  void check() const;
};

/// Runs the model on every file of `inputs` that is this process's and not done, into the options' output_dir. Gives
/// the exit code: 1 where a file failed.
[[nodiscard]] int run_files(const FilesOptions& files, const std::optional<std::string>& model,
                            const std::vector<std::string>& inputs, const open::Execution& execution,
                            const Common& common);

}  // namespace attn::cli
