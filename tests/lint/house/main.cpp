// draw_house ROOT: the rooms of the repository at ROOT and the includes among them, as an SVG
// on standard output.
#include <exception>
#include <iostream>

#include <heed/tests/lint/house/drawing.h>

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: draw_house ROOT\n";
    return 2;
  }
  try {
    const auto tree = heed::lint::read_tree(arguments[1]);
    const auto circles = heed::lint::check_circles(tree);
    for (const auto& circle : circles) std::cerr << circle << "\n";
    if (!circles.empty()) return 1;
    std::cout << heed::lint::house::drawing_of(tree);
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "draw_house: " << error.what() << "\n";
    return 1;
  }
}
