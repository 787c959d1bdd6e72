#include "rule_limit.h"

#include <algorithm>
#include <ctime>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "pattern.h"

namespace attn::tokenizers {

namespace {

/// Returns the CPU time of this thread in seconds.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

// NFKC expands a byte to at most 11 (U+FDFA), and Metaspace to 3.
RuleLimit::RuleLimit(std::string_view place, std::size_t bytes) noexcept
    : place_(place), from_(bytes), most_(std::clamp(16 * bytes, std::size_t{1} << 16, std::size_t{UINT32_MAX})) {}

void RuleLimit::refuse() const {
  throw bad_input("{}: its rules make more than {} bytes from a text of {}", place_, most_, from_);
}

void RuleLimit::stop_clock() const {
  spent_ += processor_seconds() - *started_;
  started_.reset();
}

void RuleLimit::check_time(const Pattern& pattern) const {
  constexpr double kFree = 0.5, kPerByte = 1e-6;  // seconds; expressions for words take about a twentieth of it
  if (!pattern.is_regex()) return;
  const double now = processor_seconds();
  if (!started_) started_ = now;
  if (spent_ + now - *started_ > kFree + kPerByte * static_cast<double>(from_))
    throw bad_input("{}: matching '{}' takes too long: it scans a text of {} bytes again and again", pattern.place(),
                    shortened(pattern.text()), from_);
}

}  // namespace attn::tokenizers
