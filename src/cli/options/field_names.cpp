#include "options/field_names.h"

#include <algorithm>
#include <array>

namespace attn::cli {
namespace {

struct Field {
  std::string_view name, option;
};
constexpr std::array kFields = {Field{"batch", "--batch"},
                                Field{"ids", "--ids"},
                                Field{"inputs", "--input"},
                                Field{"memory_limit", "--mem-limit"},
                                Field{"scores", "--scores"},
                                Field{"sequence_length", "--seq-len"},
                                Field{"skip_padding", "--skip-padding"}};

}  // namespace

std::string option_name(std::string_view field) {
  const auto known = std::ranges::find(kFields, field, &Field::name);
  if (known != kFields.end()) return std::string(known->option);
  std::string name = "--" + std::string(field);
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string with_option_names(std::string_view message) {
  std::string out;
  while (true) {
    const std::size_t begin = message.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : message.find('`', begin + 1);
    if (end == std::string_view::npos) return out.append(message);
    const std::string_view word = message.substr(begin + 1, end - begin - 1);
    if (std::ranges::find(kFields, word, &Field::name) != kFields.end()) {
      out.append(message.substr(0, begin)).append(option_name(word));
      message.remove_prefix(end + 1);
    } else {  // the second may open another
      out.append(message.substr(0, end));
      message.remove_prefix(end);
    }
  }
}

}  // namespace attn::cli
