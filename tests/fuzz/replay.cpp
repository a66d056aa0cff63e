// SPDX-License-Identifier: MIT
// A fuzzer's main for any compiler: runs the inputs that it is given, files or directories of them, once each. So what
// fuzzing has found stays a test.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "input.hpp"

namespace {

std::vector<std::filesystem::path> files_in(const std::filesystem::path& place) {
  if (!std::filesystem::is_directory(place)) return {place};
  std::vector<std::filesystem::path> files;
  for (const auto& each : std::filesystem::directory_iterator(place)) files.push_back(each.path());
  std::sort(files.begin(), files.end());
  return files;
}

bool run(const std::filesystem::path& path) {
  std::printf("%s\n", path.string().c_str());
  std::fflush(stdout);  // the name stands before whatever stops the program
  std::ifstream in(path, std::ios::binary);
  if (!in) return false;
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  return LLVMFuzzerTestOneInput(bytes.data(), bytes.size()) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const std::filesystem::path& each : files_in(argv[i])) {
      if (!run(each)) return 1;
      ++inputs;
    }
  }
  std::printf("%zu inputs\n", inputs);
  return inputs == 0 ? 1 : 0;  // a corpus that has moved is no success
}
