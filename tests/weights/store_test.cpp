#include <algorithm>
#include <fstream>

#include "attn/io/hdf5.h"
#include "attn/io/tensor_file.h"
#include "attn/weights/read_store.h"
#include "keras_hdf5.h"
#include "shards.h"
#include "support.h"

namespace attn::weights {
namespace {

std::string shards_refusal(const std::string& index) {
  return refusal([&] { static_cast<void>(shard_names(index, "d/x.weights.json")); });
}

void write_text(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

io::Hdf5Object list(const std::string& attribute, std::vector<std::string> names) {
  return {{}, {{attribute, {std::move(names), true}}}};
}

io::Hdf5Object dataset() { return {Tensor(DType::float32, {1}), {}}; }

TEST_CASE("store: other contents of the file are kept separate from weights") {
  const Store store = read_store(data_path("model.weights.h5"));
  CHECK(store.naming == Naming::store_path);
  CHECK(store.weights.size() == 22);
  for (const NamedTensor& weight : store.weights) CHECK(weight.name.starts_with("layers/"));
  CHECK(store.state.size() == 42);

  io::Hdf5File contents;
  contents.objects["layers/dropout/seed_generator/vars/0"] = dataset();
  contents.objects["metrics/mean/vars/0"] = dataset();
  contents.objects["layers/metrics/vars/0"] = dataset();
  const Store kept = keras_store(contents, "f");
  CHECK(kept.state.size() == 2);
  REQUIRE(kept.weights.size() == 1);
  CHECK(kept.weights[0].name == "layers/metrics/vars/0");
}

TEST_CASE("store: the older .h5 keeps the order of its layers") {
  const Store store = read_store(data_path("model.h5"));
  CHECK(store.naming == Naming::layered);
  REQUIRE(store.layers.size() == 5);
  CHECK(store.layers[0].name == "attend");
  CHECK(store.layers[0].count == 8);
  CHECK(store.layers[2].name == "block");
  CHECK(store.weights.size() == 22);
  CHECK(store.weights[8].name == "norm/gamma");
}

TEST_CASE("store: lists of names may be split, and may be at the root") {
  io::Hdf5File contents;
  contents.objects[""] = list("layer_names0", {"b"});
  contents.objects[""].attributes["layer_names1"] = {{"a"}, true};
  contents.objects["a"] = list("weight_names", {"a/w:0"});
  contents.objects["b"] = list("weight_names", {"b/w:0"});
  contents.objects["a/a/w:0"] = contents.objects["b/b/w:0"] = dataset();
  const Store store = keras_store(contents, "f");
  REQUIRE(store.weights.size() == 2);
  CHECK(store.weights[0].name == "b/w:0");

  contents.objects.erase("a/a/w:0");
  CHECK(refusal([&] { static_cast<void>(keras_store(contents, "f")); }) ==
        "f: layer 'a' lists the weight 'a/w:0', which is not there");
  contents.objects.erase("a");
  CHECK(refusal([&] { static_cast<void>(keras_store(contents, "f")); }) ==
        "f: layer 'a' has no list of its weights (weight_names)");
}

TEST_CASE("store: an index of split weights names files in its own folder, and each is read once") {
  CHECK(shard_names(R"({"weight_map": {"/a": "x.h5", "/b": ["x.h5", "y.h5"], "/c": []}})", "d/x.weights.json") ==
        std::vector<std::string>{"x.h5", "y.h5"});
  CHECK(shard_names(R"({"weight_map": {"/a": "x.h5"}})", "x.weights.json") == std::vector<std::string>{"x.h5"});
  for (const char* name : {"../x.h5", "/etc/passwd", "a/b.h5", "..", ".", "", "a\\\\b", "a\\u0000b"}) {
    CAPTURE(name);
    CHECK(shards_refusal(R"({"weight_map": {"/a": ")" + std::string(name) + "\"}}")
              .find("is not the name of a file in the same folder") != std::string::npos);
  }
  CHECK(shards_refusal(R"({"weight_map": {"/a": 1}})") ==
        "d/x.weights.json: weight_map: a file's name must be a string");
  for (const char* index : {"", "[]", "{}", R"({"weight_map": []})", "\x89PNG"})
    CHECK(shards_refusal(index).starts_with("d/x.weights.json: holds no weights"));
  CHECK(shards_refusal("{") == "d/x.weights.json: not valid JSON at its byte 2");
  CHECK(shards_refusal(R"({"weight_map": {"/a": "x.h5", "/a": "y.h5"}})") ==
        "d/x.weights.json: the key '/a' occurs twice in one object");
}

TEST_CASE("store: a missing shard is an error that names it") {
  const TemporaryFolder folder;
  write_text(folder / "x.weights.json", R"({"weight_map": {"/a": "gone.h5"}})");
  CHECK(refusal([&] { static_cast<void>(read_store(folder / "x.weights.json")); }).find("gone.h5") !=
        std::string::npos);
}

TEST_CASE("store: a weight in two shards is rejected") {
  const TemporaryFolder folder;
  std::filesystem::copy_file(data_path("model.weights.h5"), folder / "a.h5");
  std::filesystem::copy_file(data_path("model.weights.h5"), folder / "b.h5");
  write_text(folder / "x.weights.json", R"({"weight_map": {"/a": ["a.h5", "b.h5"]}})");
  CHECK(refusal([&] {
          static_cast<void>(read_store(folder / "x.weights.json"));
        }).ends_with("is in more than one of its files"));
}

TEST_CASE("store: a single array has no name") {
  const TemporaryFolder folder;
  io::write_tensors(folder / "w.npy", std::vector<NamedTensor>{{"w", Tensor(DType::float32, {1})}});
  CHECK(refusal([&] {
          static_cast<void>(read_store(folder / "w.npy"));
        }).ends_with("a .npy file holds one array without a name; use .npz for weights"));
}

TEST_CASE("store: counters of random generators are not weights") {
  const TemporaryFolder folder;
  const Tensor one(DType::float32, {1});
  io::write_tensors(folder / "w.npz", std::vector<NamedTensor>{{"seed_generator_1/seed_generator_state", one},
                                                               {"a/seed_generator/seed_generator_state", one},
                                                               {"a/kernel", one}});
  const Store store = read_store(folder / "w.npz");
  REQUIRE(store.weights.size() == 1);
  CHECK(store.weights[0].name == "a/kernel");
  CHECK(store.state.size() == 2);
}

TEST_CASE("store: an index may name .safetensors") {
  const TemporaryFolder folder;
  const Tensor one(DType::float32, {1});
  io::write_tensors(folder / "1.safetensors", std::vector<NamedTensor>{{"a", one}});
  io::write_tensors(folder / "2.safetensors", std::vector<NamedTensor>{{"b", one}});
  write_text(folder / "x.json", R"({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})");
  const Store store = read_store(folder / "x.json");
  CHECK(store.naming == Naming::path);
  CHECK(store.weights.size() == 2);
  io::write_tensors(folder / "2.safetensors", std::vector<NamedTensor>{{"a", one}});
  CHECK(refusal([&] {
          static_cast<void>(read_store(folder / "x.json"));
        }).ends_with("the weight 'a' is in more than one of its files"));
}

TEST_CASE("store: a .safetensors file without a whole header is an error about safetensors, also as a shard") {
  const TemporaryFolder folder;
  const std::string index = R"({"weight_map": {"a": "x.safetensors"}})";
  folder.file("model.safetensors.index.json", index);
  for (const std::string& text : {std::string("\x10\0\0", 3), std::string("{}"), index}) {
    CAPTURE(text);
    const std::string path = folder.file("x.safetensors", text);
    for (const std::string& opened : {path, folder / "model.safetensors.index.json"}) {
      const std::string message = refusal([&] { static_cast<void>(read_store(opened)); });
      CHECK_MESSAGE(message.find("x.safetensors") != std::string::npos, message);
      CHECK_MESSAGE(message.find("HDF5") == std::string::npos, message);
    }
  }
}

TEST_CASE("store: a pointer of Git LFS is rejected with the command that gets the file") {
  const TemporaryFolder folder;
  const std::string path =
      folder.file("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n");
  CHECK(refusal([&] { static_cast<void>(read_store(path)); }).find("git lfs pull") != std::string::npos);
}

TEST_CASE("store: a Python pickle is rejected with the way out") {
  const TemporaryFolder folder;
  write_text(folder / "old.bin", "\x80\x02}q\x01.");
  write_text(folder / "new.pt", std::string("PK\3\4") + std::string(26, '\0') + "archive/data.pkl");
  for (const char* name : {"old.bin", "new.pt"}) {
    CHECK(refusal([&] {
            static_cast<void>(read_store(folder / name));
          }).find("a Python pickle, which cannot be read without running it; save the weights") != std::string::npos);
  }
}

TEST_CASE("store: a .safetensors file is recognized whatever byte its header size begins with") {
  const TemporaryFolder folder;
  const std::string path = folder / "w.safetensors";
  // Files with headers of 640 and 1,152 bytes begin like pickles.
  for (std::size_t length = 512; length < 1152; length += 8) {
    const std::vector<NamedTensor> arrays = {{std::string(length, 'a'), Tensor(DType::float32, {1})}};
    io::write_tensors(path, arrays);
    CHECK(read_store(path).weights.size() == 1);
  }
}

}  // namespace
}  // namespace attn::weights
