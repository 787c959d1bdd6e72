// Completion scripts, written from the tree of options.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/model.h"
#include "options/command.h"
#include "output/common.h"

namespace attn::cli {
namespace {

/// The possible values of an option, for a shell.
struct Values {
  bool files = false, layers = false;
  std::vector<std::string> words;
};

struct CommandWords {
  CommandSpec spec;
  std::vector<Values> values;  // values of the command's options
};

Values values_of(const OptionSpec& option, const std::vector<std::string>& commands) {
  if (!option.choices.empty()) return {false, false, option.choices};
  const auto is = [&](std::string_view part) { return option.kind.find(part) != std::string::npos; };
  const auto has_name = [&](std::string_view name) {
    return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
  };
  if (is("COMMAND")) return {false, false, commands};
  if (is("LAYER") || has_name("--layer") || has_name("--layer-range")) return {false, true, {}};
  if (is("DEVICE")) return {false, false, {"cpu", "cuda", "auto"}};
  if (has_name("--backend")) return {false, false, {"reference", "onednn", "cuda"}};
  if (is("DTYPE")) return {false, false, {"float32", "bfloat16", "float16", "float64"}};
  const bool place = option.kind == "IN" || option.kind == "OUT";
  return {place || is("FILE") || is("MODEL") || is("PATH") || is("DIR"), false, {}};
}

struct Tree {
  std::vector<std::string> names;
  std::vector<CommandWords> commands;
};

Tree tree_of(const Program& program) {
  Tree tree;
  const std::vector<CommandSpec> commands = program.commands();
  for (const CommandSpec& command : commands) tree.names.push_back(command.name);
  for (const CommandSpec& command : commands) {
    CommandWords words{command, {}};
    for (const OptionSpec& option : command.options) words.values.push_back(values_of(option, tree.names));
    tree.commands.push_back(std::move(words));
  }
  return tree;
}

/// Quotes the text for a shell; fish needs a second backslash before a backslash.
std::string in_quotes(std::string_view text, bool fish = false) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += fish ? "\\'" : "'\\''";
    } else {
      if (fish && c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "'";
}

std::string bash_case(const CommandWords& command) {
  std::vector<std::string> names;
  std::string places;
  std::string cases;
  for (std::size_t i = 0; i < command.values.size(); ++i) {
    const OptionSpec& option = command.spec.options[i];
    const Values& values = command.values[i];
    names.insert(names.end(), option.names.begin(), option.names.end());
    if (option.positional()) {
      if (!values.words.empty()) places = join(values.words, " ");
      if (values.layers) places = ":layers";
    } else if (values.layers) {
      cases += fmt::format("        {}) _attn_layers; return ;;\n", join(option.names, "|"));
    } else if (!option.value.empty() && !values.files) {
      cases += fmt::format("        {}) _attn_words {}; return ;;\n", join(option.names, "|"),
                           in_quotes(join(values.words, " ")));
    } else if (values.files) {
      cases += fmt::format("        {}) return ;;\n", join(option.names, "|"));
    }
  }
  return fmt::format("    {})\n      case $before in\n{}      esac\n      options={}\n      places={} ;;\n",
                     command.spec.name, cases, in_quotes(join(names, " ")), in_quotes(places));
}

std::string bash_script(const Tree& tree) {
  std::string cases;
  for (const CommandWords& command : tree.commands) cases += bash_case(command);
  return fmt::format(R"SH(# Completion of attn in bash. In ~/.bashrc: . <(attn completion bash)
# Where COMPREPLY stays empty bash offers files.

_attn_words() {{
  [ -n "$1" ] || compopt +o default 2>/dev/null
  # Of a list, float32,bf, the last word is being typed.
  local listed=
  case $word in *,*) listed=${{word%,*}}, ;; esac
  mapfile -t COMPREPLY < <(compgen -P "$listed" -W "$1" -- "${{word##*,}}")
}}

# The layers of the model that the line names, else of the built-in one. (compgen -W would expand what stands in names.)
_attn_layers() {{
  local i model= name
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [ -e "${{COMP_WORDS[i]}}" ]; then model=${{COMP_WORDS[i]}}; break; fi
  done
  while IFS= read -r name; do
    case $name in "$word"*) COMPREPLY+=("$(printf %q "$name")") ;; esac
  done < <(attn completion --layers "$model" 2>/dev/null)
}}

_attn() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= options= places= i
  COMPREPLY=()
  # --format=json are three words here.
  if [ "$word" = = ]; then word=
  elif [ "$before" = = ]; then before=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
      -*) ;;
      *) command=${{COMP_WORDS[i]}}; break ;;
    esac
  done
  case $command in
    '') _attn_words {}; return ;;
{}    *) return ;;
  esac
  case $word in
    -*) _attn_words "$options" ;;
    *)
      if [ "$places" = :layers ]; then _attn_layers
      elif [ -n "$places" ]; then _attn_words "$places"
      fi ;;
  esac
}}

complete -o default -F _attn attn
)SH",
                     in_quotes(join(tree.names, " ") + " --help --version"), cases);
}

/// Returns a description inside the brackets of _arguments.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const Values& values) {
  if (values.files) return "_files";
  if (values.layers) return "_attn_layers";
  return values.words.empty() ? " " : "(" + join(values.words, " ") + ")";
}

