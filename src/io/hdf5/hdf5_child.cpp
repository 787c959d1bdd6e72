// attn-hdf5: the only program here that links the HDF5 library. hdf5_records.h defines what it sends and receives.
#define H5_USE_110_API

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "companion/child.h"
#include "hdf5_driver.h"
#include "hdf5_handle.h"
#include "hdf5_reader.h"
#include "hdf5_records.h"
#include "hdf5_writer.h"

namespace attn::io {
namespace {

constexpr std::array<std::string_view, 2> kModes = {"read", "write"};

/// Returns what the work may take. Written data is attn's own, and its amount is not known from a file size.
Confinement confinement(std::int64_t size, bool writes) {
  // Memory for the program and the library, plus the largest allowed unpacked size (bomb.h) with its overhead.
  constexpr std::int64_t kProgram = std::int64_t{512} << 20;
  constexpr std::int64_t kMostGrowth = 110;
  return {(writes ? kHdf5WriteMilliseconds : kHdf5Milliseconds) + size / kHdf5Slowest * 1000,
          kProgram + std::min(size, kMaxSize / (2 * kMostGrowth)) * kMostGrowth, writes};
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

std::string work(const ChildTask& task, Channel& channel) {
  const DriverRange range{task.fd, task.offset, task.size};
  try {
    if (H5open() < 0 || H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) < 0 || H5PLset_loading_state(0) < 0) {
      return "the HDF5 library cannot be used";
    }
    const bool writes = task.mode == "write";
    confine(confinement(range.size, writes));
    if (writes) {
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

std::string version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0) return {};
  return fmt::format("HDF5 {}.{}.{}", major, minor, release);
}

}  // namespace
}  // namespace attn::io

int main(int count, char** words) {
  using namespace attn::io;
  run_child({"attn-hdf5 reads and writes HDF5 files for attn, which starts it.", kModes, version, work}, count, words);
}
