#include "attn/io/hdf5.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "companion/companion_process.h"
#include "hdf5_answer.h"
#include "hdf5_records.h"

namespace attn::io {
namespace {

constexpr Companion kHdf5{"attn-hdf5", "ATTN_HDF5", "HDF5", "the HDF5 library"};

/// Returns the limit of wall-clock time, because processor time advances more slowly under load.
std::chrono::seconds limit_for(std::int64_t size) { return std::chrono::seconds(5 * (1 + size / kHdf5Slowest)); }

void put_attribute(Channel& channel, const std::string& name, const Hdf5Text& text) {
  channel.put_u8(static_cast<std::uint8_t>(Hdf5Tag::attribute));
  channel.put_text(name);
  channel.put_u8(text.is_list ? 1 : 0);
  channel.put_u32(static_cast<std::uint32_t>(text.values.size()));
  for (const std::string& value : text.values) channel.put_text(value);
}

void put_object(Channel& channel, const std::string& path, const Hdf5Object& object) {
  if (object.tensor) {
    const Tensor& tensor = *object.tensor;
    channel.put_u8(static_cast<std::uint8_t>(Hdf5Tag::dataset));
    channel.put_text(path);
    channel.put_u8(static_cast<std::uint8_t>(tensor.dtype()));
    channel.put_u8(static_cast<std::uint8_t>(tensor.shape().rank()));
    for (const Dim dim : tensor.shape()) channel.put_u64(static_cast<std::uint64_t>(dim));
    channel.put_u8(static_cast<std::uint8_t>(Hdf5Storage::here));
    channel.put_bytes({tensor.data(), static_cast<std::size_t>(tensor.bytes())});
    // Keras recognizes bfloat16, which HDF5 stores as two opaque bytes, by this attribute.
    if (tensor.dtype() == DType::bfloat16 && !object.attributes.contains("dtype")) {
      put_attribute(channel, "dtype", {{"bfloat16"}, false});
    }
  } else {
    channel.put_u8(static_cast<std::uint8_t>(Hdf5Tag::group));
    channel.put_text(path);
  }
  for (const auto& [name, text] : object.attributes) put_attribute(channel, name, text);
}

/// Checks the superblock (HDF5 file format, II.A) for problems that library version 1.10 ignores and later versions
/// reject. These are a flag that the file is still being written, and another file driver.
void check_superblock(const Bytes& file, const std::string& place) {
  constexpr std::size_t kVersion = 8, kFlags = 20, kFlagsFrom2 = 11, kOffsetSize = 13, kAddresses = 24,
                        kAddresses1 = 28;
  const std::string_view text = file.text();
  if (text.size() < kAddresses1) return;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const bool is_old = byte(kVersion) < 2;
  const std::string_view flags = is_old ? text.substr(kFlags, 4) : text.substr(kFlagsFrom2, 1);
  if (flags.find_first_not_of('\0') != std::string_view::npos)
    throw bad_input("{}: not a readable HDF5 file (whoever wrote it did not close it)", place);
  if (!is_old) return;
  // The address of the driver block is the fourth; if all of its bits are ones, there is none.
  const std::size_t width = byte(kOffsetSize), driver = (byte(kVersion) == 0 ? kAddresses : kAddresses1) + 3 * width;
  if (driver + width > text.size() || text.substr(driver, width).find_first_not_of('\xff') != std::string_view::npos)
    throw bad_input("{}: not a readable HDF5 file (it is part of a file that another driver wrote)", place);
  // The name of the root group follows, and must be empty.
  if (text.substr(driver + width, width).find_first_not_of('\0') != std::string_view::npos)
    throw bad_input("{}: not a readable HDF5 file (its root group has a name)", place);
}

/// Returns the entire contents of an open file.
Bytes contents_of(Descriptor file) {
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  if (size <= 0) throw internal_error("HDF5: nothing was written");
  const auto length = static_cast<std::size_t>(size);
  void* base = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (base == MAP_FAILED) throw Error(ExitCode::no_memory, fmt::format("HDF5: {}", std::strerror(errno)));
  return {
      std::shared_ptr<std::byte>(static_cast<std::byte*>(base), [length](std::byte* data) { ::munmap(data, length); }),
      size};
}

/// Makes attn-hdf5 write into an open file, from its end `offset` on.
void write_to(int fd, std::int64_t offset, const Hdf5File& contents, const std::string& place) {
  std::int64_t size = 0;
  for (const auto& [path, object] : contents.objects) {
    if (object.tensor) size += object.tensor->bytes();
  }
  CompanionProcess process(kHdf5, "write", {fd, offset}, size, limit_for(size), place);
  try {
    Channel& channel = process.channel();
    try {
      for (const auto& [path, object] : contents.objects) put_object(channel, path, object);
      channel.put_u8(static_cast<std::uint8_t>(Hdf5Tag::end));
      channel.flush();
    } catch (const ChannelBroken& broken) {
      // If the process ended early, its last message gives the reason.
      if (broken.why != ChannelBroken::Reason::closed) throw;
    }
    const auto tag = static_cast<Hdf5Tag>(channel.u8());
    if (tag == Hdf5Tag::error) throw bad_input("{}: {}", place, printable(channel.text()));
    if (tag != Hdf5Tag::end) throw ChannelBroken{ChannelBroken::Reason::invalid_data};
  } catch (const ChannelBroken& broken) {
    process.fail(broken);
  }
}

}  // namespace

std::string hdf5_version() {
  constexpr std::string_view kBegin = "HDF5 ";
  const std::string line = version_line(kHdf5);
  if (!line.starts_with(kBegin) || !line.ends_with('\n'))
    throw bad_input("attn-hdf5 answers '{}' where its version is expected", printable(line));
  return printable(line.substr(kBegin.size(), line.size() - kBegin.size() - 1));
}

Hdf5File read_hdf5(const Bytes& file, std::string_view name) {
  const std::string place = printable(name);
  const OpenBytes open(kHdf5, file);
  CompanionProcess process(kHdf5, "read", open.backing(), file.size(), limit_for(file.size()), place);
  try {
    Hdf5File contents = read_answer(process.channel(), file, place);
    check_superblock(file, place);
    return contents;
  } catch (const ChannelBroken& broken) {
    process.fail(broken);
  }
}

Bytes make_hdf5(const Hdf5File& contents, std::string_view name) {
  Descriptor written = memory_file(kHdf5);
  write_to(written.get(), 0, contents, printable(name));
  return contents_of(std::move(written));
}

void write_hdf5(AtomicFile& file, const Hdf5File& contents) {
  if (const auto hidden = file.hidden_file()) {
    write_to(*hidden, file.size(), contents, printable(file.path()));
    file.adopt();
  } else {
    file.write(make_hdf5(contents, file.path()).span());
  }
}

std::int64_t most_hdf5_bytes(const Hdf5File& contents) {
  // Bytes of headers per object, with the entry in its group.
  constexpr std::int64_t kMostOfHeaders = std::int64_t{1} << 14;
  std::int64_t size = kMostOfHeaders;
  for (const auto& [path, object] : contents.objects) {
    const auto depth = 1 + std::ranges::count(path, '/');  // each of the parent groups may be new
    size += depth * kMostOfHeaders + static_cast<std::int64_t>(path.size());
    if (object.tensor) size += object.tensor->bytes();
    for (const auto& [name, text] : object.attributes) {
      size += static_cast<std::int64_t>(name.size());
      for (const std::string& value : text.values) size += kMostOfHeaders + static_cast<std::int64_t>(value.size());
    }
  }
  return size;
}

}  // namespace attn::io
