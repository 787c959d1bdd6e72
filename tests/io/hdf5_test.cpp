#include "attn/io/hdf5.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "attn/io/keras_archive.h"
#include "support.h"

namespace attn::io {
namespace {

const Hdf5Object& at(const Hdf5File& file, const std::string& path) {
  const auto found = file.objects.find(path);
  REQUIRE_MESSAGE(found != file.objects.end(), path);
  return found->second;
}

const Tensor& tensor_at(const Hdf5File& file, const std::string& path) {
  const Hdf5Object& object = at(file, path);
  REQUIRE_MESSAGE(object.tensor, path);
  return *object.tensor;
}

const std::vector<std::string>& text_at(const Hdf5File& file, const std::string& path, const std::string& name) {
  const auto& attributes = at(file, path).attributes;
  REQUIRE_MESSAGE(attributes.contains(name), path);
  return attributes.find(name)->second.values;
}

void check_keras_weights(const Hdf5File& file) {
  CHECK(text_at(file, "layers/dense/vars", "name") == std::vector<std::string>{"a"});
  CHECK(text_at(file, "layers/dense_2/vars", "name") == std::vector<std::string>{"c"});
  check_counts(tensor_at(file, "layers/dense/vars/0"), DType::bfloat16, {3, 2});
  check_counts(tensor_at(file, "layers/dense/vars/1"), DType::bfloat16, {2});
  check_counts(tensor_at(file, "layers/dense_1/vars/0"), DType::float16, {2, 2});
  check_counts(tensor_at(file, "layers/dense_2/vars/0"), DType::float32, {2, 2});
  CHECK(!at(file, "layers/dropout/vars").tensor);
}

TEST_CASE("hdf5: weights of a Keras model are read without copies, from a file or an archive") {
  const Bytes file = data_file("model.weights.h5");
  const Hdf5File weights = read_hdf5(file, "model.weights.h5");
  check_keras_weights(weights);
  const std::byte* data = tensor_at(weights, "layers/dense_2/vars/0").data();
  CHECK(data > file.data().get());
  CHECK(data < file.data().get() + file.size());
  check_keras_weights(read_hdf5(*parse_keras_archive(data_file("model.keras"), "").weights, "model.keras"));
}

TEST_CASE("hdf5: bytes in memory are read too") {
  check_keras_weights(read_hdf5(Bytes::copy_of(data_file("model.weights.h5").span()), ""));
}

TEST_CASE("hdf5: the older .h5 layout with its lists of names is read") {
  const Hdf5File file = read_hdf5(data_file("legacy.h5"), "legacy.h5");
  CHECK(text_at(file, "", "keras_version") == std::vector<std::string>{"3.15.1"});
  CHECK(text_at(file, "", "model_config").front().starts_with("{\"class_name\": \"Sequential\""));
  CHECK(text_at(file, "model_weights", "layer_names") == std::vector<std::string>{"a", "dropout", "b", "c"});
  CHECK(text_at(file, "model_weights/dropout", "weight_names").empty());
  CHECK(at(file, "model_weights/dropout").attributes.find("weight_names")->second.is_list);
  const std::vector<std::string> names = text_at(file, "model_weights/a", "weight_names");
  REQUIRE(names.size() == 2);
  check_counts(tensor_at(file, "model_weights/a/" + names[0]), DType::bfloat16, {3, 2});
}

TEST_CASE("hdf5: every type and layout of h5py, and its strings, are read") {
  const Hdf5File file = read_hdf5(data_file("types.h5"), "types.h5");
  for (const DType dtype : kAllTypes) {
    if (dtype != DType::bfloat16) check_counts(tensor_at(file, std::string(name_of(dtype))), dtype, {2, 3});
  }
  check_counts(tensor_at(file, "float32_big_endian"), DType::float32, {2, 3});
  check_counts(tensor_at(file, "int16_big_endian"), DType::int16, {2, 3});
  check_counts(tensor_at(file, "scalar"), DType::float32, {});
  check_counts(tensor_at(file, "empty"), DType::float32, {0, 3});
  check_counts(tensor_at(file, "deflated"), DType::float32, {40, 30});
  check_counts(tensor_at(file, "compact"), DType::float32, {3});
  CHECK(tensor_at(file, "never_written").at(3) == 0.0);
  CHECK(text_at(file, "", "fixed") == std::vector<std::string>{"one"});
  CHECK(text_at(file, "", "fixed_list") == std::vector<std::string>{"one", "three"});
  CHECK(text_at(file, "", "text") == std::vector<std::string>{"\u00e9"});
  CHECK(!at(file, "").attributes.contains("number"));
}

TEST_CASE("hdf5: links, external data, other types, other filters and bombs are rejected by name") {
  const std::pair<const char*, const char*> cases[] = {
      {"soft_link", "/link: a link to another place"},
      {"external_link", "/link: a link to another place"},
      {"hard_link", "/link: the same object under two names"},
      {"cycle", "/group/up: the same object under two names"},
      {"external_storage", "/outside: its data is in another file"},
      {"virtual", "/virtual: its data is in other datasets"},
      {"strings", "/strings: its elements are neither numbers nor bools"},
      {"compound", "/compound: its elements are neither numbers nor bools"},
      {"reference", "/reference: its elements are neither numbers nor bools"},
      {"complex", "/complex: its elements are neither numbers nor bools"},
      {"float8", "/float8: its elements are neither numbers nor bools"},
      {"lzf", "/lzf: packed with filter 32000"},
      {"bomb", "/bomb: 0 bytes would become 1099511627776"},
      {"chunked_bomb", "/bomb: 0 bytes would become 1099511627776"},
      {"large_chunk", "/chunk: its chunks are larger than the file"}};
  for (const auto& row : cases) {
    const std::string name = row.first;
    CAPTURE(name);
    const Bytes file = data_file("refused_" + name + ".h5");
    CHECK(refusal([&] { return read_hdf5(file, name); }).starts_with(name + ": " + row.second));
  }
}

TEST_CASE("hdf5: a file that is not HDF5 is rejected") {
  for (const char* text : {"", "x", "\x89HDF\r\n\x1a\n", "{\"class_name\": \"Functional\"}"}) {
    CHECK(refusal([&] { return read_hdf5(bytes_of_text(text), "x"); }) == "x: not an HDF5 file, or damaged");
  }
}

TEST_CASE("hdf5: prefixes are rejected, and flipped bits are read or rejected") {
  // A process for each takes milliseconds, so only a sample is tested.
  const std::string text(data_file("model.weights.h5").text());
  for (std::size_t size = 0; size < text.size(); size += 997) {
    CAPTURE(size);
    CHECK(!is_accepted([&] { return read_hdf5(bytes_of_text(text.substr(0, size)), "x"); }));
  }
  std::string flipped = text;
  for (std::size_t bit = 0; bit < text.size() * 8; bit += 499) {
    const auto mask = static_cast<char>(1 << (bit % 8));
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ mask);
    is_accepted([&] { return read_hdf5(bytes_of_text(flipped), "x"); });
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ mask);
  }
}

