// Reports for many files whether they are accepted, for comparison with another program
// (tests/oracle/check_mutants.py).
//
// Reads from stdin for each file: the letter of its kind, the size (32 bits, little-endian) and the bytes. Writes to
// stdout for each: A (accepted) or R (rejected).
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "attn/base/size.h"
#include "attn/io/hdf5.h"
#include "attn/io/npy.h"
#include "attn/io/npz.h"
#include "attn/io/safetensors.h"
#include "attn/io/zip.h"
#include "target.h"

namespace {

using namespace attn;

void parse(char kind, const io::Bytes& file) {
  switch (kind) {
    case 'n':
      static_cast<void>(io::parse_npy(file, "x.npy"));
      return;
    case 'z': {
      const io::ZipReader archive(file, "x.zip");
      for (const io::ZipMember& member : archive.members()) static_cast<void>(archive.read(member, kMaxSize));
      return;
    }
    case 'p':
      static_cast<void>(io::parse_npz(file, "x.npz"));
      return;
    case 's':
      static_cast<void>(io::parse_safetensors(file, "x.safetensors"));
      return;
    case 'h':
      static_cast<void>(io::read_hdf5(file, "x.h5"));
      return;
    default:
      fuzz::fail("no kind", {&kind, 1});
  }
}

}  // namespace

int main() {
  std::array<char, 5> head{};
  while (std::fread(head.data(), head.size(), 1, stdin) == 1) {
    std::uint32_t size = 0;
    std::memcpy(&size, head.data() + 1, sizeof size);
    std::vector<std::uint8_t> bytes(size);
    if (size > 0 && std::fread(bytes.data(), size, 1, stdin) != 1) return 1;
    const bool accepted = fuzz::accepts([&] { parse(head[0], fuzz::bytes_of(bytes.data(), size)); });
    std::putchar(accepted ? 'A' : 'R');
    std::fflush(stdout);
  }
  return 0;
}
