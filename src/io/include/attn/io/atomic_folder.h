// Atomic creation of a folder: it is there completely or not at all.
#pragma once

#include <string>
#include <string_view>

#include "attn/io/descriptor.h"

namespace attn::io {

/// Writes files into a hidden folder beside the target, which is renamed to the target on commit. Without a commit the
/// hidden folder is removed; one left by a killed writer is removed when the target is written again. An existing
/// target is never changed: it is rejected, unless it is an empty folder. Every failure throws Error (bad_input) that
/// names the path and the system's reason.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::string path);
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  ~AtomicFolder();

  /// Returns the path for a file such as "assets/tokenizer/merges.txt", and creates the folders in it.
  [[nodiscard]] std::string file(std::string_view name);
  /// Writes a small file.
  void write(std::string_view name, std::string_view text);
  /// Returns the folder's path until commit().
  [[nodiscard]] const std::string& hidden_path() const noexcept { return temporary_; }
  /// Renames the folder to its target. Nothing may be written afterwards.
  void commit();

 private:
  void remove_stale() const;

  std::string path_, temporary_;
  char* listed_ = nullptr;  // the hidden folder's name in the list that remove_temporaries reads
  Descriptor lock_;         // on the hidden folder
};

/// Throws Error (bad_input) if an AtomicFolder could not be made at `path`, so that a command can fail early.
void check_folder_target(const std::string& path);

}  // namespace attn::io