TEST_CASE("hdf5: a written file reads back equal, and equal contents give equal bytes") {
  const TemporaryFolder folder;
  Hdf5File file;
  file.objects[""].attributes["keras_version"] = {{"3.15.1"}, false};
  file.objects["layers/dense/vars"].attributes["name"] = {{"\u00e9"}, false};
  file.objects["layers/empty"];
  file.objects["names"].attributes = {{"layer_names", {{"one", "two"}, true}}, {"weight_names", {{}, true}}};
  for (const DType dtype : kAllTypes) {
    file.objects["types/" + std::string(name_of(dtype))].tensor = counting(dtype, {2, 3});
  }
  file.objects["scalar"].tensor = counting(DType::float64, {});
  file.objects["no_elements"].tensor = counting(DType::float32, {0, 3});
  file.objects["large"].tensor = counting(DType::float32, {300, 400});
  for (const char* name : {"a.h5", "b.h5"}) {
    AtomicFile out(folder / name);
    write_hdf5(out, file);
    out.commit();
  }
  const Bytes written = read_file(folder / "a.h5");
  CHECK(written.text() == read_file(folder / "b.h5").text());

  const Hdf5File again = read_hdf5(written, "a.h5");
  CHECK(again.objects.contains("layers/dense"));
  CHECK(text_at(again, "types/bfloat16", "dtype") == std::vector<std::string>{"bfloat16"});
  for (const auto& entry : file.objects) {
    const std::string& path = entry.first;
    const Hdf5Object& object = entry.second;
    CAPTURE(path);
    const Hdf5Object& other = at(again, path);
    CHECK(other.tensor.has_value() == object.tensor.has_value());
    if (object.tensor) check_counts(*other.tensor, object.tensor->dtype(), object.tensor->shape());
    for (const auto& [name, text] : object.attributes) {
      CHECK(text_at(again, path, name) == text.values);
      CHECK(other.attributes.find(name)->second.is_list == text.is_list);
    }
  }
}

