#pragma once

// Makes the core's events for the methods that change something (master/shell/routes.h).

#include <string_view>

#include "master/shell/routes.h"

namespace proffer::master {

Result<MasterEvent> kill_event(std::string_view arguments, uint64_t call, const PrincipalPtr& by);
Result<MasterEvent> teardown_event(std::string_view arguments, uint64_t call,
                                   const PrincipalPtr& by);
Result<MasterEvent> drain_event(std::string_view arguments, uint64_t call, const PrincipalPtr& by);
Result<MasterEvent> undrain_event(std::string_view arguments, uint64_t call,
                                  const PrincipalPtr& by);
Result<MasterEvent> agent_gone_event(std::string_view arguments, uint64_t call,
                                     const PrincipalPtr& by);
Result<MasterEvent> brake_lift_event(std::string_view arguments, uint64_t call,
                                     const PrincipalPtr& by);
Result<MasterEvent> role_set_event(std::string_view arguments, uint64_t call,
                                   const PrincipalPtr& by);
Result<MasterEvent> reserve_event(std::string_view arguments, uint64_t call,
                                  const PrincipalPtr& by);
Result<MasterEvent> unreserve_event(std::string_view arguments, uint64_t call,
                                    const PrincipalPtr& by);
Result<MasterEvent> join_token_event(std::string_view arguments, uint64_t call,
                                     const PrincipalPtr& by);
Result<MasterEvent> join_event(std::string_view arguments, uint64_t call, const PrincipalPtr& by);
Result<MasterEvent> key_rotate_event(std::string_view arguments, uint64_t call,
                                     const PrincipalPtr& by);
Result<MasterEvent> key_revoke_event(std::string_view arguments, uint64_t call,
                                     const PrincipalPtr& by);
Result<MasterEvent> secret_remove_event(std::string_view arguments, uint64_t call,
                                        const PrincipalPtr& by);

}  // namespace proffer::master
