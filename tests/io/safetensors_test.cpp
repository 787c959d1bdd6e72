#include "attn/io/safetensors.h"

#include "support.h"

namespace attn::io {
namespace {

Bytes file_of(std::string_view header, std::size_t data) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>((header.size() >> (8 * i)) & 0xFF);
  return bytes_of_text(text.append(header).append(data, '\0'));
}

std::string refusal_of(std::string_view header, std::size_t data = 8) {
  return refusal([&] { return parse_safetensors(file_of(header, data), "x"); });
}

bool refused_for(std::string_view header, std::string_view reason, std::size_t data = 8) {
  const std::string message = refusal_of(header, data);
  CAPTURE(message);
  return message.starts_with("x: ") && message.find(reason) != std::string::npos;
}

TEST_CASE("safetensors: the library's files are read without copies if they are aligned") {
  const Bytes file = data_file("all.safetensors");
  const std::vector<NamedTensor> tensors = parse_safetensors(file, "all.safetensors");
  CHECK(tensors.size() == 14);
  for (const DType dtype : kAllTypes) check_counts(named(tensors, name_of(dtype)), dtype, {2, 3});
  check_counts(named(tensors, "empty"), DType::float32, {0});
  const std::byte* data = named(tensors, "float64").data();
  CHECK(data > file.data().get());
  CHECK(data < file.data().get() + file.size());
}

TEST_CASE("safetensors: written tensors read back equal, with the same bytes for any order") {
  const TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  for (const DType dtype : kAllTypes)
    tensors.push_back({"a\"\\\u00e9\n/" + std::string(name_of(dtype)), counting(dtype, {3, 1})});
  tensors.push_back({"scalar", counting(DType::int8, {})});
  tensors.push_back({"", counting(DType::int8, {0, 2})});
  {
    AtomicFile file(folder / "a");
    write_safetensors(file, tensors);
    file.commit();
    std::swap(tensors.front(), tensors.back());
    AtomicFile other(folder / "b");
    write_safetensors(other, tensors);
    other.commit();
  }
  const Bytes file = read_file(folder / "a");
  CHECK(file.text() == read_file(folder / "b").text());
  const std::vector<NamedTensor> again = parse_safetensors(file, "a");
  REQUIRE(again.size() == tensors.size());
  for (const NamedTensor& tensor : tensors)
    check_counts(named(again, tensor.name), tensor.tensor.dtype(), tensor.tensor.shape());
  for (const NamedTensor& tensor : again) {
    if (tensor.tensor.size() > 0) CHECK(tensor.tensor.data() > file.data().get());
  }
}

TEST_CASE("safetensors: names that the format cannot store are rejected on writing") {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a");
  const Tensor tensor = counting(DType::float32, {1});
  CHECK(refusal([&] {
          write_safetensors(file, std::vector<NamedTensor>{{"\xff", tensor}});
        }).find("cannot hold") != std::string::npos);
  CHECK(refusal([&] {
          write_safetensors(file, std::vector<NamedTensor>{{"__metadata__", tensor}});
        }).find("cannot hold") != std::string::npos);
  CHECK(refusal([&] {
          write_safetensors(file, std::vector<NamedTensor>{{"a", tensor}, {"a", tensor}});
        }).find("two arrays") != std::string::npos);
}

TEST_CASE("safetensors: a header with anything else is rejected") {
  const auto accepted = [](std::string_view header, std::size_t data) {
    return is_accepted([&] { return parse_safetensors(file_of(header, data), "x"); });
  };
  CHECK(accepted(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8));
  CHECK(accepted(R"({"__metadata__":{"k":"v"},"a":{"data_offsets":[0,8],"shape":[],"dtype":"I64"}}  )", 8));
  CHECK(accepted("{}", 0));

  CHECK(refused_for("", "does not begin"));
  CHECK(refused_for(" {}", "does not begin", 0));
  CHECK(refused_for("[]", "does not begin", 0));
  CHECK(refused_for("{", "not valid JSON"));
  CHECK(refused_for("{}x", "not valid JSON", 0));
  CHECK(refused_for("{}{}", "not valid JSON", 0));
  CHECK(refused_for(std::string_view("{}\0x", 4), "null character", 0));
  CHECK(refused_for("{\"\xff\":1}", "not valid JSON", 0));
  CHECK(refused_for("{}", "8 bytes of data"));
  CHECK(refused_for(R"({"a":1})", "a number"));
  CHECK(refused_for(R"({"a":{}})", "lacks one"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":[2]}})", "lacks one"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", "unknown key"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "twice"));
  CHECK(refused_for(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      "twice"));
  CHECK(refused_for(R"({"__metadata__":{"k":"v","k":"v"}})", "twice"));
  CHECK(refused_for(R"({"__metadata__":{},"__metadata__":{}})", "twice"));
  CHECK(refused_for(R"({"__metadata__":{"k":1}})", "a number"));
  CHECK(refused_for(R"({"__metadata__":{"k":{}}})", "an object"));
  CHECK(refused_for(R"({"__metadata__":"k"})", "a string"));
  CHECK(refused_for(R"({"__metadata__":null})", "null"));
  CHECK(refused_for(R"({"a":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})", "accepted are"));
  CHECK(refused_for(R"({"a":{"dtype":"f32","shape":[2],"data_offsets":[0,8]}})", "accepted are"));
  CHECK(refused_for(R"({"a":{"dtype":["F32"],"shape":[2],"data_offsets":[0,8]}})", "an array"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", "a number"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", "an array"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", "not an integer"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "negative"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":[true],"data_offsets":[0,8]}})", "a boolean"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})", "a string"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", "two data_offsets"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})", "too many"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "a hole or an overlap"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "a hole or an overlap"));
  CHECK(refused_for(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      "a hole or an overlap"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "is not what"));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "9 bytes of data", 9));
  CHECK(refused_for(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "7 bytes of data", 7));
  CHECK(refused_for(R"({"a":{"dtype":"BOOL","shape":[8],"data_offsets":[0,8]})", "not valid JSON"));
}

