// The protocol between attn and attn-hdf5.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/io/descriptor.h"

namespace attn::io {

/// The tag of a record. Texts are a 32-bit length and bytes. An attribute belongs to the group or dataset before it.
/// The records are:
///
///   `group`      path.
///   `dataset`    path, dtype (8 bits), rank (8), dims (64 each), storage (8), then
///                in_file: offset (64), or here: as many bytes as the shape takes.
///   `attribute`  name, is_list (8), count (32), texts.
///   `error`      message; the last record.
///   `end`        the last record.
enum class Hdf5Tag : std::uint8_t { group = 'G', dataset = 'D', attribute = 'A', error = 'E', end = 'Z' };
enum class Hdf5Storage : std::uint8_t { in_file, here };

inline constexpr int kMaxHdf5Depth = 64;
inline constexpr std::int64_t kMaxHdf5Objects = 1'000'000;
/// The maximum size in bytes of all names and strings of a file together.
inline constexpr std::int64_t kMaxHdf5Text = std::int64_t{256} << 20;

/// The processor time that attn-hdf5 may use: this many milliseconds to read or to write a file, plus one second per
/// kHdf5Slowest bytes of the file.
inline constexpr std::int64_t kHdf5Milliseconds = 700;
inline constexpr std::int64_t kHdf5WriteMilliseconds = 10'000;
inline constexpr std::int64_t kHdf5Slowest = std::int64_t{4} << 20;

/// The peer has exited, timed out, or sent invalid data.
struct ChannelBroken {
  enum class Why { closed, late, nonsense } why;
};

/// One end of a socket: sends and receives numbers, texts and bytes, with one deadline. Throws
/// ChannelBroken.
class Channel {
 public:
  using Clock = std::chrono::steady_clock;

  Channel(Descriptor socket, Clock::time_point deadline) : socket_(std::move(socket)), deadline_(deadline) {}

  void put_u8(std::uint8_t value) { put(&value, sizeof value); }
  void put_u32(std::uint32_t value) { put(&value, sizeof value); }
  void put_u64(std::uint64_t value) { put(&value, sizeof value); }
  void put_text(std::string_view text);
  void put_bytes(std::span<const std::byte> bytes) { put(bytes.data(), bytes.size()); }
  /// Sends the buffered data.
  void flush();

  std::uint8_t u8() { return get<std::uint8_t>(); }
  std::uint32_t u32() { return get<std::uint32_t>(); }
  std::uint64_t u64() { return get<std::uint64_t>(); }
  /// Receives a text. All texts together may have kMaxHdf5Text bytes.
  std::string text();
  void bytes(std::span<std::byte> to);

 private:
  void put(const void* from, std::size_t size);
  void send(const std::byte* from, std::size_t size);
  std::size_t receive(std::byte* to, std::size_t size);
  void wait(short events) const;
  template <typename T>
  T get() {
    T value{};
    bytes(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }

  Descriptor socket_;
  Clock::time_point deadline_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
  std::size_t in_used_ = 0;
  std::int64_t text_left_ = kMaxHdf5Text;
};

}  // namespace attn::io
