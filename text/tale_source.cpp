#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <heed/text/corpus.h>

namespace heed::text {
namespace {

// How text may continue: states with integer weights.
using Fork = std::vector<HiddenChain::Edge>;

struct Share {
  std::uint32_t weight;
  Fork fork;
};

// A fork that takes each share with its weight. The weights of all shares are first scaled to
// a common total.
Fork mix(const std::vector<Share>& shares) {
  const auto total = [](const Fork& fork) {
    std::uint32_t sum = 0;
    for (const auto& edge : fork) sum += edge.weight;
    return sum;
  };
  std::uint32_t common = 1;
  for (const auto& share : shares) common = std::lcm(common, total(share.fork));
  Fork fork;
  for (const auto& share : shares) {
    const std::uint32_t scale = share.weight * (common / total(share.fork));
    for (const auto& edge : share.fork) fork.push_back({edge.target, edge.weight * scale});
  }
  return fork;
}

using Words = std::vector<std::string>;

struct Cast {
  std::string_view pronoun;
  bool plural;
  Words nouns;
};

const Words qualities = {"young", "small", "brave", "quiet", "clever"};
const Words relations = {"near", "under", "behind"};
const Words locations = {"mill", "hill", "bridge", "tree"};
const Words sights = {"see", "find", "like", "follow", "draw"};
const Words looks = {"bright", "round", "golden", "strange"};
const Words things = {"river", "stone", "lamp", "moon", "garden", "song"};
const Words deeds = {"sleep", "sing", "wait", "smile"};
const std::vector<Cast> casts = {
    {"he", false, {"king", "boy", "miller"}},
    {"she", false, {"queen", "girl", "witch"}},
    {"it", false, {"bear", "hare", "crow", "cat"}},
    {"they", true, {"kings", "boys", "queens", "girls", "bears", "hares", "crows", "cats"}},
};

// The states are built from the end of the text to its beginning: each piece is told what follows it.
class Layout {
 public:
  HiddenChain build() {
    const std::size_t space = add(' ', {});
    const std::size_t newline = add('\n', {});
    const Fork stop = {{add('.', {{space, 3}, {newline, 1}}), 1}};
    std::vector<Share> subjects;
    for (const auto& cast : casts) subjects.push_back({cast.plural ? 2u : 1u, sentence(cast, stop)});
    const Fork start = mix(subjects);
    chain_.states[space].next = start;
    chain_.states[newline].next = start;
    return std::move(chain_);
  }

 private:
  std::size_t add(char symbol, Fork next) {
    chain_.states.push_back({symbol, std::move(next)});
    return chain_.states.size() - 1;
  }

  Fork text(std::string_view characters, Fork next) {
    for (auto it = characters.rbegin(); it != characters.rend(); ++it)
      next = {{add(*it, std::move(next)), 1}};
    return next;
  }

  Fork one_of(const Words& words, std::string_view ending, const Fork& next) {
    const Fork after = text(ending, next);
    std::vector<Share> shares;
    for (const auto& word : words) shares.push_back({1, text(word, after)});
    return mix(shares);
  }

  // An article, perhaps an adjective, and a noun.
  Fork noun_phrase(const Words& articles, const Words& describing, const Words& nouns,
                   std::string_view ending, const Fork& next) {
    const Fork noun = one_of(nouns, ending, next);
    return one_of(articles, " ", mix({{1, noun}, {1, one_of(describing, " ", noun)}}));
  }

  Fork sentence(const Cast& cast, const Fork& stop) {
    const std::string_view verb_ending = cast.plural ? "" : "s";
    const Fork deed = one_of(deeds, verb_ending, stop);
    const Fork recall = text(" and " + std::string(cast.pronoun) + " ", deed);
    const Fork object = noun_phrase({"the", "a"}, looks, things, "", mix({{1, stop}, {2, recall}}));
    const Fork verb = one_of(sights, std::string(verb_ending) + " ", object);
    const Fork place = one_of(relations, " the ", one_of(locations, " ", verb));
    const Words articles = {"the", cast.plural ? "some" : "a"};
    return noun_phrase(articles, qualities, cast.nouns, " ", mix({{3, verb}, {2, place}}));
  }

  HiddenChain chain_;
};

}  // namespace

TextSource tale_source() { return TextSource(Layout().build()); }

}  // namespace heed::text
