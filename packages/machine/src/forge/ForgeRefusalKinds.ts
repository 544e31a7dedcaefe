import type { ForgeErrorKind } from "./ForgeCalls.js"

/** The meaning of a refusal of a forge. */
export type ForgeRefusalKind =
  | "credential"
  | "limit"
  | "organisation"
  | "permission"
  | "forbidden"
  | "network"
  | "away"
  | "gone"
  | "exists"
  | "empty"
  | "no_drafts"
  | "branch"
  | "method"
  | "queue"
  | "rule"
  | "conflict"
  | "moving"
  | "head_moved"
  | "other"

/** The kind of error that a refusal becomes. */
export const forgeErrorKinds: Readonly<Record<ForgeRefusalKind, ForgeErrorKind>> = {
  credential: "unauthenticated",
  limit: "rate_limited",
  organisation: "forbidden",
  permission: "forbidden",
  forbidden: "forbidden",
  network: "forbidden",
  away: "unavailable",
  gone: "not_found",
  exists: "exists",
  empty: "rejected",
  no_drafts: "rejected",
  branch: "rejected",
  method: "not_mergeable",
  queue: "not_mergeable",
  rule: "not_mergeable",
  conflict: "not_mergeable",
  moving: "unavailable",
  head_moved: "remote_head_changed",
  other: "rejected"
}
