// A file driver for the HDF5 library over a range of an open descriptor, so that the library opens no files. Included
// only by attn-hdf5.
#pragma once

#include <hdf5.h>
#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>

#include "hdf5_handle.h"

namespace attn::io {

/// The bytes that the library sees as the file.
struct DriverRange {
  int fd;
  std::int64_t offset;
  std::int64_t size;  // grows as the library writes
};

/// The library's handle of an open file; it must begin with the library's own part.
struct DriverFile {
  H5FD_t base;
  DriverRange range;
  haddr_t end_of_allocation;
};

inline DriverFile* driver_file(H5FD_t* file) { return reinterpret_cast<DriverFile*>(file); }
inline const DriverFile* driver_file(const H5FD_t* file) { return reinterpret_cast<const DriverFile*>(file); }

inline H5FD_t* driver_open(const char*, unsigned, hid_t access, haddr_t) {
  const auto* range = static_cast<const DriverRange*>(H5Pget_driver_info(access));
  if (range == nullptr) return nullptr;
  return reinterpret_cast<H5FD_t*>(new DriverFile{{}, *range, 0});
}

inline herr_t driver_close(H5FD_t* file) {
  delete driver_file(file);
  return 0;
}

inline int driver_compare(const H5FD_t* a, const H5FD_t* b) { return a < b ? -1 : (b < a ? 1 : 0); }

inline herr_t driver_query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

inline haddr_t driver_get_eoa(const H5FD_t* file, H5FD_mem_t) { return driver_file(file)->end_of_allocation; }

inline herr_t driver_set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  driver_file(file)->end_of_allocation = address;
  return 0;
}

inline haddr_t driver_get_eof(const H5FD_t* file, H5FD_mem_t) {
  return static_cast<haddr_t>(driver_file(file)->range.size);
}

/// Reads bytes. Past the end they are zeros, because the library reads ahead.
inline herr_t driver_read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* buffer) {
  const DriverRange& range = driver_file(file)->range;
  auto* to = static_cast<char*>(buffer);
  while (size > 0 && address < static_cast<haddr_t>(range.size)) {
    const std::size_t now = std::min<std::size_t>(size, static_cast<haddr_t>(range.size) - address);
    const ssize_t got = ::pread(range.fd, to, now, range.offset + static_cast<off_t>(address));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    to += got;
    address += static_cast<haddr_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  std::memset(to, 0, size);
  return 0;
}

/// errno of the first failed write; 0 if there is none.
inline int write_error = 0;

inline herr_t driver_write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, const void* buffer) {
  DriverRange& range = driver_file(file)->range;
  const auto* from = static_cast<const char*>(buffer);
  while (size > 0) {
    const ssize_t written = ::pwrite(range.fd, from, size, range.offset + static_cast<off_t>(address));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      if (write_error == 0) write_error = written < 0 ? errno : ENOSPC;
      return -1;
    }
    from += written;
    address += static_cast<haddr_t>(written);
    size -= static_cast<std::size_t>(written);
    range.size = std::max(range.size, static_cast<std::int64_t>(address));
  }
  return 0;
}

inline herr_t driver_truncate(H5FD_t* file, hid_t, hbool_t) {
  DriverFile* driver = driver_file(file);
  const auto end = static_cast<off_t>(driver->end_of_allocation);
  if (end == driver->range.size) return 0;
  driver->range.size = end;
  return ::ftruncate(driver->range.fd, driver->range.offset + end);
}

/// Returns a file access property list that directs the library to these bytes.
inline Handle access_to(const DriverRange& range) {
  static constexpr H5FD_mem_t kOneForAll[H5FD_MEM_NTYPES] = H5FD_FLMAP_SINGLE;
  H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(600);  // 512 and above are free for testing
#endif
  driver.name = "attn";
  driver.maxaddr = static_cast<haddr_t>(std::numeric_limits<std::int64_t>::max());
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(DriverRange);
  driver.open = driver_open;
  driver.close = driver_close;
  driver.cmp = driver_compare;
  driver.query = driver_query;
  driver.get_eoa = driver_get_eoa;
  driver.set_eoa = driver_set_eoa;
  driver.get_eof = driver_get_eof;
  driver.read = driver_read;
  driver.write = driver_write;
  driver.truncate = driver_truncate;
  std::copy(std::begin(kOneForAll), std::end(kOneForAll), std::begin(driver.fl_map));
  const Handle registered(H5FDregister(&driver), H5FDunregister, "the file driver");

  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "the access list");
  check(H5Pset_driver(access.get(), registered.get(), &range), "the access list");
  check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG), "the access list");
  return access;
}

}  // namespace attn::io
