#include "attn/train/table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "attn/base/error.h"
#include "attn/base/parse_number.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/number_table.h"

namespace attn::train {
namespace {

using Columns = std::vector<std::int64_t>;

io::NumberTable read(const std::string& file) { return io::read_number_table(io::read_file(file).text(), file); }

double cell(const io::NumberTable& table, std::int64_t row, std::int64_t column) {
  return table.numbers[static_cast<std::size_t>(row * table.width + column)];
}

bool is_whole(const io::NumberTable& table, const Columns& columns) {
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  for (std::int64_t row = 0; row < table.rows; ++row)
    for (const std::int64_t column : columns)
      if (const double x = cell(table, row, column); x != std::trunc(x) || std::abs(x) > kMost) return false;
  return true;
}

Tensor tensor_of(const io::NumberTable& table, const Columns& columns, DType dtype, bool is_flat) {
  Shape shape{table.rows};
  if (!is_flat) shape.append(Shape{std::ssize(columns)});
  Tensor out(dtype, shape);
  std::int64_t i = 0;
  for (std::int64_t row = 0; row < table.rows; ++row)
    for (const std::int64_t column : columns) out.set(i++, cell(table, row, column));
  return out;
}

class Assignment {
 public:
  Assignment(const keras::Model& model, const std::string& file, const DataReading& reading)
      : file_(file), reading_(reading), table_(read(file)) {
    keras::LowerOptions options;
    options.batch = 1;
    options.sequence_length = reading.sequence_length;
    graph_ = model.lower(options);
  }

  std::vector<NamedTensor> run() && {
    const std::optional<std::int64_t> target = target_column();
    Columns rest;
    for (std::int64_t column = 0; column < table_.width; ++column) {
      const std::string name = column == target ? "y" : name_of(column);
      if (is_target(name))
        add(name, {column}, is_whole(table_, {column}) ? DType::int32 : DType::float32, true);
      else if (const graph::Value* input = input_called(name))
        add_input(*input, {column});
      else
        rest.push_back(column);
    }
    if (!rest.empty()) add_input(input_without_column(rest), rest);
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string name_of(std::int64_t column) const {
    if (table_.columns.empty()) return "";
    const std::string& name = table_.columns[static_cast<std::size_t>(column)];
    return name == "target" && input_called(name) == nullptr ? "y" : name;
  }

  [[nodiscard]] const graph::Value* input_called(const std::string& name) const {
    for (const graph::ValueId input : graph_.inputs)
      if (graph_.value(input).name == name) return &graph_.value(input);
    return nullptr;
  }

  [[nodiscard]] std::optional<std::int64_t> target_column() const {
    if (!reading_.csv_target) return {};
    const std::string& wanted = *reading_.csv_target;
    const auto found = std::ranges::find(table_.columns, wanted);
    if (found != table_.columns.end()) return found - table_.columns.begin();
    const auto place = parse_number<std::int64_t>(wanted);
    if (place && *place >= 0 && *place < table_.width) return place;
    throw bad_usage("`csv_target` '{}': {} has no such column{}; {}", printable(wanted), printable(file_),
                    did_you_mean(wanted, std::span<const std::string>(table_.columns)),
                    table_.columns.empty() ? fmt::format("they are 0 to {}", table_.width - 1)
                                           : "they are " + shortened(printable(join(table_.columns, ", "))));
  }

  /// Returns the input of such columns.
  [[nodiscard]] const graph::Value& input_without_column(const Columns& columns) const {
    std::vector<const graph::Value*> open;
    for (const graph::ValueId input : graph_.inputs)
      if (std::ranges::find(out_, graph_.value(input).name, &NamedTensor::name) == out_.end())
        open.push_back(&graph_.value(input));
    if (open.size() == 1) return *open.front();
    throw bad_input("{}: {} columns, starting with {}, belong to no input: {}", printable(file_), columns.size(),
                    table_.columns.empty() ? std::to_string(columns.front() + 1)
                                           : "'" + shortened(printable(name_of(columns.front()))) + "'",
                    open.empty()
                        ? "all inputs have columns of their names"
                        : "several inputs lack columns with their names, so the input of the other columns is unknown");
  }

  void add_input(const graph::Value& input, const Columns& columns) {
    const Shape& shape = input.shape;
    const Dim width = shape.rank() == 1 ? 1 : shape.rank() == 2 ? shape[1] : 0;
    if (width == 0)
      throw bad_input("{}: a table has numbers for inputs of (batch, columns), and '{}' is {}", printable(file_),
                      printable(input.name), shape.str());
    if (width != std::ssize(columns))
      throw bad_input("{}: {} columns of numbers for the input '{}', which takes {}{}", printable(file_),
                      columns.size(), printable(input.name), width,
                      width + 1 == std::ssize(columns) ? "; give the target with `csv_target` COLUMN" : "");
    if (is_integer(input.dtype) && !is_whole(table_, columns))
      throw bad_input("{}: the input '{}' requires integers, but not all numbers are", printable(file_),
                      printable(input.name));
    add(input.name, columns, is_integer(input.dtype) ? DType::int32 : DType::float32, shape.rank() == 1);
  }

  void add(const std::string& name, const Columns& columns, DType dtype, bool is_flat) {
    if (std::ranges::find(out_, name, &NamedTensor::name) != out_.end())
      throw bad_usage("{}: two columns are named '{}', one in the file and one by `csv_target`", printable(file_),
                      printable(name));
    out_.push_back({name, tensor_of(table_, columns, dtype, is_flat)});
  }

  const std::string& file_;
  const DataReading& reading_;
  io::NumberTable table_;
  graph::Graph graph_;
  std::vector<NamedTensor> out_;
};

}  // namespace

bool is_target(std::string_view name) {
  return name == "y" || name == "sample_weight" || name.starts_with("y:") || name.starts_with("sample_weight:");
}

bool is_table(const std::string& file) { return file.ends_with(".csv"); }

std::vector<NamedTensor> table_arrays(const keras::Model& model, const std::string& file, const DataReading& reading) {
  return Assignment(model, file, reading).run();
}

NamedTensor table_as_array(const std::string& name, const std::string& file) {
  const io::NumberTable table = read(file);
  Columns all(static_cast<std::size_t>(table.width));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  return {name, tensor_of(table, all, is_whole(table, all) ? DType::int32 : DType::float32, table.width == 1)};
}

}  // namespace attn::train
