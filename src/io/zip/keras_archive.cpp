#include "attn/io/keras_archive.h"

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/base/text.h"
#include "attn/io/hdf5.h"
#include "attn/io/zip.h"

namespace attn::io {
namespace {

constexpr std::int64_t kMaxText = std::int64_t{64} << 20;
constexpr const char* kMetadataMember = "metadata.json";
constexpr const char* kConfig = "config.json";
constexpr const char* kTraining = "attn_state.json";  // ignored by Keras
constexpr const char* kWeights = "model.weights.h5";

std::string text_of(const ZipReader& archive, const char* member, const std::string& place) {
  const ZipMember* found = archive.find(member);
  if (found == nullptr) throw bad_input("{}: not a .keras archive: it has no {}", place, member);
  return std::string(archive.read(*found, kMaxText).text());
}

}  // namespace

KerasArchive parse_keras_archive(const Bytes& file, std::string_view name) {
  const ZipReader archive(file, name);
  const std::string place = printable(name);
  KerasArchive result;
  result.config = text_of(archive, kConfig, place);
  result.metadata = text_of(archive, kMetadataMember, place);
  if (archive.find(kTraining) != nullptr) result.training = text_of(archive, kTraining, place);
  if (const ZipMember* weights = archive.find(kWeights)) {
    result.weights = archive.read(*weights, kMaxSize);
    return result;
  }
  for (const char* other : {"model.weights.npz", "model.weights.json"}) {
    if (archive.find(other) != nullptr) {
      throw bad_input("{}: its weights are in {}; save the model so that they are in {}", place, other, kWeights);
    }
  }
  return result;
}

std::optional<std::string> read_keras_asset(const Bytes& file, std::string_view name, const std::string& place) {
  const ZipReader archive(file, name);
  const ZipMember* found = archive.find("assets/" + place);
  if (found == nullptr) return std::nullopt;
  return std::string(archive.read(*found, kMaxText).text());
}

void write_keras_archive(AtomicFile& file, const KerasArchive& archive, const Hdf5File& weights) {
  ZipWriter zip(file);
  zip.add(kMetadataMember, {std::as_bytes(std::span(archive.metadata))});
  zip.add(kConfig, {std::as_bytes(std::span(archive.config))});
  if (file.hidden_file()) {
    zip.add(kWeights, most_hdf5_bytes(weights), [&] { write_hdf5(file, weights); });
  } else {
    zip.add(kWeights, {make_hdf5(weights, file.path()).span()});
  }
  for (const NamedBytes& asset : archive.assets) zip.add(asset.name, {asset.bytes.span()});
  if (!archive.training.empty()) zip.add(kTraining, {std::as_bytes(std::span(archive.training))});
  zip.finish();
}

}  // namespace attn::io
