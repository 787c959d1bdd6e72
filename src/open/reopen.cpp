#include "attn/open/reopen.h"

#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/model_file.h"
#include "attn/open/weights.h"
#include "attn/weights/bind.h"
#include "attn/weights/read_store.h"
#include "attn/weights/save.h"

namespace attn::open {
namespace {

/// Returns the message of an error about the hidden file, with the name that the file was to get.
std::string renamed(std::string message, const std::string& written, const std::string& path) {
  const std::string from = printable(written), to = printable(path);
  for (std::size_t at = message.find(from); at != std::string::npos; at = message.find(from, at + to.size()))
    message.replace(at, from.size(), to);
  return message;
}

template <typename Read>
void expect_readable(const std::string& path, const std::string& written, Read&& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input) throw;
    throw bad_input("{}: not written, because it could not be opened again: {}", printable(path),
                    renamed(error.what(), written, path));
  }
}

}  // namespace

std::function<void(const std::string&)> reopens(const std::string& path, std::span<const graph::WeightSpec> specs) {
  const bool has_config = weights::holds_config(path);
  return [path, has_config, own = std::vector(specs.begin(), specs.end())](const std::string& written) {
    expect_readable(path, written, [&] {
      const auto wanted = has_config ? read_model(read_model_file(written)).weights() : own;
      const weights::Store store = weights::read_store(written);
      weights::check_bound(weights::without_absent_factors(wanted, store), store);
    });
  };
}

void check_reopens(const std::string& path, const std::string& written) {
  expect_readable(path, written, [&] {
    const keras::Model model = read_model(read_model_file(written));
    const WantedWeights wanted = wanted_weights(model);
    weights::check_bound(wanted.specs, read_weights(wanted, written));
  });
}

}  // namespace attn::open
