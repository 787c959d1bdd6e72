// The work of attn-hdf5, in this process: walks a file with the HDF5 library.
#define H5_USE_110_API

#include <hdf5.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drain.h"
#include "hdf5/hdf5_driver.h"
#include "hdf5/hdf5_reader.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  static const bool ready =
      H5open() >= 0 && H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0 && H5PLset_loading_state(0) >= 0;
  static const fuzz::Drain drain;
  static const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  const bool written =
      ready && ::ftruncate(file, 0) == 0 && ::pwrite(file, data, size, 0) == static_cast<ssize_t>(size);
  if (!written) fuzz::fail("HDF5 cannot be used", "");

  const io::DriverRange range{file, 0, static_cast<std::int64_t>(size)};
  try {
    const io::Handle access = io::access_to(range);
    const hid_t opened = H5Fopen("attn", H5F_ACC_RDONLY, access.get());
    if (opened < 0) return 0;
    const io::Handle closing(opened, H5Fclose, "the file");
    io::Channel channel(io::Descriptor(drain.writer()), io::Channel::Clock::time_point::max());
    io::Hdf5Reader(opened, range.size, channel).send();
    channel.flush();
  } catch (const io::Hdf5Refused&) {
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
