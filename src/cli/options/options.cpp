#include "options/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <type_traits>

namespace attn::cli {

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::above_zero() const {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Option Option::not_negative() const {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

Option Option::between(int from, int to) const {
  option_->check(CLI::Range(from, to));
  return *this;
}

Option Option::between(double from, double to) const {
  option_->check(CLI::Range(from, to));
  return *this;
}

Option Option::one_of(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option Option::words(int count) const {
  option_->expected(count);
  return *this;
}

Option Option::list() const {
  option_->delimiter(',');
  return *this;
}

Option Option::repeatable() const {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::without_variable() const {
  option_->configurable(false);
  return *this;
}

Option Option::needs(const Option& other) const {
  option_->needs(other.option_);
  return *this;
}

Option Options::grouped(CLI::Option* option) const {
  option->group(std::string(option_groups()[static_cast<std::size_t>(group_)]));
  return Option(option);
}

template <typename Value>
Option Options::add(const std::string& names, Value& value, const std::string& kind, const std::string& description) {
  return grouped(app_.add_option(names, value, description)->type_name(kind));
}

template Option Options::add(const std::string&, std::string&, const std::string&, const std::string&);
template Option Options::add(const std::string&, std::optional<std::string>&, const std::string&, const std::string&);
template Option Options::add(const std::string&, std::vector<std::string>&, const std::string&, const std::string&);
template Option Options::add(const std::string&, int&, const std::string&, const std::string&);
template Option Options::add(const std::string&, std::optional<int>&, const std::string&, const std::string&);
template Option Options::add(const std::string&, std::int64_t&, const std::string&, const std::string&);
template Option Options::add(const std::string&, std::optional<std::int64_t>&, const std::string&, const std::string&);
template Option Options::add(const std::string&, std::uint64_t&, const std::string&, const std::string&);
template Option Options::add(const std::string&, double&, const std::string&, const std::string&);
template Option Options::add(const std::string&, std::optional<double>&, const std::string&, const std::string&);

template <typename Value>
Option Options::output(const std::string& names, Value& value, const std::string& kind,
                       const std::string& description) {
  const bool is_folder = kind == "FOLDER" || kind == "DIR";
  outputs_.emplace_back([&value, is_folder]() -> std::optional<OutputPath> {
    if constexpr (std::is_same_v<Value, std::string>) {
      return OutputPath{value, is_folder};
    } else {
      return value ? std::optional(OutputPath{*value, is_folder}) : std::nullopt;
    }
  });
  CLI::Option* const option = app_.add_option(names, value, description)->type_name(kind);
  output_options_.push_back(option);
  return Option(option);
}

template Option Options::output(const std::string&, std::string&, const std::string&, const std::string&);
template Option Options::output(const std::string&, std::optional<std::string>&, const std::string&,
                                const std::string&);

Options::Outputs Options::outputs() const {
  return [all = outputs_] {
    std::vector<OutputPath> out;
    for (const auto& each : all)
      if (auto path = each()) out.push_back(*std::move(path));
    return out;
  };
}

Options::Inputs Options::inputs() const {
  return [&app = app_, outputs = output_options_] {
    std::vector<std::string> out;
    for (const CLI::Option* const option : app.get_options()) {
      if (!names_a_file(option->get_type_name()) || std::ranges::find(outputs, option) != outputs.end()) continue;
      for (const std::string& value : option->results()) out.push_back(value);
    }
    return out;
  };
}

Option Options::flag(const std::string& names, bool& value, const std::string& description) {
  return grouped(app_.add_flag(names, value, description));
}

Option Options::flag(const std::string& names, std::function<void()> given, const std::string& description) {
  return grouped(app_.add_flag_callback(names, std::move(given), description));
}

Option Options::parsed(const std::string& names, const std::function<void(const std::string&)>& take,
                       const std::string& kind, const std::string& description) {
  return grouped(app_.add_option_function<std::string>(names, take, description)->type_name(kind));
}

void Options::when_parsed(std::function<void()> then) { app_.parse_complete_callback(std::move(then)); }

Program Options::program() const { return Program(app_.get_parent() == nullptr ? app_ : *app_.get_parent()); }

}  // namespace attn::cli
