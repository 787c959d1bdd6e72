#include "companion/child.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>

#include "attn/base/error.h"
#include "attn/base/parse_number.h"

#if defined(ATTN_COVERAGE)
extern "C" void __gcov_dump();
#endif

namespace attn::io {
namespace {

constexpr int kSocket = 0;
constexpr int kFile = 3;
constexpr int kDescriptors = 4;

#if defined(ATTN_SANITIZED) || defined(ATTN_COVERAGE)
// Sanitizers reserve terabytes, and probe memory with pipes; coverage counters are written to files.
constexpr bool kInstrumented = true;
#else
constexpr bool kInstrumented = false;
#endif

void limit(__rlimit_resource resource, std::int64_t most) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return;
  now.rlim_cur = now.rlim_max = std::min(now.rlim_max, static_cast<rlim_t>(most));
  ::setrlimit(resource, &now);
}

bool number(std::string_view text, std::int64_t& value) {
  value = parse_number<std::int64_t>(text).value_or(-1);
  return value >= 0;
}

int print(const std::string& version) {
  if (version.empty()) return 1;
  std::printf("%s\n", version.c_str());
  return std::fflush(stdout) == 0 ? 0 : 1;
}

int status_of(const Child& child, int count, char** words) {
  if (count == 2 && std::string_view(words[1]) == "--version") return print(child.version());
  ChildTask task{count > 1 ? words[1] : "", kFile, 0, 0};
  const bool is_known = std::find(child.modes.begin(), child.modes.end(), task.mode) != child.modes.end();
  if (count != 4 || !is_known || !number(words[2], task.offset) || !number(words[3], task.size)) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(child.usage.size()), child.usage.data());
    return static_cast<int>(ExitCode::usage);
  }
  // attn and RLIMIT_CPU enforce the time limit.
  Channel channel{Descriptor(kSocket), Channel::Clock::time_point::max()};
  try {
    const std::string refusal = child.work(task, channel);
    if (refusal.empty()) {
      channel.put_u8(kEndTag);
    } else {
      constexpr std::size_t kMostOfMessage = 4096;
      channel.put_u8(kErrorTag);
      channel.put_text(std::string_view(refusal).substr(0, kMostOfMessage));
    }
    channel.flush();
  } catch (const ChannelBroken&) {
    return 1;  // attn has exited or has given up
  }
  return 0;
}

}  // namespace

void confine(const Confinement& most) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  limit(RLIMIT_CORE, 0);
  // A timer, whose signal ends the process, limits the time in milliseconds; RLIMIT_CPU counts in seconds and is
  // irrevocable.
  const itimerval time{{}, {most.milliseconds / 1000, most.milliseconds % 1000 * 1000}};
  ::setitimer(ITIMER_PROF, &time, nullptr);
  limit(RLIMIT_CPU, 1 + most.milliseconds / 1000);
  if (kInstrumented) return;
  if (!most.writes) limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, kDescriptors);
  limit(RLIMIT_AS, std::min(::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE), most.memory));
}

std::vector<std::uint8_t> bytes_of(const ChildTask& task) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(task.size));
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(task.fd, out.data() + done, out.size() - done,
                                static_cast<off_t>(task.offset + static_cast<std::int64_t>(done)));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  out.resize(done);
  return out;
}

std::string_view format_of(std::string_view file, std::span<const Signature> signatures) {
  for (const Signature& known : signatures)
    if (file.size() > known.at && file.substr(known.at).starts_with(known.bytes)) return known.format;
  return "";
}

std::string decode_confined(const Decoding& decoding, const ChildTask& task, Channel& channel) {
  try {
    if (task.size > decoding.most_bytes) return "the file is too large";
    confine({decoding.most.milliseconds, decoding.most.memory + task.size, decoding.most.writes});
    const std::vector<std::uint8_t> file = bytes_of(task);
    decoding.send(file, channel);
    return {};
  } catch (const FileRefused& refused) {
    return refused.what();
  } catch (const std::bad_alloc&) {
    return fmt::format("needs more memory than {} should", decoding.kind);
  }
}

void run_child(const Child& child, int count, char** words) {
  const int status = status_of(child, count, words);
#if defined(ATTN_COVERAGE)
  __gcov_dump();
#endif
  // _exit, because libraries have been seen to crash while they clean up after a damaged file.
  ::_exit(status);
}

}  // namespace attn::io
