// Records of the finished files of a work list, stored beside the outputs: a later run skips these files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "attn/shards/work_list.h"

namespace attn::shards {

/// The settings that all outputs of a run depend on.
struct RunSettings {
  std::string model;    ///< hash of the model's files
  std::string options;  ///< the options that change results, as text
  std::string attn;     ///< version of attn
};

/// Numbers of finished and failed files.
struct FileCounts {
  std::int64_t done = 0, failed = 0;
};

/// The folder of the outputs, with a record of each in the hidden folder ".done" or ".failed". Processes share nothing
/// else. Throws Error (bad_input) if the folder cannot be created or written.
class Ledger {
 public:
  /// Creates the folder if it does not exist.
  Ledger(std::string folder, RunSettings recipe);

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  /// Returns the path of the output, out/<stem>.npz.
  [[nodiscard]] std::string output_of(const WorkItem& item) const;

  /// Returns nothing if the output exists, is complete, and matches this recipe and input. Otherwise returns what
  /// differs ("the model, the options"), or "" if there is no output yet.
  [[nodiscard]] std::optional<std::string> why_do(const WorkItem& item) const;
  /// Returns whether the output was written since this ledger was opened.
  [[nodiscard]] bool is_new(const WorkItem& item) const;
  /// Returns whether any process that shares this folder failed on the file since this ledger was opened.
  [[nodiscard]] bool has_failed(const WorkItem& item) const;

  /// Marks the output as not done; called before it is written.
  void begin(const WorkItem& item) const;
  /// Records the output; called after it was written.
  void finish(const WorkItem& item, std::int64_t rows, double seconds) const;
  void fail(const WorkItem& item, const std::string& error) const;

  /// Counts these items since this ledger was opened, over all processes; the `fit` items from before count as done.
  [[nodiscard]] FileCounts tally(std::span<const WorkItem> items, std::int64_t fit) const;

  /// Writes manifest.jsonl, a line for each output of the items, and failed.jsonl, a line for each failure, from the
  /// records of all processes. The process that ends last writes the complete lists.
  void write_lists(std::span<const WorkItem> items) const;

 private:
  [[nodiscard]] std::string done_record(const WorkItem& item) const {
    return folder_ + "/.done/" + item.stem + ".json";
  }
  [[nodiscard]] std::string failed_record(const WorkItem& item) const {
    return folder_ + "/.failed/" + item.stem + ".json";
  }

  std::string folder_;
  RunSettings recipe_;
  std::int64_t opened_ = 0;  // time of opening in nanoseconds, by the file system's clock
};

/// Returns a hash of a file's bytes, or of the names, sizes and times of a folder's files: it identifies a model.
/// Throws Error (bad_input) if it cannot be read.
[[nodiscard]] std::string fingerprint(const std::string& path);

}  // namespace attn::shards
