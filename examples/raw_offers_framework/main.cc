// Open offers, no asks: all free resources are offered, and the scheduler decides how to use them
// (raw_offers.h).
//
//   --disk=ssd   only on agents with that attribute
#include <iostream>

#include "examples/flags.h"
#include "examples/raw_offers_framework/raw_offers.h"
#include "sdk/scheduler.h"

int main(int argc, char** argv) {
  proffer::sdk::SchedulerOptions options = proffer::sdk::options_from(argc, argv, "raw", {"disk"});
  options.mode = proffer::OfferMode::kOpen;
  proffer::sdk::Scheduler self(options);
  examples::raw_offers(self, examples::text_flag(argc, argv, "disk", ""), std::cout);
  return self.run();
}