TEST_CASE("hdf5: contents that cannot be written are rejected and leave no file") {
  const TemporaryFolder folder;
  Hdf5File file;
  file.objects["a"].tensor = counting(DType::float32, {1 << 20});
  file.objects["a/b"].tensor = counting(DType::float32, {1 << 20});
  AtomicFile out(folder / "a.h5");
  CHECK(refusal([&] { write_hdf5(out, file); }).find("/a/b") != std::string::npos);
}

/// A program in place of attn-hdf5, for the length of a test.
class InsteadOfHdf5 {
 public:
  explicit InsteadOfHdf5(const std::string& script) {
    const std::string path = folder_ / "program";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    ::setenv("ATTN_HDF5", path.c_str(), 1);
  }
  InsteadOfHdf5(const InsteadOfHdf5&) = delete;
  InsteadOfHdf5& operator=(const InsteadOfHdf5&) = delete;
  ~InsteadOfHdf5() { ::unsetenv("ATTN_HDF5"); }

 private:
  TemporaryFolder folder_;
};

std::string refusal_with(const std::string& script) {
  const InsteadOfHdf5 program(script);
  return refusal([] { return read_hdf5(data_file("types.h5"), "x"); });
}

TEST_CASE("hdf5: a crash of the reader process is an error and does not end attn") {
  CHECK(refusal_with("kill -SEGV $$") == "x: not a readable HDF5 file (the HDF5 library was stopped by signal 11)");
  CHECK(refusal_with("exit 7") == "x: not a readable HDF5 file (the HDF5 library ended with status 7)");
}

TEST_CASE("hdf5: all data from the reader process is checked") {
  const auto nonsense = [](const std::string& answer) {
    CAPTURE(answer);
    return refusal_with("printf '" + answer + "' >&0").find("makes no sense") != std::string::npos;
  };
  CHECK(nonsense("x"));
  CHECK(nonsense("A"));                                                             // an attribute of nothing
  CHECK(nonsense("G\\377\\377\\377\\377"));                                         // a name of 4 GiB
  CHECK(nonsense("D\\1\\0\\0\\0a\\77\\0"));                                         // an unknown dtype
  CHECK(nonsense("D\\1\\0\\0\\0a\\0\\77"));                                         // 63 dimensions
  CHECK(nonsense("D\\1\\0\\0\\0a\\0\\1\\377\\377\\377\\377\\377\\377\\377\\377"));  // a dimension of 2^64 - 1
  CHECK(nonsense("D\\1\\0\\0\\0a\\0\\1\\0\\0\\0\\0\\20\\0\\0\\0\\1"));              // 2^36 elements to come
  CHECK(refusal_with(
            "printf 'D\\1\\0\\0\\0a\\0\\1\\1\\0\\0\\0\\0\\0\\0\\0\\0\\377\\377\\377\\377\\377\\377\\377\\377' >&0")
            .find("are not all in the file") != std::string::npos);
  CHECK(refusal_with("printf 'G\\1\\0\\0\\0aG\\1\\0\\0\\0a' >&0").find("/a occurs twice") != std::string::npos);
  CHECK(refusal_with("printf 'E\\4\\0\\0\\0a\\033[m' >&0") == "x: a\\u{1b}[m");
}

TEST_CASE("hdf5: the library's version is reported, and a wrong program is detected") {
  CHECK(hdf5_version().starts_with("1."));
  const TemporaryFolder folder;
  const auto stand_in = [&](const std::string& name, std::string_view script) {
    std::ofstream(folder / name) << script;
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
    ::setenv("ATTN_HDF5", (folder / name).c_str(), 1);
  };
  stand_in("other", "#!/bin/sh\necho 2.0\n");
  CHECK(refusal([] { return hdf5_version(); }) == "attn-hdf5 answers '2.0\\u{a}' where its version is expected");
  stand_in("silent", "#!/bin/sh\n");
  CHECK(refusal([] { return hdf5_version(); }) == (folder / "silent") + " does not answer");
  CHECK(refusal([] { return read_hdf5(data_file("types.h5"), "x"); }) ==
        "x: not a readable HDF5 file (the HDF5 library ended with status 0)");
  ::unsetenv("ATTN_HDF5");
}

TEST_CASE("hdf5: a missing program is an error with its name") {
  ::setenv("ATTN_HDF5", "/nowhere/attn-hdf5", 1);
  CHECK(refusal([] { return read_hdf5(data_file("types.h5"), "x"); }) ==
        "HDF5 files need /nowhere/attn-hdf5: No such file or directory");
  ::unsetenv("ATTN_HDF5");
}

}  // namespace
}  // namespace attn::io
