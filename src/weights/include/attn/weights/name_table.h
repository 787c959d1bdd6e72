// The names of KerasHub's weights in Hugging Face's files, as plain data. The module that knows the model families
// defines the tables.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "attn/base/shape.h"

namespace attn::weights {

/// The relation between Hugging Face's and Keras's layout of an array.
struct Layout {
  enum class Order : std::uint8_t {
    same,         ///< Keras's layout
    in_front,     ///< Keras's layout with a leading axis of 1
    flat,         ///< a vector, or the matrix (in, out) of GPT-2's Conv1D; Keras has axes of heads
    transposed,   ///< torch.nn.Linear's (out, in); Keras has (in, out) with axes of heads
    by_head,      ///< torch.nn.Linear's (heads·size, in); Keras has (heads, in, size)
    convolution,  ///< (out, in, window…); Keras has (window…, in, out)
    counted,      ///< no array; Keras has 0, 1, 2, …
  };
  Order order = Order::same;
  /// Number of Keras's axes that are `in`; with `flat`, 0 makes a vector.
  int inputs = 1;
  /// For an array that joins several of Keras's: the weights alternate for each head (Keras's axis after `in`) instead
  /// of following each other as a whole.
  bool by_parts_of_heads = false;
};

/// Short names for the layouts in tables.
namespace layouts {
inline constexpr Layout kSame{Layout::Order::same}, kLinear{Layout::Order::transposed, 1},
    kFromHeads{Layout::Order::transposed, 2}, kVector{Layout::Order::flat, 0}, kConv1d{Layout::Order::flat, 1},
    kConv1dFromHeads{Layout::Order::flat, 2}, kByHead{Layout::Order::by_head}, kConvolution{Layout::Order::convolution},
    kInFront{Layout::Order::in_front}, kCounted{Layout::Order::counted},
    kLinearByHead{Layout::Order::transposed, 1, true}, kVectorByHead{Layout::Order::flat, 0, true};
}  // namespace layouts

/// A KerasHub weight, by its path, and the name of its array. If the name is empty, no file has it, and it keeps its
/// initial value or is counted. "{}" stands for the number of a block or of a stage; "{expert}" for that of an expert,
/// whose arrays are stacked in Keras. "*" at the start of a path stands for the name of the model and "_". "{a,b}" in
/// the name of an array stands for several arrays, which follow each other along the first axis. Rows of the same array
/// are its parts, in order. If weights share a path, "#0" is the first, "#1" the next.
struct NameRow {
  std::string_view keras, hugging_face;
  Layout layout;
  bool of_head = false;             ///< the weight belongs to a task, so its name has no prefix
  Dim skipped = 0;                  ///< leading rows of the array that Keras does not have
  std::string_view otherwise = "";  ///< the array that is used instead if a file does not have it
  /// For experts: the array with the second half of Keras's last axis; the first has the whole axis if this is empty.
  std::string_view second_half = "";
  /// Whether the weight is computed from the array, which is another weight's. With the sizes of the file, both are
  /// equal. The weight is not written.
  bool is_computed = false;
};

/// An axis of a weight whose size is the inner width of a block.
struct InnerAxis {
  std::string_view ending;  ///< the end of the weight's path
  int axis;
};

/// The names for a class of backbones.
struct NameTable {
  std::string_view backbone;  ///< class of the backbone
  std::string_view prefix;    ///< prefix of the arrays if the file is of a model with a head: "transformer."
  std::span<const NameRow> rows;
  std::string_view mark = "";  ///< a part of some weight's path in each model to which the table applies
  int first_block = 0;         ///< the number of Keras's first block
  /// Inner axes that transformers always has four times as wide as the model. Narrower ones are padded with zeros,
  /// which does not change the result if the activation of 0 is 0. The first is of a kernel (model's width, inner
  /// width).
  std::span<const InnerAxis> padded{};
};

}  // namespace attn::weights
