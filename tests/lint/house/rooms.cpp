#include <algorithm>
#include <map>

#include <heed/tests/lint/house/rooms.h>

namespace heed::lint::house {
namespace {

std::string words_of(const std::string& room) {
  static const std::map<std::string, std::string> table = {
      {"numeric", "extrapolation; needs std alone"},
      {"core", "tensors, the tape, threads"},
      {"ops", "operations and gradients"},
      {"ops/attention", "masks and forms"},
      {"ops/kernels", "SIMD, products"},
      {"nn", "modules and initialisation"},
      {"optim", "rules, schedules, clipping"},
      {"io", "safetensors, npy, files"},
      {"text", "tokenizers, corpora, loaders"},
      {"lm", "weights, sampling, scoring"},
      {"check", "provers: gradients, causality"},
      {"train", "what a training loop needs"},
      {"train/report", "log and page"},
      {"train/distributed", "ranks that reduce"},
      {"programs", "may use all rooms"},
      {"app", "the program heed"},
      {"examples", "recipes to read"},
  };
  const auto found = table.find(room);
  return found == table.end() ? "" : found->second;
}

/// The room of the drawing in which a room lies: programs share one.
std::string box_of(const std::string& room) {
  const std::string outer = outer_room(room);
  return outer == "app" || outer == "examples" ? "programs" : outer;
}

void count(Room& room, const SourceFile& file) {
  ++room.files;
  room.lines += static_cast<int>(std::count(file.text.begin(), file.text.end(), '\n'));
}

/// The room of that name, which is put at the end where there is none.
Room& room_among(std::vector<Room>& rooms, const std::string& name) {
  const auto found =
      std::find_if(rooms.begin(), rooms.end(), [&](const Room& room) { return room.name == name; });
  if (found != rooms.end()) return *found;
  rooms.push_back({name, words_of(name)});
  return rooms.back();
}

/// Rooms inside, so that arrows among neighbours go to the right.
void sort_inner(Room& room, const IncludeGraph& graph) {
  const auto below = [&](const Room& inner) {
    const auto targets = graph.find(inner.name);
    return targets == graph.end()
               ? std::ptrdiff_t{0}
               : std::count_if(room.inner.begin(), room.inner.end(),
                               [&](const Room& other) { return targets->second.count(other.name) == 1; });
  };
  std::vector<std::pair<std::ptrdiff_t, std::string>> order;
  for (const Room& inner : room.inner) order.emplace_back(-below(inner), inner.name);
  std::sort(order.begin(), order.end());
  std::vector<Room> sorted;
  for (const auto& place : order) sorted.push_back(room_among(room.inner, place.second));
  room.inner = std::move(sorted);
}

}  // namespace

House house_of(const Tree& tree) {
  House house;
  Tree drawn;
  for (const auto& file : tree) {
    const std::string name = room_of(file.path);
    const std::string box = box_of(name);
    if (!is_cpp(file) || !(in_library(file.path) || box == "programs")) continue;
    Room& outer = room_among(house.rooms, box);
    count(outer, file);
    if (name != outer.name) count(room_among(outer.inner, name), file);
    drawn.push_back(file);
  }
  const IncludeGraph graph = rooms_graph(drawn);
  for (Room& room : house.rooms) sort_inner(room, graph);
  for (const auto& [from, targets] : graph) {
    for (const auto& [to, where] : targets) {
      const std::string a = box_of(from), b = box_of(to);
      if (a != b) house.arrows[a].try_emplace(b, where);
      if (a == b && a != from && b != to) house.inner_arrows.emplace(from, to);
    }
  }
  house.arrows = without_implied(house.arrows);
  return house;
}

}  // namespace heed::lint::house
