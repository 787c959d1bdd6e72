// The archive, its members, and their arrays.
#include "attn/io/zip.h"

#include "attn/base/size.h"
#include "attn/io/npz.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const io::Bytes file = fuzz::bytes_of(data, size);
  fuzz::accepts([&] {
    const io::ZipReader archive(file, "x.npz");
    for (const io::ZipMember& member : archive.members())
      fuzz::accepts([&] { static_cast<void>(archive.read(member, kMaxSize)); });
    static_cast<void>(io::parse_npz(file, "x.npz"));
  });
  return 0;
}
