// The connection between attn and a companion: a program of attn's that handles files of one format.
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

/// The tags of the last record of an answer: everything was sent, or a text with the reason why not.
inline constexpr std::uint8_t kEndTag = 'Z', kErrorTag = 'E';

/// The maximum size in bytes of all texts that a channel receives.
inline constexpr std::int64_t kMaxChannelText = std::int64_t{256} << 20;

/// The peer has exited, timed out, or sent invalid data.
struct ChannelBroken {
  enum class Reason { closed, timed_out, invalid_data } why;
};

/// One end of a socket: sends and receives numbers, texts and bytes, with one deadline. Throws ChannelBroken.
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
  /// Receives a text. All texts together may have kMaxChannelText bytes.
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
  std::int64_t text_left_ = kMaxChannelText;
};

}  // namespace attn::io
