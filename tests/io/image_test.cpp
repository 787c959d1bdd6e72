#include "attn/io/image.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "attn/io/array_file.h"
#include "support.h"

namespace attn::io {
namespace {

/// An image that tests/oracle/make_image_cases.py has written.
std::string image_path(const std::string& name) { return test::in_repository("tests/data/images/" + name); }

/// A program in place of attn-image, for the length of a test.
class InsteadOfImage {
 public:
  explicit InsteadOfImage(const std::string& script) {
    const std::string path = folder_ / "program";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    ::setenv("ATTN_IMAGE", path.c_str(), 1);
  }
  InsteadOfImage(const InsteadOfImage&) = delete;
  InsteadOfImage& operator=(const InsteadOfImage&) = delete;
  ~InsteadOfImage() { ::unsetenv("ATTN_IMAGE"); }

 private:
  TemporaryFolder folder_;
};

TEST_CASE("image: every kind of JPEG and PNG has the pixels that Pillow reads") {
  const Arrays expected = read_arrays(image_path("pixels.npz"));
  REQUIRE(expected.tensors.size() >= 45);
  for (const NamedTensor& array : expected.tensors) {
    CAPTURE(array.name);
    const Tensor pixels = read_image(image_path(array.name));
    CHECK(pixels.dtype() == DType::uint8);
    REQUIRE(pixels.shape() == array.tensor.shape());
    CHECK(std::memcmp(pixels.data(), array.tensor.data(), static_cast<std::size_t>(pixels.bytes())) == 0);
  }
}

TEST_CASE("image: bytes in memory are decoded too") {
  const Tensor pixels = decode_image(Bytes::copy_of(read_file(image_path("wide.png")).span()), "x");
  CHECK(pixels.shape() == Shape{9, 40, 3});
}

TEST_CASE("image: files that are not images, too large, damaged or truncated are rejected in one sentence") {
  const std::string most = "; at most 67108864 are allowed";
  const std::map<std::string, std::string> reasons = {
      {"bomb.png", "the image has 60000 by 60000 pixels" + most},
      {"checksum.png", "a damaged PNG image: "},
      {"cut.jpg", "a damaged JPEG image: Premature end of JPEG file"},
      {"cut.png", "a damaged PNG image: "},
      {"cut_header.jpg", "a damaged JPEG image: Premature end of JPEG file"},
      {"cut_progressive.jpg", "a damaged JPEG image: Premature end of JPEG file"},
      {"empty.png", "the file is empty"},
      {"no_palette.png", "a damaged PNG image: "},
      {"precision.jpg", "a damaged JPEG image: Unsupported JPEG data precision 12"},
      {"signature.png", "a damaged PNG image: "},
      {"text.jpg", "not a JPEG or PNG image, or damaged"},
      {"wide.jpg", "the image has 65000 by 65000 pixels" + most},
      {"wide.png", "the image has 30000 by 30000 pixels" + most},
      {"wide_and_empty.png", "a damaged PNG image: "},
      {"x.bmp", "a BMP image; convert it to JPEG or PNG"},
      {"x.gif", "a GIF image; convert it to JPEG or PNG"},
      {"x.webp", "a WebP image; convert it to JPEG or PNG"},
  };
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(image_path("refused"))) {
    const std::string path = entry.path(), name = entry.path().filename();
    CAPTURE(name);
    REQUIRE(reasons.contains(name));
    CHECK(refusal([&] { return read_image(path); }).starts_with(path + ": " + reasons.at(name)));
    ++seen;
  }
  CHECK(seen == reasons.size());
}

TEST_CASE("image: prefixes and flipped bits are decoded or rejected") {
  for (const char* name : {"rgb_420.jpg", "progressive.jpg", "palette_4_interlaced.png", "rgba_16.png"}) {
    CAPTURE(name);
    const Bytes file = read_file(image_path(name));
    const std::string text(file.text());
    for (std::size_t size = 1; size < text.size() - 40; size += text.size() / 12)
      CHECK(!is_accepted([&] { return decode_image(bytes_of_text(text.substr(0, size)), "x"); }));
    for (std::size_t bit = 0; bit < 8 * text.size(); bit += text.size() / 4 + 1) {
      std::string flipped = text;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << (bit % 8));
      is_accepted([&] { return decode_image(bytes_of_text(flipped), "x"); });
    }
  }
}

TEST_CASE("image: a crash of the decoder process is an error and does not end attn") {
  const auto refusal_with = [](const std::string& script) {
    const InsteadOfImage program(script);
    return refusal([] { return read_image(image_path("wide.png")); });
  };
  const std::string file = image_path("wide.png") + ": ";
  CHECK(refusal_with("kill -SEGV $$") ==
        file + "not a readable image file (the image library was stopped by signal 11)");
  CHECK(refusal_with("exit 7") == file + "not a readable image file (the image library ended with status 7)");
  ::setenv("ATTN_IMAGE", "/nowhere/attn-image", 1);
  CHECK(refusal([] { return read_image(image_path("wide.png")); }) ==
        "image files need /nowhere/attn-image: No such file or directory");
  ::unsetenv("ATTN_IMAGE");
}

TEST_CASE("image: all data from the decoder process is checked") {
  const auto refusal_with = [](const std::string& answer) {
    const InsteadOfImage program("printf '" + answer + "' >&0");
    return refusal([] { return read_image(image_path("wide.png")); });
  };
  const std::string one = "S\\1\\0\\0\\0\\1\\0\\0\\0";  // one pixel
  for (const std::string& answer :
       {std::string("x"), std::string("R"), std::string("Z"),
        std::string("S\\0\\0\\0\\0\\1\\0\\0\\0"),  // no rows
        std::string("S\\0\\0\\1\\0\\1\\4\\0\\0"),  // 2^26 + 2^16 pixels
        std::string("S\\377\\377\\377\\377\\377\\377\\377\\377"), one + "Z", one + "RabcRabc", one + "RabcS"}) {
    CAPTURE(answer);
    CHECK(refusal_with(answer).find("makes no sense") != std::string::npos);
  }
  CHECK(refusal_with("E\\4\\0\\0\\0a\\033[m") == image_path("wide.png") + ": a\\u{1b}[m");
  const InsteadOfImage program("printf '" + one + "RabcZ' >&0");
  CHECK(read_image(image_path("wide.png")).at(1) == 'b');
}

TEST_CASE("image: the libraries' versions are reported") { CHECK(image_version().starts_with("libjpeg-turbo ")); }

}  // namespace
}  // namespace attn::io
