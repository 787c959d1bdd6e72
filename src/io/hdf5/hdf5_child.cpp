// attn-hdf5: the only program here that links the HDF5 library. attn starts it with a socket as descriptor 0 and the
// file as descriptor 3; hdf5_channel.h defines their protocol.
#define H5_USE_110_API

#include <hdf5.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "hdf5_channel.h"
#include "hdf5_driver.h"
#include "hdf5_handle.h"
#include "hdf5_reader.h"
#include "hdf5_writer.h"

#if defined(ATTN_COVERAGE)
extern "C" void __gcov_dump();
#endif

namespace attn::io {
namespace {

constexpr int kSocket = 0;
constexpr int kFile = 3;
constexpr int kDescriptors = 4;

void limit(__rlimit_resource resource, std::int64_t most) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return;
  now.rlim_cur = now.rlim_max = std::min(now.rlim_max, static_cast<rlim_t>(most));
  ::setrlimit(resource, &now);
}

#if defined(ATTN_SANITIZED) || defined(ATTN_COVERAGE)
// Sanitizers reserve terabytes, and probe memory with pipes; coverage counters are written to files.
constexpr bool kInstrumented = true;
#else
constexpr bool kInstrumented = false;
#endif

/// Drops all privileges that reading or writing these bytes does not need. Afterwards no file can be opened.
void confine(std::int64_t size, bool writes) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  limit(RLIMIT_CORE, 0);
  // A timer, whose signal ends the process, limits the time in milliseconds; RLIMIT_CPU counts in seconds and is
  // irrevocable. Written data is attn's own, and its amount is not known from a file size.
  const std::int64_t milliseconds = (writes ? kHdf5WriteMilliseconds : kHdf5Milliseconds) + size / kHdf5Slowest * 1000;
  const itimerval most{{}, {milliseconds / 1000, milliseconds % 1000 * 1000}};
  ::setitimer(ITIMER_PROF, &most, nullptr);
  limit(RLIMIT_CPU, 1 + milliseconds / 1000);
  if (kInstrumented) return;
  if (!writes) limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, kDescriptors);
  // Memory for the program and the library, plus the largest allowed unpacked size (bomb.h) with its overhead.
  constexpr std::int64_t kProgram = std::int64_t{512} << 20;
  constexpr std::int64_t kMostGrowth = 110;
  const std::int64_t installed = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  limit(RLIMIT_AS, std::min(installed, kProgram + std::min(size, kMaxSize / (2 * kMostGrowth)) * kMostGrowth));
}

void read(const DriverRange& range, Channel& channel) {
  const Handle access = access_to(range);
  const hid_t opened = H5Fopen("attn", H5F_ACC_RDONLY, access.get());
  if (opened < 0) throw Hdf5Refused("not an HDF5 file, or damaged");
  const Handle file(opened, H5Fclose, "the file");
  Hdf5Reader(file.get(), range.size, channel).send();
}

void write(const DriverRange& range, Channel& channel) {
  const Handle access = access_to(range);
  Handle file(H5Fcreate("attn", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose, "the file");
  Hdf5Writer(file.get(), channel).receive();
  check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "the file");
  file = Handle();
  if (write_error != 0) throw Hdf5Refused("the file");
}

/// Does the work; returns the error message, or nothing.
std::string work(std::string_view mode, const DriverRange& range, Channel& channel) {
  try {
    if (H5open() < 0 || H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) < 0 || H5PLset_loading_state(0) < 0) {
      return "the HDF5 library cannot be used";
    }
    confine(range.size, mode == "write");
    if (mode == "write") {
      write({range.fd, range.offset, 0}, channel);
    } else {
      read(range, channel);
    }
    return {};
  } catch (const Hdf5Refused& refused) {
    if (write_error != 0) return std::string("cannot be written: ") + std::strerror(write_error);
    return refused.what();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::bad_alloc&) {
    return "needs more memory than a file of this size should";
  }
}

bool number(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

int print_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0) return 1;
  std::printf("HDF5 %u.%u.%u\n", major, minor, release);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

int run(int count, char** words) {
  if (count == 2 && std::string_view(words[1]) == "--version") return print_version();
  DriverRange range{kFile, 0, 0};
  const bool understood = count == 4 &&
                          (std::string_view(words[1]) == "read" || std::string_view(words[1]) == "write") &&
                          number(words[2], range.offset) && number(words[3], range.size);
  if (!understood) {
    std::fputs("attn-hdf5 reads and writes HDF5 files for attn, which starts it.\n", stderr);
    return static_cast<int>(ExitCode::usage);
  }
  // attn and RLIMIT_CPU enforce the time limit.
  Channel channel{Descriptor(kSocket), Channel::Clock::time_point::max()};
  const std::string mode = words[1];
  const std::string refusal = work(mode, range, channel);
  try {
    if (refusal.empty()) {
      channel.put_u8(static_cast<std::uint8_t>(Hdf5Tag::end));
    } else {
      constexpr std::size_t kMostOfMessage = 4096;
      channel.put_u8(static_cast<std::uint8_t>(Hdf5Tag::error));
      channel.put_text(std::string_view(refusal).substr(0, kMostOfMessage));
    }
    channel.flush();
  } catch (const ChannelBroken&) {
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace attn::io

int main(int count, char** words) {
  int status = 1;
  try {
    status = attn::io::run(count, words);
  } catch (const attn::io::ChannelBroken&) {
    // attn has exited or has given up.
  }
#if defined(ATTN_COVERAGE)
  __gcov_dump();
#endif
  // _exit, because the library has been seen to crash while it cleans up after a damaged file.
  ::_exit(status);
}
