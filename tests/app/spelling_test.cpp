#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/app/spelling.h>

using heed::app::edit_distance;
using heed::app::nearest_name;

TEST_CASE("the distance of two words counts letters added, removed, replaced and swapped") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("train", "train") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("layer", "layers") == 1);
  CHECK(edit_distance("layers", "layer") == 1);
  CHECK(edit_distance("steqs", "steps") == 1);
  CHECK(edit_distance("tarin", "train") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("flaw", "lawn") == 2);
  CHECK(edit_distance("ca", "abc") == 3);  // a swapped pair is not torn apart again
}

TEST_CASE("the nearest name is found, and none where all are far") {
  const std::vector<std::string> names = {"--lr", "--layers", "--min-lr", "--steps", "--seed"};
  CHECK(nearest_name("--layer", names) == "--layers");
  CHECK(nearest_name("-layers", names) == "--layers");
  CHECK(nearest_name("--step", names) == "--steps");
  CHECK(nearest_name("--minlr", names) == "--min-lr");
  CHECK(nearest_name("--l", names) == "--lr");                 // begins two of them
  CHECK(nearest_name("--layers-of-it", names) == "--layers");  // begins with one
  CHECK(nearest_name("--momentum", names).empty());
  CHECK(nearest_name("--", names).empty());
  CHECK(nearest_name("--steps", {}).empty());
  const std::vector<std::string> twins = {"abc", "abd"};
  CHECK(nearest_name("abx", twins) == "abc");
}
