// SPDX-License-Identifier: MIT
#include "state_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

namespace example {
namespace {

using nlohmann::json;

// Writes all of the text to a new file that nobody else can read, and to the disk.
bool write_privately(const std::string& path, const std::string& text) {
  ::unlink(path.c_str());
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return false;
  std::size_t written = 0;
  while (written != text.size()) {
    const ssize_t n = ::write(file, text.data() + written, text.size() - written);
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  const bool is_on_disk = written == text.size() && ::fsync(file) == 0;
  return ::close(file) == 0 && is_on_disk;
}

std::optional<stored_session> stored_of(const json& kept) {
  const auto text = [&kept](const char* name) { return kept.is_object() ? kept.value(name, json()) : json(); };
  const json principal = text("principal"), version = text("version"), tag = text("tag");
  if (!principal.is_string() || !version.is_string() || !tag.is_number_unsigned()) return std::nullopt;
  const auto negotiated = mcp_resume::parse_protocol(version.get<std::string>());
  if (!negotiated) return std::nullopt;
  return stored_session{principal, *negotiated, tag};
}

}  // namespace

state_file::state_file(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) load();
}

std::map<std::string, stored_session> state_file::sessions() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return sessions_;
}

bool state_file::add(const std::string& session_id, stored_session session) {
  const std::lock_guard<std::mutex> guard(mutex_);
  sessions_[session_id] = std::move(session);
  return save();
}

bool state_file::remove(const std::vector<std::string>& session_ids) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::size_t removed = 0;
  for (const std::string& id : session_ids) removed += sessions_.erase(id);
  return removed == 0 || save();
}

void state_file::load() {
  std::ifstream file(path_, std::ios::binary);
  if (!file && errno == ENOENT) return;  // the first start
  const json all = json::parse(file, nullptr, false);
  const auto refuse = [this] { throw std::runtime_error(path_ + " is no state file"); };
  if (!all.is_object()) refuse();
  for (const auto& [id, kept] : all.items()) {
    const std::optional<stored_session> stored = stored_of(kept);
    if (!stored) refuse();
    sessions_[id] = *stored;
  }
}

// The new file takes the old one's place in one step, so that a crash leaves one of the two.
bool state_file::save() const {
  if (path_.empty()) return true;
  json all = json::object();
  for (const auto& [id, kept] : sessions_) {
    all[id] = {{"principal", kept.principal}, {"version", to_string(kept.negotiated)}, {"tag", kept.tag}};
  }
  const std::string fresh = path_ + ".new";
  return write_privately(fresh, all.dump() + "\n") && std::rename(fresh.c_str(), path_.c_str()) == 0;
}

}  // namespace example
