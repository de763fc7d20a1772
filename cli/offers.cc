// proffer offers: lists outstanding offers.

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {

int run_offers(const Words& words) {
  std::string master_flag;
  std::string framework;
  bool json = false;
  Arguments arguments("proffer offers [FRAMEWORK] [--json]",
                      "list outstanding offers with their framework, age and remaining time");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print one JSON object");
  arguments.option("FRAMEWORK", &framework, "only offers to frameworks whose id begins with this");
  arguments.examples({"proffer offers web"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  Result<std::vector<proto::OfferRow>> rows =
      call_list<proto::OfferRow>(*master, "offers", {}, proto::parse_offers);
  if (!rows) return print_error(rows.error(), json);
  std::erase_if(*rows, [&](const proto::OfferRow& row) {
    return !row.framework.str().starts_with(framework);
  });
  if (json) {
    print_json(proto::offers_json(*rows));
    return 0;
  }
  // Ages are relative to the master's clock.
  const Result<CallResult> answer = call(*master, "status", "");
  if (!answer) return print_error(answer.error(), false);
  const Result<proto::MasterStatus> status = proto::parse_status(answer->json);
  if (!status) return print_error(status.error(), false);
  Table table({"OFFER", "FRAMEWORK", "AGENT", "RESOURCES", "AGE", "LEFT"});
  for (const proto::OfferRow& row : *rows) {
    table.row({std::to_string(row.offer.value()), row.framework.str(), row.agent.str(),
               to_text(row.resources), age(status->now - row.made),
               age(row.expires - status->now)});
  }
  table.print();
  return 0;
}

}  // namespace proffer::cli
