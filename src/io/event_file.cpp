#include "attn/io/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "attn/base/system_error.h"
#include "attn/base/text.h"

namespace attn::io {
namespace {

constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's polynomial, with its bits reversed
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}();

/// Masks a checksum as TFRecord does, because a checksum of data that contains its own checksum would be weak.
std::uint32_t masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8; }

template <typename Number>
std::string little_endian(Number number) {
  std::string out(sizeof(Number), '\0');
  std::memcpy(out.data(), &number, sizeof(Number));
  return out;
}
static_assert(std::endian::native == std::endian::little);

// Encodes a number as a varint. A field of a protocol buffer is a key made of the field's number and wire type, then
// the value.

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string key(int field, int kind) {
  return varint(static_cast<std::uint64_t>(field) << 3 | static_cast<unsigned>(kind));
}
std::string integer_field(int field, std::int64_t value) {
  return key(field, 0) + varint(static_cast<std::uint64_t>(value));
}
std::string double_field(int field, double value) { return key(field, 1) + little_endian(value); }
std::string bytes_field(int field, std::string_view bytes) {
  return key(field, 2) + varint(bytes.size()) + std::string(bytes);
}
std::string float_field(int field, float value) { return key(field, 5) + little_endian(value); }

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// Returns a message as defined in tensorflow/core/util/event.proto.
std::string event(std::int64_t step, const std::string& what) {
  return double_field(1, now()) + integer_field(2, step) + what;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) noexcept {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) crc = kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ crc >> 8;
  return ~crc;
}

EventFile::EventFile(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw system_error(printable(folder), "cannot be created", failed.value());
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  path_ =
      fmt::format("{}/events.out.tfevents.{}.{}.{}", folder, static_cast<std::int64_t>(now()), host.data(), ::getpid());
  file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (file_.get() < 0) throw system_error(printable(path_), "cannot be written", errno);
  record(event(0, bytes_field(3, "brain.Event:2")));
}

void EventFile::add(std::string_view tag, std::int64_t step, double value) {
  const std::string scalar = bytes_field(1, tag) + float_field(2, static_cast<float>(value));
  record(event(step, bytes_field(5, bytes_field(1, scalar))));
}

void EventFile::record(const std::string& event) {
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  const std::string bytes =
      length + little_endian(masked(crc32c(length))) + event + little_endian(masked(crc32c(event)));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(file_.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error(printable(path_), "cannot be written", errno);
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace attn::io
