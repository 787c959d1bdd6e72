#include "attn/io/keras_archive.h"

#include <fcntl.h>

#include <string>

#include "attn/io/atomic_file.h"
#include "attn/io/descriptor.h"
#include "attn/io/hdf5.h"
#include "attn/io/zip.h"
#include "support.h"

namespace attn::io {
namespace {

/// An archive of members with these names, each of which contains its own name.
Bytes archive_of(std::initializer_list<const char*> names) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a.keras");
  ZipWriter zip(file);
  for (const std::string name : names) zip.add(name, {std::as_bytes(std::span(name))});
  zip.finish();
  file.commit();
  return read_file(folder / "a.keras");
}

TEST_CASE("keras archive: a written archive reads back, with and without weights") {
  const TemporaryFolder folder;
  KerasArchive archive;
  archive.config = "{}";
  archive.metadata = "{\"a\": 1}";
  Hdf5File weights;
  weights.objects["a/vars/0"].tensor = counting(DType::float32, {300, 400});
  AtomicFile file(folder / "a.keras");
  write_keras_archive(file, archive, weights);
  file.commit();
  const KerasArchive again = parse_keras_archive(read_file(folder / "a.keras"), "a.keras");
  CHECK(again.config == "{}");
  CHECK(again.metadata == "{\"a\": 1}");
  REQUIRE(again.weights.has_value());
  check_counts(*read_hdf5(*again.weights, "a.keras").objects.at("a/vars/0").tensor, DType::float32, {300, 400});
  CHECK(!parse_keras_archive(archive_of({"metadata.json", "config.json"}), "a.keras").weights.has_value());
}

TEST_CASE("keras archive: a target that is written directly gets the bytes of a replaced one") {
  const TemporaryFolder folder;
  KerasArchive archive;
  archive.config = "{}";
  Hdf5File weights;
  weights.objects["a/vars/0"].tensor = counting(DType::float32, {3, 4});
  const auto written = [&](const std::string& path) {
    AtomicFile file(path);
    write_keras_archive(file, archive, weights);
    file.commit();
  };
  written(folder / "a.keras");
  const Descriptor target(::open((folder / "b.keras").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  written("/dev/fd/" + std::to_string(target.get()));
  CHECK(read_file(folder / "a.keras").text() == read_file(folder / "b.keras").text());
}

TEST_CASE("keras archive: an archive without a config is rejected") {
  const Bytes file = archive_of({"metadata.json", "model.weights.h5"});
  CHECK(refusal([&] { static_cast<void>(parse_keras_archive(file, "a.keras")); }).find("config.json") !=
        std::string::npos);
}

TEST_CASE("keras archive: weights in another format are rejected by name, with the way out") {
  for (const char* name : {"model.weights.npz", "model.weights.json"}) {
    const Bytes file = archive_of({"metadata.json", "config.json", name});
    CHECK(refusal([&] { static_cast<void>(parse_keras_archive(file, "a.keras")); }) ==
          std::string("a.keras: its weights are in ") + name + "; save the model so that they are in model.weights.h5");
  }
}

}  // namespace
}  // namespace attn::io
