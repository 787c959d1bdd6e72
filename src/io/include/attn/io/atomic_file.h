// Writing a file so that it is there whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attn/io/descriptor.h"

namespace attn::io {

/// Writes to a hidden file in the target's folder, and replaces the target by it on commit. Without a commit the target
/// is unchanged. Targets that cannot be replaced ("-" and /dev/stdout, pipes, devices) are
/// written directly. Every failure throws Error (bad_input) that names the path and the system's reason.
class AtomicFile {
 public:
  enum class Content : std::uint8_t { text, binary };
  /// Throws at once if the target is a directory or cannot be written. Throws Error (usage) for binary content on a
  /// terminal.
  explicit AtomicFile(std::string path, Content content = Content::text);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Returns the number of bytes written so far.
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }

  /// Returns the descriptor of the hidden file, open for reading and writing. Another program can append at size();
  /// then call `adopt`, which updates size(). Empty if the target is written directly.
  [[nodiscard]] std::optional<int> hidden_file() const noexcept;
  [[nodiscard]] const std::string& hidden_path() const noexcept { return temporary_; }
  void adopt();
  /// Overwrites bytes [at, at + bytes.size()) of the hidden file, which must have been written before.
  void rewrite(std::int64_t at, std::span<const std::byte> bytes);
  /// Reads bytes [at, at + bytes.size()) of the hidden file, which must have been written before.
  void read_back(std::int64_t at, std::span<std::byte> bytes) const;

  /// Waits until the bytes are on the disk, then renames. Nothing may be written afterwards.
  void commit();

  /// Returns the number of bytes that all writers of this process have written so far. May be called from any thread.
  [[nodiscard]] static std::int64_t bytes_written() noexcept;

  /// Returns the path given to the constructor.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  void open_direct(int fd);
  void open_temporary();
  [[noreturn]] void fail(std::string_view what, int error) const;

  std::string path_;
  std::string target_;      // path_ with symbolic links resolved
  std::string temporary_;   // empty when writing directly, and after commit
  char* listed_ = nullptr;  // the hidden file's name in the list that remove_temporaries reads
  std::int64_t size_ = 0;
  Descriptor file_;
};

/// Throws Error (bad_input) if an AtomicFile cannot be created at `path`, so that a command reports it before it starts
/// to work. Pipes and devices are not opened.
void check_file_target(const std::string& path);

/// Makes `name` a hard link to `file`, replacing an existing file. Returns false, with `name` unchanged, if the file
/// system has no hard links. The temporary link has a hidden name derived from `target`, which is in the same folder.
[[nodiscard]] bool replace_by_link(const std::string& file, const std::string& name, const std::string& target);

/// Returns whether a path refers to a terminal: "-", /dev/stdout, /dev/tty, …
[[nodiscard]] bool is_terminal(const std::string& path);

/// Removes the hidden files and folders of all writers in this process, for a program that ends without their
/// destructors. May be called by a signal handler.
void remove_temporaries() noexcept;

}  // namespace attn::io
