// The frame of a companion program: attn starts it with a socket as descriptor 0 and the file as descriptor 3.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "companion/channel.h"

namespace attn::io {

/// The task of a companion: a range of an open file.
struct ChildTask {
  std::string_view mode;  ///< "read" or "write"
  int fd;
  std::int64_t offset, size;
};

/// The limits of the work of a companion.
struct Confinement {
  std::int64_t milliseconds;  ///< processor time
  std::int64_t memory;        ///< bytes of address space
  bool writes;                ///< whether it may write to the file
};

/// Drops all privileges that the work does not need. Afterwards no file can be opened.
void confine(const Confinement& most);

/// Reads the whole range; a file that shrinks meanwhile gives fewer bytes.
[[nodiscard]] std::vector<std::uint8_t> bytes_of(const ChildTask& task);

/// Bytes that mark a format, at a place of the file.
struct Signature {
  std::string_view bytes;
  std::size_t at;
  std::string_view format;
};

/// Returns the format of a file; "" if it has none of the signatures.
[[nodiscard]] std::string_view format_of(std::string_view file, std::span<const Signature> signatures);

/// The reason why a file is rejected, in words that follow the file's name.
class FileRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The decoding of files of one kind.
struct Decoding {
  std::string_view kind;  ///< for messages: "an image"
  std::int64_t most_bytes;
  Confinement most;  ///< for an empty file
  /// Sends what the file contains. Throws FileRefused and std::bad_alloc.
  void (*send)(std::span<const std::uint8_t> file, Channel& channel);
};

/// Decodes a file within its limits. Returns the error message; "" if all went well.
[[nodiscard]] std::string decode_confined(const Decoding& decoding, const ChildTask& task, Channel& channel);

/// A companion program.
struct Child {
  std::string_view usage;                   ///< a sentence for those who start it by hand
  std::span<const std::string_view> modes;  ///< the modes that it has
  std::string (*version)();                 ///< returns the line for --version; "" if unknown
  /// Does the work, and returns the error message; "" if all went well.
  std::string (*work)(const ChildTask& task, Channel& channel);
};

/// Runs the program with the words of its command line, and ends the process.
[[noreturn]] void run_child(const Child& child, int count, char** words);

}  // namespace attn::io