TEST_CASE("safetensors: shapes larger than any file and deep nesting are rejected") {
  for (const char* shape : {"4294967296,4294967296", "9223372036854775807,2", "18446744073709551615,2",
                            "18446744073709551616", "2305843009213693954,8", "0,4611686018427387904,4"}) {
    CAPTURE(shape);
    const std::string header = R"({"a":{"dtype":"F32","shape":[)" + std::string(shape) + R"(],"data_offsets":[0,8]}})";
    CHECK(!is_accepted([&] { return parse_safetensors(file_of(header, 8), "x"); }));
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
  CHECK(!is_accepted([&] { return parse_safetensors(file_of(deep, 0), "x"); }));
  CHECK(!is_accepted([&] { return parse_safetensors(file_of("{\"a\":" + std::string(100'000, '['), 0), "x"); }));
}

TEST_CASE("safetensors: a header size beyond the file or the limit is rejected") {
  std::string text(8, '\xff');
  CHECK(refusal([&] { return parse_safetensors(bytes_of_text(text + "{}"), "x"); }).find("at most 100000000") !=
        std::string::npos);
  CHECK(
      !is_accepted([&] { return parse_safetensors(bytes_of_text(std::string_view("\3\0\0\0\0\0\0\0{}", 10)), "x"); }));
}

TEST_CASE("safetensors: every prefix is rejected, and every flipped bit is read or rejected") {
  const auto parse = [](const Bytes& file) { return parse_safetensors(file, "x"); };
  const Bytes file = data_file("all.safetensors");
  check_prefixes_are_refused(file.text(), parse);
  // Flips in names and metadata, and from one dtype into another of its width, stay valid.
  const int accepted = count_accepted_flips(file.text(), file.text().size(), parse);
  CHECK(accepted > 0);
  CHECK(accepted < static_cast<int>(file.text().size() * 8));
}

}  // namespace
}  // namespace attn::io
