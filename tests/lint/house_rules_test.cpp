// The rules on functions, comments, names and circles fire on planted faults, and only on them.
#include <catch2/catch.hpp>

#include <heed/tests/lint/include_graph.h>
#include <heed/tests/lint/rules.h>

namespace {

using namespace heed::lint;

bool fires(const Findings& findings, const std::string& where) {
  return findings.size() == 1 && findings[0].starts_with(where);
}

/// A function of so many lines.
std::string function_of(int lines) {
  std::string text = "void f() {\n";
  for (int i = 2; i < lines; ++i) text += "  g();\n";
  return text + "}\n";
}

TEST_CASE("function length rule", "[lint]") {
  CHECK(check_function_lengths({{"core/a.cpp", function_of(40) + function_of(40)}}).empty());
  CHECK(fires(check_function_lengths({{"core/a.cpp", "int a;\n" + function_of(41)}}),
              "core/a.cpp:2: f has 41"));
  CHECK(fires(check_function_lengths({{"examples/a.cpp", function_of(41)}}), "examples/a.cpp:1:"));
  CHECK(check_function_lengths({{"ops/kernels/a-inl.h", function_of(60)}}).empty());
  CHECK(fires(check_function_lengths({{"ops/kernels/a-inl.h", function_of(61)}}), "ops/kernels/a-inl.h:1:"));
  CHECK(check_function_lengths({{"ops/attention/kernels/a.cpp", function_of(60)}}).empty());
  CHECK(check_function_lengths({{"tests/a.cpp", function_of(90)}, {"bench/a.cpp", function_of(90)}}).empty());
  CHECK(check_function_lengths({{"core/a.h", "struct A {\n" + function_of(30) + function_of(30) + "};\n"}})
            .empty());
  CHECK(fires(check_function_lengths({{"core/a.h", "struct A {\n" + function_of(41) + "};\n"}}),
              "core/a.h:2:"));
  const std::string lambda = "void outer() {\n  const auto f = [] {\n" + std::string(20, '\n') + "  };\n";
  CHECK(check_function_lengths({{"core/a.cpp", lambda + "}\n"}}).empty());
  CHECK(fires(check_function_lengths({{"core/a.cpp", lambda + std::string(20, '\n') + "}\n"}}),
              "core/a.cpp:1: outer has 44"));
  CHECK(fires(check_function_lengths({{"core/a.cpp", "void f() {\n"}}), "core/a.cpp:1: braces"));
}

TEST_CASE("comment width rule", "[lint]") {
  const std::string full(107, 'a');
  CHECK(check_line_lengths({{"core/a.cpp", "// " + full + "\n"}}).empty());
  CHECK(fires(check_line_lengths({{"core/a.cpp", "\n// " + full + "a\n"}}), "core/a.cpp:2:"));
  CHECK(fires(check_line_lengths({{"tests/a.cpp", "int a;  /// " + full + "\n"}}), "tests/a.cpp:1:"));
  // Letters count, not bytes; a literal is no comment.
  std::string arrows;
  for (int i = 0; i < 100; ++i) arrows += "→";
  CHECK(check_line_lengths({{"core/a.cpp", "// " + arrows + "\nauto url = \"https://" + full + "\";\n"}})
            .empty());
  CHECK(check_line_lengths({{"core/CMakeLists.txt", "// " + full + "a\n"}}).empty());
}

TEST_CASE("orphan rule", "[lint]") {
  const std::string full = "  /// " + std::string(80, 'a');
  CHECK(fires(check_line_lengths({{"core/a.h", full + "\n  /// its end.\n"}}), "core/a.h:2:"));
  CHECK(fires(check_line_lengths({{"core/a.h", full + "\n  /// end\n  int a;\n"}}), "core/a.h:2:"));
  CHECK(check_line_lengths({{"core/a.h", full + "\n  /// the sentence's end.\n"}}).empty());
  CHECK(check_line_lengths({{"core/a.h", full + ".\n  /// Then more.\n"}}).empty());
  CHECK(check_line_lengths({{"core/a.h", full + "\n  /// and then\n  /// it goes on.\n"}}).empty());
  CHECK(check_line_lengths({{"core/a.h", "  /// A short line\n  /// and its end.\n"}}).empty());
  CHECK(check_line_lengths({{"core/a.h", full + "\n  ///\n  /// More.\n"}}).empty());
}

TEST_CASE("type name rule", "[lint]") {
  const SourceFile in_nn{"nn/a.h", "namespace heed::nn {\nstruct Options {};\n}\n"};
  const auto clash =
      check_type_names({in_nn, {"train/b.h", "namespace heed::train {\nusing Options = int;\n}\n"}});
  REQUIRE(clash.size() == 2);
  CHECK(clash[0].starts_with("nn/a.h:2: heed::nn has Options"));
  CHECK(check_type_names({in_nn, {"nn/b.h", "namespace heed::nn {\nstruct Options;\n}\n"}}).empty());
  CHECK(
      check_type_names({in_nn, {"train/b.cpp", "namespace heed::train {\nstruct Options {};\n}\n"}}).empty());
  CHECK(check_type_names({in_nn, {"train/b.h", "namespace heed::train::detail {\nstruct Options {};\n}\n"}})
            .empty());
  CHECK(check_type_names(
            {in_nn, {"train/b.h", "namespace heed::train {\nstruct A { struct Options {}; };\n}\n"}})
            .empty());
}

TEST_CASE("namespace rule", "[lint]") {
  const auto declares = [](const std::string& path, const std::string& space) {
    return check_namespaces({{path, "namespace " + space + " {\nint f();\n}\n"}});
  };
  CHECK(declares("core/a.h", "heed").empty());
  CHECK(declares("core/a.h", "heed::detail").empty());
  CHECK(declares("ops/a.h", "heed").empty());
  CHECK(declares("ops/attention/mask/a.h", "heed").empty());
  CHECK(declares("ops/kernels/a-inl.h", "heed::kernels::HWY_NAMESPACE").empty());
  CHECK(declares("ops/attention/kernels/a.h", "heed::kernels").empty());
  CHECK(declares("nn/a.h", "heed::nn").empty());
  CHECK(declares("train/a.h", "heed::train").empty());
  CHECK(declares("train/report/a.h", "heed::train::report").empty());
  CHECK(declares("tests/a.h", "anything").empty());
  CHECK(fires(declares("ops/a.h", "heed::ops"), "ops/a.h:2: f lies in heed::ops, not in heed"));
  CHECK(fires(declares("nn/a.h", "heed"), "nn/a.h:2:"));
  CHECK(fires(declares("nn/a.h", ""), "nn/a.h:2:"));
  CHECK(fires(declares("train/distributed/a.h", "heed::train"), "train/distributed/a.h:2:"));
  CHECK(check_namespaces({{"nn/a.h", "namespace heed {\nclass Tensor;\n}\n"}}).empty());
  CHECK(fires(check_namespaces({{"nn/a.h", "namespace heed {\nclass Tensor {};\n}\n"}}), "nn/a.h:2:"));
  CHECK(fires(check_namespaces({{"nn/a.h", "int f();\n"}}), "nn/a.h:1: f lies in no namespace"));
}

TEST_CASE("circle rule", "[lint]") {
  const auto includes = [](const std::string& path) { return "#include <heed/" + path + ">\n"; };
  CHECK(check_circles(
            {{"core/a.h", includes("core/b.h")}, {"core/b.h", includes("core/c.h")}, {"core/c.h", ""}})
            .empty());
  CHECK(fires(check_circles({{"core/a.h", includes("core/b.h")}, {"core/b.h", "\n" + includes("core/a.h")}}),
              "core/b.h:2: a circle of files: core/a.h → core/b.h → core/a.h"));
  CHECK(fires(check_circles({{"examples/x/a.h", "#include \"../y/b.h\"\n"},
                             {"examples/y/b.h", "#include \"../x/a.h\"\n"}}),
              "examples/y/b.h:1: a circle of files"));
  // Rooms go in a circle where no file does.
  CHECK(fires(check_circles({{"core/a.h", includes("io/b.h")},
                             {"core/c.h", ""},
                             {"io/b.h", ""},
                             {"io/d.h", includes("core/c.h")}}),
              "io/d.h:1: a circle of rooms: core → io → core"));
  CHECK(fires(check_circles({{"train/a.h", includes("train/report/b.h")},
                             {"train/c.h", ""},
                             {"train/report/b.h", ""},
                             {"train/report/d.h", includes("train/c.h")}}),
              "train/report/d.h:1: a circle of rooms: train → train/report → train"));
}

TEST_CASE("arrows that others imply are left out", "[lint]") {
  const IncludeGraph graph = {
      {"a", {{"b", "a:1"}, {"c", "a:2"}, {"d", "a:3"}}}, {"b", {{"c", "b:1"}}}, {"c", {}}};
  CHECK(without_implied(graph) ==
        IncludeGraph{{"a", {{"b", "a:1"}, {"d", "a:3"}}}, {"b", {{"c", "b:1"}}}, {"c", {}}});
}

}  // namespace
