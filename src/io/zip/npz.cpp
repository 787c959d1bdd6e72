#include "attn/io/npz.h"

#include <string>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/base/text.h"
#include "attn/io/npy.h"
#include "attn/io/zip.h"
#include "unique_names.h"

namespace attn::io {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

std::vector<NamedTensor> parse_npz(const Bytes& file, std::string_view name) {
  const ZipReader archive(file, name);
  std::vector<NamedTensor> tensors;
  for (const ZipMember& member : archive.members()) {
    const std::string place = fmt::format("{}: {}", name, member.name);
    if (!member.name.ends_with(kSuffix)) {
      throw bad_input("{}: not an array; a .npz archive holds .npy members only", printable(place));
    }
    std::string key = member.name.substr(0, member.name.size() - kSuffix.size());
    tensors.push_back({std::move(key), parse_npy(archive.read(member, kMaxSize), place)});
  }
  return tensors;
}

void write_npz(AtomicFile& file, std::span<const NamedTensor> tensors, std::span<const NamedTexts> texts) {
  std::vector<std::string_view> names;
  for (const NamedTensor& named : tensors) names.push_back(named.name);
  for (const NamedTexts& named : texts) names.push_back(named.name);
  check_unique_names(std::move(names), file.path());
  ZipWriter archive(file);
  for (const NamedTensor& named : tensors) {
    const Tensor array = as_npy(named.tensor);
    const std::string header = npy_header(array.dtype(), array.shape());
    archive.add(named.name + std::string(kSuffix),
                {std::as_bytes(std::span(header)), {array.data(), static_cast<std::size_t>(array.bytes())}});
  }
  for (const NamedTexts& named : texts) {
    const std::string member = text_npy(named.texts, named.name);
    archive.add(named.name + std::string(kSuffix), {std::as_bytes(std::span(member))});
  }
  archive.finish();
}

}  // namespace attn::io
