// What a source declares, and where each function begins and ends.
#include <catch2/catch.hpp>

#include <heed/tests/lint/declarations.h>
#include <heed/tests/lint/tokens.h>

namespace {

using namespace heed::lint;

std::vector<std::string> names(const std::vector<Declaration>& declarations) {
  std::vector<std::string> found;
  for (const auto& declaration : declarations) found.push_back(declaration.name);
  return found;
}

TEST_CASE("declarations of a header are found", "[lint]") {
  const std::string header =
      "#pragma once\n"
      "namespace heed {\n"
      "struct Options { int axis = -1; Tensor member(int) const; };\n"
      "class Tensor;\n"
      "// Tensor commented(int);\n"
      "Tensor softmax(const Tensor& x, int axis = -1,\n"
      "               Options options = {});\n"
      "template <Numeric S>\n"
      "Tensor add(const Tensor& x, S scalar) {\n"
      "  return add(x, scalar_tensor(scalar));\n"
      "}\n"
      "Tensor operator+(const Tensor& a, const Tensor& b);\n"
      "[[nodiscard]] std::vector<Tensor> split(std::function<int(int)> f = g(\"(\"));\n"
      "inline constexpr int kCount = count(3);\n"
      "namespace detail { Tensor hidden(); }\n"
      "std::pair<Tensor, Tensor>\n"
      "max_along(const Tensor& x);\n"
      "}\n";
  const auto found = declared_functions(header);
  CHECK(names(found) == std::vector<std::string>{"softmax", "add", "split", "max_along"});
  CHECK(found.at(0).line == 6);
  CHECK(found.at(1).line == 9);
  CHECK(found.at(1).result == "Tensor");
  CHECK(found.at(3).line == 17);
}

/// "name first-last" of each function with a body.
std::vector<std::string> bodies(const std::string& source) {
  std::vector<std::string> found;
  for (const auto& one : declarations_of(source)) {
    if (one.kind != Declaration::Kind::function || !one.is_defined) continue;
    found.push_back(one.name + " " + std::to_string(one.first_line) + "-" + std::to_string(one.last_line));
  }
  return found;
}

/// "scope|name" of each type.
std::vector<std::string> types(const std::string& source) {
  std::vector<std::string> found;
  for (const auto& one : declarations_of(source)) {
    if (one.kind == Declaration::Kind::type) found.push_back(one.scope + "|" + one.name);
  }
  return found;
}

using Texts = std::vector<std::string>;

TEST_CASE("free functions end at their closing brace", "[lint]") {
  CHECK(bodies("void f() {\n  if (a) {\n  }\n}\nint g();\n") == Texts{"f 1-4"});
  CHECK(bodies("template <class T,\n          class U = A<B<int>>>\nauto f(T t)\n    -> A<T> {\n}\n") ==
        Texts{"f 1-5"});
  CHECK(bodies("template <class T>\n[[nodiscard]]\nint f() {\n}\n") == Texts{"f 1-4"});
  CHECK(bodies("HWY_ATTR void f(V v) HWY_ATTR {\n}\n") == Texts{"f 1-2"});
  CHECK(bodies("auto f(int a) noexcept(noexcept(g(a))) {\n}\n") == Texts{"f 1-2"});
  CHECK(bodies("template <class T>\n  requires(sizeof(T) > 1)\nint f(T t) {\n}\n") == Texts{"f 1-4"});
  CHECK(bodies("int f(std::function<void()> g = {}) {\n}\n") == Texts{"f 1-2"});
  CHECK(bodies("struct A* f() {\n}\n") == Texts{"f 1-2"});
}

TEST_CASE("a body holds its lambdas and local classes", "[lint]") {
  CHECK(bodies(
            "void f() {\n  const auto g = [&] {\n  };\n  struct A {\n    int b() { return 1; }\n  };\n}\n") ==
        Texts{"f 1-7"});
  CHECK(bodies("const auto f = [](int a) {\n  return a;\n};\n") == Texts{"f 1-3"});
}

TEST_CASE("members are found in and out of their class", "[lint]") {
  CHECK(
      bodies(
          "class A final : public B<int(char)> {\n public:\n  A() : a_{1}, b_(2) {\n  }\n  ~A() {}\n"
          "  A(int a)\n      : B{a},\n        c_{} {}\n  int a_{3};\n  std::function<void()> c_{};\n};\n") ==
      Texts{"A 3-4", "~A 5-5", "A 6-8"});
  CHECK(
      bodies("template <class T>\nA<T>::A(int a) : B<T>{a} {\n}\nint A<T>::get() const {\n}\nA::~A() {}\n") ==
      Texts{"A<T>::A 1-3", "A<T>::get 4-5", "A::~A 6-6"});
  CHECK(bodies("struct A {\n  bool operator==(const A& a) const {\n  }\n  int operator()(int a) {}\n"
               "  explicit operator bool() const {}\n  int operator[](int i) {}\n  A& operator=(A&&) = "
               "default;\n};\n") ==
        Texts{"operator== 2-3", "operator() 4-4", "operator bool 5-5", "operator[] 6-6"});
}

TEST_CASE("what is no function is none", "[lint]") {
  CHECK(bodies("const std::map<int, int> m = {\n  {1, f(2)},\n};\nint a[] = {1, 2};\nstd::array<int, 3> b{1, "
               "2, 3};\n"
               "enum class E : int { a, b = f(1) };\n"
               "template <class T>\nconcept C = requires(T t) {\n  t.f();\n};\n"
               "inline const int x = [] { return 1; }() + g({1});\n")
            .size() == 1);
  CHECK(bodies("HWY_EXPORT(f);\n#define F(x) void x() {\nextern \"C\" {\nint f();\n}\n").empty());
  CHECK(bodies("const char* text = R\"x({ void f() { \")x\";\nvoid g() {}\n") == Texts{"g 2-2"});
  CHECK(bodies("const int n = 20'000;\nvoid g() { put('{'); put(\"}\"); }\n") == Texts{"g 2-2"});
}

TEST_CASE("types are found with their namespaces", "[lint]") {
  CHECK(types("namespace heed::nn {\nclass A;\nstruct B : A { struct C {}; };\nnamespace detail {\nenum "
              "class D {};\n}\n"
              "using E = int;\ntemplate <class T>\nusing F = A<T>;\ntypedef int G;\nusing heed::H;\n}\n") ==
        Texts{"heed::nn|A", "heed::nn|B", "heed::nn::B|C", "heed::nn::detail|D", "heed::nn|E", "heed::nn|F",
              "heed::nn|G"});
  CHECK(types("template <>\nstruct std::hash<heed::A> {};\ntemplate class A<int>;\nfriend class B;\nstruct "
              "A* f(A a);\n"
              "namespace {\nstruct alignas(64) C {};\n}\n") == Texts{"(anonymous)|C"});
}

TEST_CASE("a declaration knows its lines and its scope", "[lint]") {
  const auto found = declarations_of(
      "namespace heed {\ninline constexpr int most = 3;\nstruct A {\n  int a;\n};\nint f(int);\n}\n");
  REQUIRE(found.size() == 3);
  CHECK(found[0].kind == Declaration::Kind::variable);
  CHECK(found[0].name == "most");
  CHECK(found[1].last_line == 5);
  CHECK(found[2].scope == "heed");
  CHECK_FALSE(found[2].is_defined);
}

TEST_CASE("code alone is left of a source", "[lint]") {
  const std::string source =
      "int a; // {\n/* { */ int b;\n# if 0 {\nchar c = '{';\nauto d = R\"({\n\"{)\";\n";
  const auto code = code_only(source);
  CHECK(code.size() == source.size());
  CHECK(code.find('{') == std::string::npos);
  CHECK(code.find("int b;") == source.find("int b;"));
}

}  // namespace
