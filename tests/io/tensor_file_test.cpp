#include "attn/io/tensor_file.h"

#include "attn/io/file_kind.h"
#include "attn/io/keras_archive.h"
#include "attn/io/zip.h"
#include "support.h"

namespace attn::io {
namespace {

TEST_CASE("tensor file: the contents determine the format, not the name") {
  const TemporaryFolder folder;
  const auto copy_as = [&](const char* name, const char* other) {
    std::filesystem::copy_file(data_path(name), folder / other);
    return read_tensors(folder / other);
  };
  const std::vector<NamedTensor> npy = copy_as("float32.npy", "some.thing.npz");
  REQUIRE(npy.size() == 1);
  CHECK(npy.front().name == "some.thing");
  CHECK(copy_as("stored.npz", "a.npy").size() == 12);
  CHECK(copy_as("all.safetensors", "b").size() == 14);
}

TEST_CASE("tensor file: other files are rejected with their kind") {
  CHECK(refusal([] { return read_tensors(data_path("model.keras")); }).find("a .keras archive") != std::string::npos);
  CHECK(refusal([] { return read_tensors(data_path("types.h5")); }).find("an HDF5 file") != std::string::npos);
  CHECK(refusal([] { return read_tensors(data_path("generate.py")); }).find("neither a .npy, a .npz nor") !=
        std::string::npos);
  CHECK(refusal([] { return parse_tensors(Bytes(), "x"); }).find("neither") != std::string::npos);
}

TEST_CASE("tensor file: the extension determines the format to write") {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors = {{"a", counting(DType::float32, {2, 3})},
                                            {"b", counting(DType::int32, {2})}};
  for (const auto& [name, kind] : {std::pair{"x.npz", FileKind::zip}, {"x.safetensors", FileKind::safetensors}}) {
    write_tensors(folder / name, tensors);
    CHECK(kind_of(read_file(folder / name)) == kind);
    const std::vector<NamedTensor> again = read_tensors(folder / name);
    check_counts(named(again, "a"), DType::float32, {2, 3});
    check_counts(named(again, "b"), DType::int32, {2});
  }
  write_tensors(folder / "x.npy", std::span(tensors).first(1));
  CHECK(kind_of(read_file(folder / "x.npy")) == FileKind::npy);
}

TEST_CASE("tensor file: an invalid extension or count is a usage error that leaves no file") {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors = {{"a", counting(DType::float32, {2})}, {"b", counting(DType::int32, {2})}};
  for (const char* name : {"x.txt", "x", "npz", ".npz", "x.npy"}) {
    CAPTURE(name);
    try {
      write_tensors(folder / name, tensors);
      FAIL("written");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::usage);
    }
  }
  CHECK(folder.names().empty());
  CHECK_THROWS_AS(check_tensor_path("x.txt"), Error);
  CHECK_NOTHROW(check_tensor_path("x.npy"));
}

TEST_CASE("keras archive: config, metadata and a view of the weights are read") {
  const Bytes file = data_file("model.keras");
  const KerasArchive archive = parse_keras_archive(file, "model.keras");
  CHECK(archive.config.starts_with("{\"module\": \"keras\", \"class_name\": \"Sequential\""));
  CHECK(archive.metadata.starts_with("{\"keras_version\": \"3.15.1\""));
  REQUIRE(archive.weights);
  CHECK(kind_of(*archive.weights) == FileKind::hdf5);
  CHECK(archive.weights->data().get() > file.data().get());
}

TEST_CASE("keras archive: an archive without a config, or with weights elsewhere, is rejected") {
  const TemporaryFolder folder;
  const auto archive_of = [&](std::initializer_list<const char*> names) {
    AtomicFile file(folder / "a");
    ZipWriter writer(file);
    for (const char* name : names) writer.add(name, {});
    writer.finish();
    file.commit();
    return read_file(folder / "a");
  };
  CHECK(!parse_keras_archive(archive_of({"config.json", "metadata.json"}), "x").weights);
  CHECK(refusal([&] { return parse_keras_archive(archive_of({"metadata.json"}), "x"); }) ==
        "x: not a .keras archive: it has no config.json");
  CHECK(refusal([&] {
          return parse_keras_archive(archive_of({"config.json", "metadata.json", "model.weights.json"}), "x");
        }).find("its weights are in model.weights.json") != std::string::npos);
  CHECK(refusal([] { return parse_keras_archive(bytes_of_text("{}"), "x"); }) == "x: not a zip archive");
}

}  // namespace
}  // namespace attn::io
