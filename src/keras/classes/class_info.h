// What attn knows of a class of Keras: one record, at the end of the file that has the class.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "attn/keras/role.h"
#include "attn/keras/version.h"

namespace attn::keras {

class Layer;
using LayerPtr = std::unique_ptr<Layer>;

/// KerasHub's classes go with its own version, which no file names.
inline constexpr Version kAnyKeras = kOldest;

/// Before 3.11 most operations took a name only where they had no arguments of their own.
inline constexpr Version kWhereAlone = -1;

/// What became in Keras 3 of a key that Keras 2 writes. By default it is left out.
struct Keras2Key {
  std::string_view name;
  std::string_view renamed{};   ///< its name in Keras 3
  std::string_view only{};      ///< it is left out with this value (JSON) or null, and refused with another
  std::string_view argument{};  ///< true became this argument of the call
};

/// One class, a layer or an operation. Records of layers name their members; operations need no more than the first
/// four, or five, and give them in this order.
struct ClassInfo {
  std::string_view name;                     ///< as configs spell it
  LayerPtr (*make)();                        ///< null for a class that is refused
  Since since;                               ///< kAnyKeras for a class of KerasHub
  std::string_view module = "keras.layers";  ///< as configs name it: "keras.src.ops.numpy", …
  Role role = Role::other;
  /// The package that registers it: "keras_hub" writes it as "keras_hub>TransformerEncoder".
  std::string_view package{};
  std::string_view shown{};  ///< its name in summaries, where that is another (GroupedQueryAttention)
  std::string_view also{};   ///< another name under which files have it ("Model" for Functional)
  /// Does it make its positions as numbers of its compute dtype?
  bool counts_positions = false;
  /// Does its mask keep all steps of an input that has none?
  bool keeps_unmasked = false;

  /// What the literature calls the sizes of its variables: "kernel: d_in d_out; bias: d_out". Each part begins with the
  /// end of a variable's path; "-" stands for a size that has no name, "a|b" for a, or for b where a is already the
  /// name of another size. Of several parts that fit, the first of the variable's rank counts.
  std::string_view symbols{};
  std::string_view no_params{};  ///< why it has no variables, where its role does not say it: "its angles follow …"
  /// The last Keras before 3.11 whose config of an operation holds its name.
  Version named_until = kWhereAlone;
  std::string_view later_arguments{};  ///< what calls take since later: "rtol 3.4; atol 3.4"
  std::string_view refused{};          ///< why attn does not run it: "it carries Python code, …"

  std::span<const Keras2Key> keras2_keys{};
  std::string_view keras2_names{};  ///< classes of Keras 2 that became this one, with blanks between
};

/// The classes of a file, or of a few.
using Family = std::span<const ClassInfo>;

template <typename T>
LayerPtr make_layer() {
  return std::make_unique<T>();
}

/// A record's `make` for a class that is told at construction which member of its family it is.
template <typename T, auto... kArguments>
LayerPtr make_with() {
  return std::make_unique<T>(kArguments...);
}

}  // namespace attn::keras
