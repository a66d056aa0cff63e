// SPDX-License-Identifier: MIT
// Keeps session ids, principals, negotiated versions and session tags over a restart: with the same tags a cursor of an
// earlier incarnation is told that its events are gone, instead of being taken for another session's. Mode 0600: a
// session id is a credential.
#ifndef MCP_RESUME_EXAMPLES_STATE_FILE_HPP
#define MCP_RESUME_EXAMPLES_STATE_FILE_HPP

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "mcp_resume/resume.hpp"

namespace example {

struct stored_session {
  std::string principal;
  mcp_resume::protocol negotiated = mcp_resume::protocol::v2025_11_25;
  std::uint64_t tag = 0;
};

class state_file {
 public:
  // An empty path keeps nothing. Throws std::runtime_error where the file is there and is not ours.
  explicit state_file(std::string path);

  std::map<std::string, stored_session> sessions() const;
  // Returns false where the file could not be written: then a restart would forget the change.
  bool add(const std::string& session_id, stored_session session);
  bool remove(const std::vector<std::string>& session_ids);

 private:
  void load();
  bool save() const;

  std::string path_;
  mutable std::mutex mutex_;
  std::map<std::string, stored_session> sessions_;
};

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_STATE_FILE_HPP
