// What is done of a work list, as records beside the outputs: by them a later run knows what it need not do again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "attn/shards/work_list.h"

namespace attn::shards {

/// What all outputs of a run are made with.
struct Recipe {
  std::string model;    ///< a hash of its files
  std::string options;  ///< those that change numbers, as a text
  std::string attn;     ///< the version
};

/// How many of a work list are done, and how many of them failed.
struct Tally {
  std::int64_t done = 0, failed = 0;
};

/// The folder of the outputs, with a record of each in the hidden folder ".done" or ".failed". Processes share it and
/// nothing else. Throws Error (bad_input) where the folder cannot be made or written.
class Ledger {
 public:
  /// Makes the folder where there is none.
  Ledger(std::string folder, Recipe recipe);

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  /// out/<stem>.npz
  [[nodiscard]] std::string output_of(const WorkItem& item) const;

  /// Nothing where the output is there, whole, and of this recipe and input. Else what it differs in ("the model, the
  /// options"), "" where there is none yet.
  [[nodiscard]] std::optional<std::string> why_do(const WorkItem& item) const;
  /// Has the output been written since this ledger was opened?
  [[nodiscard]] bool is_new(const WorkItem& item) const;
  /// Did a process that shares this folder try the file in vain since this ledger was opened?
  [[nodiscard]] bool has_failed(const WorkItem& item) const;

  /// Before the output is written anew: from here on it is not done.
  void begin(const WorkItem& item) const;
  /// After it was written.
  void finish(const WorkItem& item, std::int64_t rows, double seconds) const;
  void fail(const WorkItem& item, const std::string& error) const;

  /// Of these items since this ledger was opened, by whatever process; those that `fit` from before count as done.
  [[nodiscard]] Tally tally(std::span<const WorkItem> items, std::int64_t fit) const;

  /// Writes manifest.jsonl, a line for each output of the items, and failed.jsonl, a line for each that failed, from
  /// the records of all processes. Whichever process ends last has told all.
  void write_lists(std::span<const WorkItem> items) const;

 private:
  [[nodiscard]] std::string done_record(const WorkItem& item) const {
    return folder_ + "/.done/" + item.stem + ".json";
  }
  [[nodiscard]] std::string failed_record(const WorkItem& item) const {
    return folder_ + "/.failed/" + item.stem + ".json";
  }

  std::string folder_;
  Recipe recipe_;
  std::int64_t opened_ = 0;  // nanoseconds, by the clock of the file system
};

/// A hash of a file's bytes, of names, sizes and times of the files in a folder: what a model is known again by. Throws
/// Error (bad_input) where it cannot be read.
[[nodiscard]] std::string fingerprint(const std::string& path);

}  // namespace attn::shards
