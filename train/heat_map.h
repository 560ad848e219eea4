#pragma once

#include <string>
#include <vector>

namespace heed::train {

/// An inline SVG of one attention map: row i is the query token i, column j the key token j, the ink of a
/// cell grows with the square root of its weight, so that small weights show. Tokens of any bytes are made
/// visible. Weights from 0.05 up carry a tooltip; a weight that is not finite is drawn in the warning colour.
/// Shapes    weights [T, T] row-major, T = tokens.size().
/// Throws    ShapeError.
std::string render_heat_map(const std::vector<std::string>& tokens, const std::vector<float>& weights,
                            const std::string& label);

}  // namespace heed::train
