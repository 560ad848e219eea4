// The rules fire on planted faults, and only on them.
#include <catch2/catch.hpp>

#include <heed/tests/lint/rules.h>

namespace {

using namespace heed::lint;

bool fires(const Findings& findings, const std::string& where) {
  return findings.size() == 1 && findings[0].starts_with(where);
}

TEST_CASE("a path lies in its innermost room", "[lint]") {
  CHECK(room_of("core/tensor.h") == "core");
  CHECK(room_of("train/report/page.h") == "train/report");
  CHECK(room_of("train/reports.h") == "train");
  CHECK(room_of("ops/attention/kernels/scores.h") == "ops/attention");
  CHECK(room_of("tests/train/report/page_test.cpp") == "tests");
  CHECK(room_of("dev").empty());
  CHECK(outer_room("train/report") == "train");
  CHECK(outer_room("core") == "core");
  CHECK(in_kernels("ops/attention/kernels/scores.h"));
  CHECK_FALSE(in_kernels("ops/kernels.h"));
  CHECK_FALSE(in_kernels("tests/ops/kernels/gemm_test.cpp"));
  CHECK_FALSE(is_public_header("ops/attention/kernels/scores.h"));
  CHECK(is_public_header("ops/attention/mask/causal.h"));
}

TEST_CASE("layer rule", "[lint]") {
  CHECK(check_layers({{"nn/a.h", "#include <heed/ops/sum.h>\n#include <vector>\n"}}).empty());
  CHECK(fires(check_layers({{"core/a.h", "#pragma once\n#include <heed/ops/sum.h>\n"}}), "core/a.h:2:"));
  CHECK(fires(check_layers({{"io/a.cpp", "#include <heed/ops/sum.h>\n"}}), "io/a.cpp:1:"));
  CHECK(fires(check_layers({{"check/a.cpp", "#  include <heed/train/log.h>\n"}}), "check/a.cpp:1:"));
  CHECK(fires(check_layers({{"ops/a.cpp", "#include <heed/heed.h>\n"}}), "ops/a.cpp:1:"));
  CHECK(fires(check_layers({{"ops/a.cpp", "#include \"a.h\"\n"}}), "ops/a.cpp:1:"));
  CHECK(fires(check_layers({{"ops/a.cpp", "#include <heed/tests/support/x.h>\n"}}), "ops/a.cpp:1:"));
  CHECK(check_layers({{"nn/a.h", "#include <heed/ops/attention/mask.h>\n"}}).empty());
  CHECK(fires(check_layers({{"core/a.h", "#include <heed/ops/attention/mask.h>\n"}}), "core/a.h:1:"));
  CHECK(
      fires(check_layers({{"ops/attention/a.h", "#include <heed/nn/linear.h>\n"}}), "ops/attention/a.h:1:"));
  CHECK(check_layers({{"examples/a/a.cpp", "#include <heed/heed.h>\n#include \"a.h\"\n"}}).empty());
}

TEST_CASE("kernels are private and know no tensor", "[lint]") {
  CHECK(check_layers({{"ops/a.cpp", "#include <heed/ops/kernels/a.h>\n"}}).empty());
  CHECK(check_layers(
            {{"ops/kernels/a.cpp", "#include <heed/ops/kernels/a.h>\n#include <heed/core/parallel.h>\n"}})
            .empty());
  CHECK(fires(check_layers({{"ops/a.h", "#include <heed/ops/kernels/a.h>\n"}}), "ops/a.h:1:"));
  CHECK(fires(check_layers({{"ops/kernels/a.h", "#include <heed/core/tensor.h>\n"}}), "ops/kernels/a.h:1:"));
  CHECK(fires(check_layers({{"ops/kernels/a.h", "#include <heed/ops/sum.h>\n"}}), "ops/kernels/a.h:1:"));
  const std::string inner = "ops/attention/kernels/a.h";
  CHECK(check_layers({{"ops/attention/a.cpp", "#include <heed/" + inner + ">\n"}}).empty());
  CHECK(check_layers({{inner, "#include <heed/ops/kernels/a.h>\n"}}).empty());
  CHECK(fires(check_layers({{"ops/attention/a.h", "#include <heed/" + inner + ">\n"}}),
              "ops/attention/a.h:1:"));
  CHECK(fires(check_layers({{inner, "#include <heed/ops/sum.h>\n"}}), inner + ":1:"));
}

TEST_CASE("third-party rule", "[lint]") {
  const SourceFile gemm{"ops/kernels/gemm_blas.cpp", "#include <cblas.h>\n"};
  CHECK(check_third_parties({gemm}).empty());
  CHECK(check_third_parties({gemm, {"ops/kernels/other.cpp", "#include <cblas.h>\n"}}).size() == 2);
  CHECK(fires(check_third_parties({{"ops/a.cpp", "#include <cblas.h>\n"}}), "ops/a.cpp:1:"));
  CHECK(fires(check_third_parties({{"ops/a.cpp", "#include <hwy/highway.h>\n"}}), "ops/a.cpp:1:"));
  CHECK(fires(check_third_parties({{"nn/a.cpp", "#include <nlohmann/json.hpp>\n"}}), "nn/a.cpp:1:"));
  CHECK(fires(check_third_parties({{"train/a.cpp", "#include <omp.h>\n"}}), "train/a.cpp:1:"));
  CHECK(fires(check_third_parties({{"nn/a.cpp", "\n  # pragma  omp parallel\n"}}), "nn/a.cpp:2:"));
  CHECK(fires(check_third_parties({{"ops/kernels/a.cpp", "#pragma omp simd\n"}}), "ops/kernels/a.cpp:1:"));
  CHECK(check_third_parties({{"train/distributed/a.cpp", "#include <mpi.h>\n"},
                             {"train/distributed/b.cpp", "#include <mpi.h>\n"}})
            .size() == 2);
}

TEST_CASE("public header rule", "[lint]") {
  CHECK(check_public_headers({{"core/a.h", "// words\n#pragma once\n#include <vector>\n#define HEED_A 1\n"}})
            .empty());
  CHECK(fires(check_public_headers({{"core/a.h", "#include <vector>\n"}}), "core/a.h:1:"));
  CHECK(fires(check_public_headers({{"core/a.h", "int x();\n"}}), "core/a.h:1:"));
  CHECK(fires(check_public_headers({{"core/a.h", "#pragma once\n#include <fmt/core.h>\n"}}), "core/a.h:2:"));
  CHECK(fires(check_public_headers({{"core/a.h", "#pragma once\n#include <unistd.h>\n"}}), "core/a.h:2:"));
  CHECK(fires(check_public_headers({{"io/a.h", "#pragma once\n#include <filesystem>\n"}}), "io/a.h:2:"));
  CHECK(check_public_headers({{"io/a.cpp", "#include <filesystem>\n"}}).empty());
  CHECK(fires(check_public_headers({{"core/a.h", "#pragma once\n# define CHECK(x) x\n"}}), "core/a.h:2:"));
  CHECK(fires(check_public_headers({{"core/a.h", "#pragma once\nusing namespace std;\n"}}), "core/a.h:2:"));
  CHECK(check_public_headers({{"ops/kernels/a.h", "#include <fmt/core.h>\n"}}).empty());
}

TEST_CASE("size and leftover rules", "[lint]") {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "int x;\n";
  CHECK(check_sizes({{"core/a.cpp", text}}).empty());
  CHECK(fires(check_sizes({{"core/a.cpp", text + "int y;\n"}}), "core/a.cpp:1:"));
  const std::string mark = std::string("TO") + "DO";
  CHECK(fires(check_leftovers({{"core/a.cpp", "\n// " + mark + " later\n"}}), "core/a.cpp:2:"));
  CHECK(check_leftovers({{"core/a.cpp", "// " + mark + "(#12): later\n"}}).empty());
}

TEST_CASE("payload rule", "[lint]") {
  const auto payload = [](const std::string& members) {
    return Tree{{"ops/a.cpp",
                 "struct AVjp {\n" + members + "\n  void vjp(VjpContext& context) const { use(x); }\n};\n"}};
  };
  CHECK(check_payloads(payload("  SavedTensor x, y;\n  Shape shape, kept;\n  int axis = 0;")).empty());
  CHECK(fires(check_payloads(payload("  SavedTensor x;\n  Tensor mask;")), "ops/a.cpp:3: AVjp keeps mask"));
  CHECK(fires(check_payloads(payload("  Shape s;\n  std::vector<Tensor> parts = {};")), "ops/a.cpp:3:"));
  CHECK(check_payloads(payload("  Tensor x, y;")).size() == 2);
  CHECK(check_payloads(payload("  std::function<Tensor(const Tensor&)> f;\n  static Tensor g();")).empty());
  // In a struct of options, in one inside of that, and in one of the file's own.
  const SourceFile options{"ops/b.h",
                           "struct Mask {\n private:\n  std::vector<Tensor> open_;\n};\n"
                           "struct Options {\n  Mask mask = {};\n  double p = 0;\n};\n"};
  auto with_options = payload("  SavedTensor x;\n  Options options;");
  with_options.push_back(options);
  CHECK(fires(check_payloads(with_options), "ops/a.cpp:3: AVjp keeps options (Options)"));
  auto saved = payload("  SavedTensor x;\n  SavedStruct<Options> options;");
  saved.push_back(options);
  CHECK(check_payloads(saved).empty());
  with_options[0].text = "struct Options { double p; };\n" + with_options[0].text;  // another of that name
  CHECK(check_payloads(with_options).empty());
  // What is visited for SavedStruct is all there is.
  SourceFile visiting{"ops/c.h",
                      "struct O {\n  Tensor a, b;\n};\ntemplate <class V>\n"
                      "void visit_tensors(O& o, V&& visit) {\n  visit(\"a\", o.a);\n}\n"};
  CHECK(fires(check_payloads({visiting}), "ops/c.h:2: visit_tensors leaves out O::b"));
  visiting.text.replace(visiting.text.find("o.a);"), 5, "o.a); visit(\"b\", o.b);");
  CHECK(check_payloads({visiting}).empty());
}

TEST_CASE("export rule", "[lint]") {
  const Tree tree = {
      {"ops/sum.h", "#pragma once\nnamespace heed {\nTensor sum(const Tensor& x);\nint helper();\n}\n"}};
  CHECK(check_exports(tree, {{"sum", "sum"}}).empty());
  CHECK(fires(check_exports(tree, {{"sum", "sum"}, {"sum", "mean"}}), "ops/sum.h:1: add_op lists mean"));
  CHECK(check_exports(tree, {{"sum", "mean"}}).size() == 2);
  CHECK(fires(check_exports(tree, {{"sum", "sum"}, {"max", "max"}}), "ops/max.h:1:"));
}

TEST_CASE("contract rule", "[lint]") {
  const std::string contract =
      "/// Exponential.\n/// Shapes any.  DTypes f32, f64.\n/// Gradient  x.  Order any.  Saves y.\n";
  const std::string declaration = "Tensor exp(const Tensor& x);\n";
  const std::vector<ExportedOp> exported = {{"exp", "exp"}};
  CHECK(check_contracts({{"ops/exp.h", contract + "/// Throws  DTypeError.\n" + declaration}}, exported)
            .empty());
  const auto lacking = check_contracts({{"ops/exp.h", contract + declaration}}, exported);
  CHECK(fires(lacking, "ops/exp.h:4: the contract of exp lacks Throws"));
  const std::string detached = contract + "/// Throws  DTypeError.\n\n" + declaration;
  CHECK(check_contracts({{"ops/exp.h", detached}}, exported).size() == 1);
}

}  // namespace