std::string zsh_case(const CommandWords& command) {
  std::string arguments;
  int place = 0;
  for (std::size_t i = 0; i < command.values.size(); ++i) {
    const OptionSpec& option = command.spec.options[i];
    const std::string value =
        option.value.empty() ? "" : fmt::format(":{}:{}", zsh_text(option.kind), zsh_action(command.values[i]));
    if (option.positional()) {
      const std::string where = option.repeated ? "*" : fmt::format("{}", ++place);
      arguments += fmt::format(" \\\n        {}", in_quotes(where + (option.required ? "" : ":") + value));
      continue;
    }
    const std::string together = option.names.size() > 1 ? fmt::format("({})", join(option.names, " ")) : "";
    for (const std::string& name : option.names)
      arguments +=
          fmt::format(" \\\n        {}", in_quotes(together + name + "[" + zsh_text(option.description) + "]" + value));
  }
  return fmt::format("    {})\n      _arguments -s{} ;;\n", command.spec.name, arguments);
}

std::string zsh_script(const Tree& tree) {
  std::string commands;
  std::string cases;
  for (const CommandWords& command : tree.commands) {
    commands += fmt::format("\n    {}", in_quotes(command.spec.name + ":" + zsh_text(command.spec.description)));
    cases += zsh_case(command);
  }
  return fmt::format(R"SH(#compdef attn
# Completion of attn in zsh: as _attn in a folder of $fpath, or sourced after compinit.

_attn_layers() {{
  local word model=
  for word in ${{words[2,-2]}}; do
    if [[ -e $word ]]; then model=$word; break; fi
  done
  local -a names
  names=(${{(f)"$(attn completion --layers "$model" 2>/dev/null)"}})
  compadd -a names
}}

_attn() {{
  local -a commands
  commands=({}
  )
  if (( CURRENT == 2 )); then
    if [[ $words[2] == -* ]]; then
      _arguments '--help[show this help]' '--version[show the version]'
    else
      _describe command commands
    fi
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{}  esac
}}

if [ "$funcstack[1]" = _attn ]; then
  _attn "$@"
else
  compdef _attn attn
fi
)SH",
                     commands, cases);
}

std::string fish_lines(const CommandWords& command) {
  const std::string when = in_quotes("__fish_seen_subcommand_from " + command.spec.name);
  std::string out;
  for (std::size_t i = 0; i < command.values.size(); ++i) {
    const OptionSpec& option = command.spec.options[i];
    const Values& values = command.values[i];
    std::string line = "complete -c attn -n " + when;
    for (const std::string& name : option.names)
      line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (values.files) {
      line += option.positional() ? " -F" : " -r -F";
    } else if (!option.value.empty()) {
      if (!option.positional()) line += " -x";
      if (!values.words.empty()) line += " -a " + in_quotes(join(values.words, " "), true);
      if (values.layers) line += " -a '(__attn_layers)'";
    }
    if (!option.positional()) line += " -d " + in_quotes(option.description, true);
    out += line + '\n';
  }
  return out;
}

std::string fish_script(const Tree& tree) {
  std::string out =
      "# Completion of attn in fish: ~/.config/fish/completions/attn.fish\ncomplete -c attn -f\n"
      "function __attn_layers\n"
      "  set -l model ''\n"
      "  for word in (commandline -opc)[3..]\n"
      "    if test -e $word; set model $word; break; end\n"
      "  end\n"
      "  attn completion --layers \"$model\" 2>/dev/null\n"
      "end\n";
  for (const CommandWords& command : tree.commands) {
    out += fmt::format("complete -c attn -n __fish_use_subcommand -a {} -d {}\n", command.spec.name,
                       in_quotes(command.spec.description, true));
  }
  for (const CommandWords& command : tree.commands) out += fish_lines(command);
  return out;
}

struct CompletionCommand {
  std::optional<Program> program;
  std::optional<std::string> shell, layers;
  std::optional<std::string> output;

  void declare(Options& options) {
    program = options.program();
    options.add("shell", shell, "SHELL", "target shell").one_of({"bash", "zsh", "fish"});
    options.add("--layers", layers, "MODEL", "list the layer names of a model, as the scripts do");
    options.output("-o,--output", output, "FILE", "write the script to this file (default stdout)");
    add_color(options);
  }

  [[nodiscard]] int run() const {
    if (layers) {
      if (shell) throw bad_usage("--layers cannot be combined with a SHELL");
      write_result(names_of_layers(), output, Formatting::exact);
      return 0;
    }
    if (!shell) throw bad_usage("attn completion requires a SHELL: bash, zsh or fish");
    const Tree tree = tree_of(*program);
    const std::string script = *shell == "bash"  ? bash_script(tree)
                               : *shell == "zsh" ? zsh_script(tree)
                                                 : fish_script(tree);
    write_result(script, output, Formatting::exact);
    return 0;
  }

  /// Prints the names of layers, one per line. Without a path, and for "-", they are those of the built-in model,
  /// because a completion script must not read stdin.
  [[nodiscard]] std::string names_of_layers() const {
    const bool is_named = !layers->empty() && *layers != "-";
    Console console;
    console.quiet = true;
    const open::LoadedModel loaded =
        open::load_model(is_named ? layers : std::nullopt, open::ReadingOptions{}, console);
    std::string out;
    for (const std::string& name : loaded.model.layer_names()) out += printable(name) + '\n';
    return out;
  }
};

}  // namespace

Command completion_command() {
  return command_of<CompletionCommand>("completion", "print a completion script for bash, zsh or fish");
}

}  // namespace attn::cli
