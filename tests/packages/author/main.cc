#include "hello.h"

int main(int argc, char** argv) {
  proffer::sdk::Scheduler self(proffer::sdk::options_from(argc, argv, "hello"));
  int left = 5;
  hello::say_hello(self, left);
  return self.run();
}
