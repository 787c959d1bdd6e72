#include "companion/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace attn::io {
namespace {

constexpr std::size_t kBuffer = std::size_t{64} << 10;

}  // namespace

void Channel::put_text(std::string_view text) {
  put_u32(static_cast<std::uint32_t>(text.size()));
  put(text.data(), text.size());
}

void Channel::put(const void* from, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(from);
  if (size >= kBuffer) {
    flush();
    send(bytes, size);
    return;
  }
  out_.insert(out_.end(), bytes, bytes + size);
  if (out_.size() >= kBuffer) flush();
}

void Channel::flush() {
  send(out_.data(), out_.size());
  out_.clear();
}

std::string Channel::text() {
  const std::uint32_t size = u32();
  if (size > text_left_) throw ChannelBroken{ChannelBroken::Reason::invalid_data};
  text_left_ -= size;
  // Grows as bytes arrive: a claimed length allocates nothing.
  std::string text;
  while (text.size() < size) {
    const std::size_t begin = text.size();
    text.resize(std::min<std::size_t>(size, begin + kBuffer));
    bytes(std::as_writable_bytes(std::span(text).subspan(begin)));
  }
  return text;
}

void Channel::bytes(std::span<std::byte> to) {
  while (!to.empty()) {
    if (in_used_ == in_.size()) {
      if (to.size() >= kBuffer) {
        to = to.subspan(receive(to.data(), to.size()));
        continue;
      }
      in_.resize(kBuffer);
      in_.resize(receive(in_.data(), kBuffer));
      in_used_ = 0;
    }
    const std::size_t now = std::min(to.size(), in_.size() - in_used_);
    std::memcpy(to.data(), in_.data() + in_used_, now);
    in_used_ += now;
    to = to.subspan(now);
  }
}

void Channel::wait(short events) const {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    if (left <= 0) throw ChannelBroken{ChannelBroken::Reason::timed_out};
    pollfd waiting{socket_.get(), events, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) throw ChannelBroken{ChannelBroken::Reason::closed};
  }
}

void Channel::send(const std::byte* from, std::size_t size) {
  while (size > 0) {
    wait(POLLOUT);
    const ssize_t sent = ::send(socket_.get(), from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      throw ChannelBroken{ChannelBroken::Reason::closed};
    }
    from += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

std::size_t Channel::receive(std::byte* to, std::size_t size) {
  while (true) {
    wait(POLLIN);
    const ssize_t got = ::recv(socket_.get(), to, size, MSG_DONTWAIT);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    throw ChannelBroken{ChannelBroken::Reason::closed};
  }
}

}  // namespace attn::io
