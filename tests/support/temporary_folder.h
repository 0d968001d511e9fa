#ifndef PAGED_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
#define PAGED_TESTS_SUPPORT_TEMPORARY_FOLDER_H_

#include <string>

namespace paged::testing {

// A new folder for each object, whoever runs the same test at the same time.
// Removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  // Of a file in it.
  std::string PathOf(const std::string& name) const {
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

}  // namespace paged::testing

#endif  // PAGED_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
