#include <algorithm>
#include <barrier>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <heed/core/allocator.h>
#include <heed/core/elements.h>
#include <heed/core/factory.h>
#include <heed/core/pool.h>
#include <heed/core/storage.h>

using namespace heed;

namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20;

bool aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 64 == 0; }

}  // namespace

TEST_CASE("storage is aligned and writable to its last byte at every size", "[storage]") {
  for (std::size_t bytes = 0; bytes <= 2048; ++bytes) {
    const Ref<Storage> s = Storage::allocate(bytes);
    REQUIRE(s->bytes() == bytes);
    REQUIRE(aligned(s->data()));
    std::memset(s->data(), 0xAB, bytes);
    REQUIRE(s->version() == 0);
  }
  for (const std::size_t around : {std::size_t{4096}, std::size_t{65536}, megabyte}) {
    for (std::size_t bytes = around - 1; bytes <= around + 1; ++bytes) {
      const Ref<Storage> s = Storage::allocate(bytes);
      REQUIRE(aligned(s->data()));
      std::memset(s->data(), 0xAB, bytes);
    }
  }
}

TEST_CASE("live and peak bytes count data blocks exactly", "[storage]") {
  const std::int64_t before = memory_stats().live;
  reset_peak_bytes();
  CHECK(memory_stats().peak == before);
  {
    const Ref<Storage> a = Storage::allocate(100000);
    CHECK(memory_stats().live == before + 100000);
    { const Ref<Storage> b = Storage::allocate(50000); }
    CHECK(memory_stats().live == before + 100000);
  }
  CHECK(memory_stats().live == before);
  CHECK(memory_stats().peak == before + 150000);
  reset_peak_bytes();
  CHECK(memory_stats().peak == before);
}

TEST_CASE("freed blocks are reused, and release_cached gives them back", "[storage]") {
  release_cached();
  CHECK(memory_stats().cached == 0);
  const std::byte* data = nullptr;
  {
    const Ref<Storage> a = Storage::allocate(100000);
    data = a->data();
  }
  if (!caching_enabled()) {
    CHECK(memory_stats().cached == 0);
    return;
  }
  const std::int64_t kept = memory_stats().cached;
  CHECK(kept >= 100000);
  CHECK(kept <= 112500);  // size classes waste less than an eighth
  {
    const Ref<Storage> again = Storage::allocate(99999);
    CHECK(again->data() == data);
    CHECK(memory_stats().cached == 0);
  }
  CHECK(memory_stats().cached == kept);
  release_cached();
  CHECK(memory_stats().cached == 0);
}

TEST_CASE("an allocation that cannot succeed throws and counts nothing", "[storage]") {
  const MemoryStats before = memory_stats();
  CHECK_THROWS_AS(Storage::allocate(std::size_t{1} << 62), std::bad_alloc);
  CHECK_THROWS_AS(Storage::allocate(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
  // A sanitizer would end the program instead.
  if (caching_enabled()) CHECK_THROWS_AS(Storage::allocate((std::size_t{1} << 62) - 1), std::bad_alloc);
  CHECK(memory_stats().live == before.live);
  CHECK(memory_stats().peak == before.peak);
}

TEST_CASE("a window shares bytes under a version of its own", "[storage]") {
  Ref<Storage> whole = Storage::allocate(1024);
  const Ref<Storage> head = Storage::window(whole, 0, 512);
  const Ref<Storage> tail = Storage::window(whole, 512, 512);
  CHECK(tail->data() == whole->data() + 512);
  CHECK(tail->bytes() == 512);
  tail->bump_version();
  CHECK(tail->version() == 1);
  CHECK(head->version() == 0);
  CHECK(whole->version() == 0);
}

TEST_CASE("a window keeps the whole alive", "[storage]") {
  int released = 0;
  std::vector<std::byte> bytes(64);
  Ref<Storage> whole = Storage::borrow(bytes.data(), 64, [&] { ++released; });
  Ref<Storage> part = Storage::window(Storage::window(whole, 16, 32), 8, 8);
  CHECK(part->data() == bytes.data() + 24);
  whole = {};
  CHECK(released == 0);
  part = {};
  CHECK(released == 1);
}

TEST_CASE("borrowed memory is released once, after the last view", "[storage]") {
  std::vector<float> values = {1, 2, 3, 4};
  int released = 0;
  {
    Tensor row;
    {
      Tensor x = from_blob(values.data(), {2, 2}, DType::f32, [&] { ++released; });
      row = view_of(x, select_view("select", x.view(), 0, 1));
      const Tensor copied = x;
      const Tensor detached = x.detach();
    }
    CHECK(released == 0);
    row.fill_(9);
    CHECK(values == std::vector<float>{1, 2, 9, 9});
  }
  CHECK(released == 1);
  const Tensor silent = from_blob(values.data(), {4}, DType::f32);
  CHECK(silent.to_vector<float>() == values);
}

TEST_CASE("memory that is not the library's own alone is never reused in place", "[storage]") {
  const Ref<Storage> whole = Storage::allocate(64);
  const Tensor part(Storage::window(whole, 0, 32), contiguous_view({4}), DType::f64);
  CHECK_FALSE(part.owns_storage_alone());
  std::vector<double> values(4);
  CHECK_FALSE(from_blob(values.data(), {4}, DType::f64).owns_storage_alone());
  const Tensor own = zeros({4});
  CHECK(own.owns_storage_alone());
  const Tensor view = own.detach();
  CHECK_FALSE(own.owns_storage_alone());
}

TEST_CASE("tensors made by one thread and dropped by another do not pile up", "[storage]") {
  if (!caching_enabled()) return;
  // 80 000 tensors change hands, 200 at a time.
  std::vector<const void*> places;
  const auto make = [&] {
    std::vector<Tensor> basket;
    for (int i = 0; i < 200; ++i) basket.push_back(zeros({4}));
    for (const Tensor& x : basket) places.push_back(x.impl());
    return basket;
  };
  SECTION("by threads that end") {
    for (int round = 0; round < 400; ++round) {
      std::thread([basket = make()]() mutable { basket.clear(); }).join();
    }
  }
  SECTION("by one thread that stays") {
    std::vector<Tensor> basket;
    std::barrier turn(2);
    std::thread other([&] {
      for (int round = 0; round < 400; ++round) {
        turn.arrive_and_wait();
        basket.clear();
        turn.arrive_and_wait();
      }
    });
    for (int round = 0; round < 400; ++round) {
      basket = make();
      turn.arrive_and_wait();
      turn.arrive_and_wait();
    }
    other.join();
  }
  std::sort(places.begin(), places.end());
  const auto distinct = std::unique(places.begin(), places.end()) - places.begin();
  CHECK(distinct < 4000);  // two lists of a slab each a thread, and what is in the basket
}
