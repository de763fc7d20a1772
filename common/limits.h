#pragma once

// Every maximum, with its reason and the behaviour at it. Nothing grows without a maximum.

#include <cstddef>
#include <cstdint>

#include "common/time.h"

namespace proffer {

// Amounts, in milli-units: 2^50 is a thousand times the largest known cluster, and keeps the cross
// products of shares within 128 bits. Parsers and codecs refuse more.
inline constexpr int64_t kAmountMax = int64_t{1} << 50;
// The most of one kind that an agent may have, in milli-units: 2^42 is 4 PiB of memory or disk.
// More is refused, so that the sum over all agents stays countable.
inline constexpr int64_t kAgentAmountMax = int64_t{1} << 42;

// Weights of roles, in milli-weights: 0.001 to 1000. Other weights are refused.
inline constexpr int64_t kWeightMin = 1;
inline constexpr int64_t kWeightMax = 1'000'000;
inline constexpr int64_t kWeightOne = 1'000;

// Durations that people and peers give. Longer ones are refused, since the unit is probably wrong.
inline constexpr Duration kDurationMax = hours(24 * 365 * 10);

// One frame. A larger frame ends the connection (ZMQ_MAXMSGSIZE), and cannot be encoded.
inline constexpr size_t kFrameBytesMax = size_t{1} << 20;
// Parts of a multipart message that a ROUTER reads. The rest is dropped with the message.
inline constexpr size_t kFramePartsMax = 4;
// Words that a Cap'n Proto reader may traverse in one frame: the frame once, and a little more.
inline constexpr size_t kTraversalWordsMax = kFrameBytesMax / 8 + 64 * 1024;
inline constexpr int kNestingMax = 16;
inline constexpr size_t kSegmentsMax = 64;  // of one frame; our frames have one
// Connections that wait to be accepted, when thousands of agents, or an agent's executors,
// reconnect at once. Further ones retry.
inline constexpr int kListenBacklog = 4'096;

// Text fields of messages. The codec refuses longer ones.
inline constexpr size_t kNameBytesMax = 128;
inline constexpr size_t kRoleBytesMax = 512;
inline constexpr size_t kAddressBytesMax = 264;          // a host name of 255 bytes, ':' and a port
inline constexpr size_t kPinBytesMax = 44;               // a SHA-256 in base64
inline constexpr size_t kLimitsTextBytesMax = 512;       // limits that an agent enforces
inline constexpr size_t kPageTextBytesMax = 512;         // beginning of the next page
inline constexpr size_t kTroubleBytesMax = 512;          // why an agent takes no tasks
inline constexpr size_t kCommandShownBytes = 200;        // of a command, for people; cut
inline constexpr size_t kReasonTextBytesMax = 4 * 1024;  // messages for people; senders cut
inline constexpr size_t kCommandBytesMax = 64 * 1024;
inline constexpr size_t kEnvironmentEntriesMax = 1'024;
inline constexpr size_t kEnvironmentBytesMax = 256 * 1024;
inline constexpr size_t kPayloadBytesMax = 512 * 1024;    // a task's data, a message between peers
inline constexpr size_t kUpdateDataBytesMax = 16 * 1024;  // data carried by a status update
inline constexpr size_t kRelayedBytesMax = 256 * 1024;    // requests relayed to a framework
// Requests that wait for an answer: of one scheduler, and in total. Further requests are refused.
inline constexpr size_t kRelaysPerFrameworkMax = 100;
inline constexpr size_t kRelaysMax = 10'000;

// The frameworks' store. Larger entries are refused: it is for state, not for data.
inline constexpr size_t kStoreKeyBytesMax = 512;
inline constexpr size_t kStoreEntryBytesMax = 256 * 1024;    // of one value
inline constexpr size_t kStoreOperationsMax = 256;           // of one request
inline constexpr size_t kStoreRequestBytesMax = 512 * 1024;  // keys and values, each way
inline constexpr size_t kStoreListMax = 1'024;               // keys of one page
inline constexpr size_t kStoreKeysPerFrameworkMax = 4'096;
inline constexpr size_t kStoreBytesPerFrameworkMax = size_t{4} << 20;  // keys and values; its quota
inline constexpr size_t kStoreBytesMax = size_t{256}
                                         << 20;  // of all frameworks, since it is held in memory

inline constexpr size_t kFrameworkUsersMax = 1'024;  // of one framework that serves users
inline constexpr size_t kFetchedFilesMax = 64;       // of one task
inline constexpr size_t kSha256TextBytes = 64;
inline constexpr size_t kTicketBytesMax = 64;  // identifies a launch to a later master
inline constexpr size_t kUriBytesMax = 4'096;
inline constexpr size_t kPathBytesMax = 4'096;
inline constexpr size_t kFileNameBytesMax = 255;  // of one part of a path; the maximum of Linux
// Labels of one task. They are sent with each of its updates, and a page of `proffer tasks` has
// 1,000 rows. So they are for names and numbers, not for data.
inline constexpr size_t kLabelsMax = 32;
inline constexpr size_t kLabelNameBytesMax = 63;
inline constexpr size_t kLabelValueBytesMax = 256;
inline constexpr size_t kLabelsBytesMax = 4 * 1024;  // names and values together
// Secrets of one task. Their values are sent in one frame with the rest of the launch.
inline constexpr size_t kTaskSecretsMax = 32;
inline constexpr size_t kSecretBytesMax = 16 * 1024;  // of one value
// An encrypted value: a nonce, the value, and its authentication code.
inline constexpr size_t kSealedSecretBytesMax = kSecretBytesMax + 64;
// Encrypted secrets of one task, since they share a frame with its command, environment and data.
inline constexpr size_t kTaskSecretBytesMax = 128 * 1024;
inline constexpr size_t kSecretsPerUserMax = 256;
inline constexpr size_t kSecretsMax = 10'000;  // of all users; held in memory
inline constexpr size_t kHealthPathBytesMax = 1'024;
inline constexpr int64_t kHealthFailuresMax = 1'000;
inline constexpr size_t kJsonBytesMax = 768 * 1024;  // calls and replies
inline constexpr int kJsonDepthMax = 32;
inline constexpr size_t kReplyRowsMax = 1'000;

// Lists in one message.
inline constexpr size_t kAsksMax = 256;        // of one framework; refused with an error
inline constexpr size_t kConstraintsMax = 32;  // of one ask
inline constexpr size_t kConstraintValuesMax = 64;
inline constexpr size_t kConstraintTextBytesMax = 1'024;
inline constexpr size_t kMaxPerMax = 8;               // of one ask
inline constexpr size_t kPreferredMax = 256;          // of one ask: hosts, and likewise racks
inline constexpr int64_t kGangMax = 1'024;            // tasks; one accept names all its offers
inline constexpr size_t kAttributesMax = 64;          // of one agent
inline constexpr size_t kOffersPerMessageMax = 256;   // further offers are sent in further messages
inline constexpr size_t kOfferIdsMax = 1'024;         // named in one accept, decline or rescind
inline constexpr size_t kOperationsMax = 1'024;       // of one accept
inline constexpr size_t kSlicesMax = 64;              // of one agent or offer
inline constexpr size_t kTasksPerMessageMax = 1'024;  // reregister and reconcile are sent in parts
inline constexpr size_t kPortRangesMax = 256;
inline constexpr size_t kGpuDevicesMax = 64;  // of one agent
inline constexpr size_t kPortNamesMax = 64;   // dynamic ports of one task
inline constexpr int64_t kAskCountMax = 10'000'000;

// Bounds of one process.
inline constexpr size_t kPeersMax = 20'000;  // sessions of a master; more are refused
// Connections of one user other than root and the master's own. Further ones are closed when they
// come.
inline constexpr size_t kConnectionsPerUserMax = 4'000;
inline constexpr Duration kFirstMessageMax = seconds(60);  // then the connection is closed
inline constexpr size_t kLocalPeersMax = 12'000;       // of an agent: kTasksPerAgentMax and some
                                                       // more
inline constexpr size_t kOutgoingPerPeerMax = 20'000;  // frames to a slow peer; then dropped
inline constexpr size_t kOutgoingBytesPerPeerMax = size_t{64} << 20;  // as above, in bytes
inline constexpr size_t kFrameworksMax = 10'000;
inline constexpr size_t kRolesMax = 10'000;   // roles that have settings
inline constexpr size_t kRoleUsersMax = 256;  // of one role
inline constexpr size_t kKeysMax = 50'000;    // registered keys and join tokens
inline constexpr Duration kJoinTokenAgeMax = hours(24 * 7);
inline constexpr Duration kFileTokenAge = minutes(5);  // of a token for files of another machine
inline constexpr size_t kFrameworkSeriesMax = 100;     // in /metrics; the rest in one sum
inline constexpr size_t kGoneAgentsMax = 1'000;        // remembered; the oldest are forgotten first
inline constexpr size_t kGoneSecretsMax = 8;           // of earlier agents of one name
inline constexpr Duration kGoneAgentAge = hours(24 * 7);  // then a gone agent is forgotten
inline constexpr size_t kFormerBootsMax = 8;              // of one agent, kept by a master
inline constexpr size_t kReservationsPerAgentMax = 60;    // by operations; each is a slice
inline constexpr size_t kTasksPerAgentMax = 10'000;       // further launches are refused
// Releases of files. Releases beyond a bound are forgotten: those files stay until they are old.
inline constexpr size_t kReleasedNamesMax = 64;        // in one message, maybe to all agents
inline constexpr size_t kReleasedAgentsMax = 1'024;    // named in one message
inline constexpr size_t kReleasesKeptMax = 64;         // of one agent in a master; in a driver
inline constexpr size_t kReleasesWaitingMax = 1'000;   // in an agent, until their tasks have ended
inline constexpr size_t kEndedTasksKept = 10'000;      // in the master, for `tasks --all`
inline constexpr size_t kUnacknowledgedMax = 200'000;  // updates waiting in the master in all
inline constexpr size_t kExecutorRunsMax = 1'024;      // tasks that an executor's hello names
inline constexpr size_t kUpdatesPerTaskMax = 64;       // unacknowledged, of one task
inline constexpr size_t kFiltersPerFrameworkMax = 20'000;
inline constexpr size_t kMessagesPerTurn = 256;  // handled before the loop checks its timers

// Durable state.
inline constexpr size_t kStoreValueBytesMax = size_t{1} << 20;  // of one record; larger is a bug
inline constexpr size_t kStoreQueuedMax = 100'000;  // batches waiting for the disk; then it fails
inline constexpr size_t kStoreServedMax = 20'000;   // then the master reads no further frames
inline constexpr size_t kStoreGroupMax = 4'096;     // batches in one transaction; the rest waits
inline constexpr size_t kCheckpointRecordBytesMax = size_t{2} << 20;  // of one record; refused
inline constexpr size_t kCheckpointRewriteBytes = size_t{1} << 20;    // smaller logs are left alone

// Defaults (DESIGN §11).
inline constexpr Duration kHeartbeatInterval = seconds(5);
inline constexpr Duration kAgentTimeout = seconds(30);
inline constexpr Duration kReregistrationTimeout = minutes(10);
// The brake on lost agents: in a period this percentage of the agents may be given up, and always
// at least this number.
inline constexpr int64_t kAgentLossPercent = 10;
inline constexpr int64_t kAgentLossFloor = 5;
inline constexpr Duration kAgentLossPeriod = minutes(10);
inline constexpr Duration kOfferTimeout = seconds(30);
// For a scheduler that does not answer: its lease is halved each time, down to this.
inline constexpr Duration kOfferTimeoutMin = seconds(2);
inline constexpr Duration kDeclineFilter = seconds(5);
inline constexpr Duration kFailoverTimeout = hours(24 * 7);
inline constexpr Duration kAttachedFailoverTimeout = seconds(10);
// A standby takes a framework over when its scheduler has been away for this time. A scheduler
// reconnects faster after a lost connection or a restart of its master.
inline constexpr Duration kStandbyPatience = seconds(3);
inline constexpr Duration kExecutorWaitsForAgent = minutes(10);
// The time for an executor to reconnect after its agent restarted; then it is ended. It is several
// times the longest wait between its attempts to connect.
inline constexpr Duration kExecutorReregisterTimeout = seconds(10);
inline constexpr Duration kClaimAfter = seconds(30);
inline constexpr Duration kRevokeGrace = seconds(10);
inline constexpr Duration kMinimumRuntime = seconds(30);
inline constexpr Duration kReclaimPatience = minutes(2);  // for an ask that has its fair share
inline constexpr int64_t kRevokesPerMinute = 10;
inline constexpr Duration kKillGrace = seconds(5);
// Consecutive accepts that launched nothing: after the second of one ask, or of open offers, the
// wait doubles with each further one. The wait of the whole framework begins later.
inline constexpr int64_t kFreeFailuresOfAsk = 1;
inline constexpr int64_t kFreeFailuresOfFramework = 16;
inline constexpr Duration kBackOffFirst = milliseconds(100);
inline constexpr Duration kBackOffMax = seconds(30);

}  // namespace proffer
