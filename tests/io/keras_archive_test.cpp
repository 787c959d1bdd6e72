#include "attn/io/keras_archive.h"

#include <string>

#include "attn/io/atomic_file.h"
#include "attn/io/zip.h"
#include "support.h"

namespace attn::io {
namespace {

/// An archive of members with these names, each of which holds its own name.
Bytes archive_of(std::initializer_list<const char*> names) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a.keras");
  ZipWriter zip(file);
  for (const std::string name : names) zip.add(name, {std::as_bytes(std::span(name))});
  zip.finish();
  file.commit();
  return read_file(folder / "a.keras");
}

TEST_CASE("keras archive: what is written is read again, with weights and without") {
  for (const bool has_weights : {true, false}) {
    const TemporaryFolder folder;
    KerasArchive archive;
    archive.config = "{}";
    archive.metadata = "{\"a\": 1}";
    if (has_weights) archive.weights = bytes_of_text("weights");
    AtomicFile file(folder / "a.keras");
    write_keras_archive(file, archive);
    file.commit();
    const KerasArchive again = parse_keras_archive(read_file(folder / "a.keras"), "a.keras");
    CHECK(again.config == "{}");
    CHECK(again.metadata == "{\"a\": 1}");
    REQUIRE(again.weights.has_value() == has_weights);
    if (has_weights) CHECK(again.weights->text() == "weights");
  }
}

TEST_CASE("keras archive: one without a config is none") {
  const Bytes file = archive_of({"metadata.json", "model.weights.h5"});
  CHECK(refusal([&] { static_cast<void>(parse_keras_archive(file, "a.keras")); }).find("config.json") !=
        std::string::npos);
}

TEST_CASE("keras archive: weights in another form are refused by their name, with the way out") {
  for (const char* name : {"model.weights.npz", "model.weights.json"}) {
    const Bytes file = archive_of({"metadata.json", "config.json", name});
    CHECK(refusal([&] { static_cast<void>(parse_keras_archive(file, "a.keras")); }) ==
          std::string("a.keras: its weights are in ") + name + "; save the model so that they are in model.weights.h5");
  }
}

}  // namespace
}  // namespace attn::io
