#include "attn/io/sha256.h"

#include <fstream>
#include <string>

#include "support.h"

namespace attn::io {

TEST_CASE("sha256: the examples of FIPS 180-4 have their hashes") {
  const auto of = [](const std::string& text) { return sha256(std::as_bytes(std::span(text.data(), text.size()))); };
  CHECK(of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(of(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256: a file has the hash of its bytes, and a missing one is reported") {
  const TemporaryFolder folder;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1} << 18, std::size_t{1'000'000}}) {
    const std::string text(size, 'a');
    std::ofstream(folder / "a", std::ios::binary) << text;
    CHECK(sha256_of_file(folder / "a") == sha256(std::as_bytes(std::span(text))));
  }
  CHECK(refusal([&] { static_cast<void>(sha256_of_file("no_such_file")); }) == "no_such_file: cannot be read");
}

}  // namespace attn::io
