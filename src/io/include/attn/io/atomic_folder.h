// Writing a folder of files so that it is there whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "attn/io/descriptor.h"

namespace attn::io {

/// Files are written into a hidden folder beside the target, which takes the target's name on commit. Without a commit
/// the hidden folder goes away with what is in it; one whose writer was killed goes when the target is written the next
/// time. A target that is there is never changed: it is refused, unless it is an empty folder. Every failure throws
/// Error (bad_input) that names the path and the system's reason.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::string path);
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  ~AtomicFolder();

  /// Where a file of this name is to be written; folders on the way are made. "assets/tokenizer/merges.txt".
  [[nodiscard]] std::string file(std::string_view name);
  /// Writes a small file whole.
  void write(std::string_view name, std::string_view text);
  /// Gives the folder its name. Nothing may be written afterwards.
  void commit();

 private:
  void remove_stale() const;

  std::string path_, temporary_;
  Descriptor lock_;  // on the hidden folder
};

/// Throws Error (bad_input) where an AtomicFolder could not be made at `path`, so that a command can say so at once.
void check_folder_target(const std::string& path);

}  // namespace attn::io
