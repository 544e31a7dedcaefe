import { Effect, Schema } from "effect"
import { TypeID } from "typeid-js"
import { unsafeMillis } from "./Timestamp.js"

/**
 * Ids are TypeIDs: a prefix that names the resource, an underscore and the 26 base32 characters of a UUIDv7. They are url-safe,
 * sort by creation time and cannot be mistaken for the id of another resource.
 */
const typeId = <const Prefix extends string, const Brand extends string>(prefix: Prefix, brand: Brand) => {
  const pattern = `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`
  return Object.assign(Schema.String.pipe(Schema.pattern(new RegExp(pattern)), Schema.brand(brand)), {
    prefix,
    pattern
  })
}

export const AccountId = typeId("acct", "AccountId")
export type AccountId = typeof AccountId.Type
export const ApiKeyId = typeId("key", "ApiKeyId")
export type ApiKeyId = typeof ApiKeyId.Type
export const WorkspaceId = typeId("wsp", "WorkspaceId")
export type WorkspaceId = typeof WorkspaceId.Type
export const InvitationId = typeId("inv", "InvitationId")
export type InvitationId = typeof InvitationId.Type
export const ProjectId = typeId("prj", "ProjectId")
export type ProjectId = typeof ProjectId.Type
export const ProjectVersionId = typeId("pver", "ProjectVersionId")
export type ProjectVersionId = typeof ProjectVersionId.Type
export const ConnectionId = typeId("con", "ConnectionId")
export type ConnectionId = typeof ConnectionId.Type
export const CredentialId = typeId("cred", "CredentialId")
export type CredentialId = typeof CredentialId.Type
export const ConnectionLoginId = typeId("clogin", "ConnectionLoginId")
export type ConnectionLoginId = typeof ConnectionLoginId.Type
export const ValidationId = typeId("val", "ValidationId")
export type ValidationId = typeof ValidationId.Type
export const SessionId = typeId("sess", "SessionId")
export type SessionId = typeof SessionId.Type
export const MessageId = typeId("msg", "MessageId")
export type MessageId = typeof MessageId.Type
export const TurnId = typeId("turn", "TurnId")
export type TurnId = typeof TurnId.Type
export const LeaseId = typeId("lease", "LeaseId")
export type LeaseId = typeof LeaseId.Type
export const EventId = typeId("evt", "EventId")
export type EventId = typeof EventId.Type
export const ChangesetId = typeId("cs", "ChangesetId")
export type ChangesetId = typeof ChangesetId.Type
export const ApplicationId = typeId("app", "ApplicationId")
export type ApplicationId = typeof ApplicationId.Type
export const DeliveryId = typeId("dlv", "DeliveryId")
export type DeliveryId = typeof DeliveryId.Type
export const MergeRequestId = typeId("mr", "MergeRequestId")
export type MergeRequestId = typeof MergeRequestId.Type
export const CheckId = typeId("chk", "CheckId")
export type CheckId = typeof CheckId.Type
export const ReviewId = typeId("rvw", "ReviewId")
export type ReviewId = typeof ReviewId.Type
export const ThreadId = typeId("thr", "ThreadId")
export type ThreadId = typeof ThreadId.Type
export const AttentionId = typeId("atn", "AttentionId")
export type AttentionId = typeof AttentionId.Type
export const VerdictId = typeId("vrd", "VerdictId")
export type VerdictId = typeof VerdictId.Type
export const DelegationId = typeId("del", "DelegationId")
export type DelegationId = typeof DelegationId.Type
export const ResultId = typeId("res", "ResultId")
export type ResultId = typeof ResultId.Type
export const WaitId = typeId("wait", "WaitId")
export type WaitId = typeof WaitId.Type
export const JobId = typeId("job", "JobId")
export type JobId = typeof JobId.Type
export const AttemptId = typeId("att", "AttemptId")
export type AttemptId = typeof AttemptId.Type
export const UploadId = typeId("upl", "UploadId")
export type UploadId = typeof UploadId.Type
export const SnapshotId = typeId("snap", "SnapshotId")
export type SnapshotId = typeof SnapshotId.Type
export const ShareId = typeId("shr", "ShareId")
export type ShareId = typeof ShareId.Type
export const SigningKeyId = typeId("skey", "SigningKeyId")
export type SigningKeyId = typeof SigningKeyId.Type
export const InteractionId = typeId("int", "InteractionId")
export type InteractionId = typeof InteractionId.Type
export const ModelCallId = typeId("call", "ModelCallId")
export type ModelCallId = typeof ModelCallId.Type
export const ToolCallId = typeId("tcall", "ToolCallId")
export type ToolCallId = typeof ToolCallId.Type
export const ArtifactId = typeId("art", "ArtifactId")
export type ArtifactId = typeof ArtifactId.Type
export const ClaimId = typeId("claim", "ClaimId")
export type ClaimId = typeof ClaimId.Type
export const WebhookEndpointId = typeId("whe", "WebhookEndpointId")
export type WebhookEndpointId = typeof WebhookEndpointId.Type
export const PushSubscriptionId = typeId("psh", "PushSubscriptionId")
export type PushSubscriptionId = typeof PushSubscriptionId.Type
export const WebhookDeliveryId = typeId("whd", "WebhookDeliveryId")
export type WebhookDeliveryId = typeof WebhookDeliveryId.Type
export const AutomationId = typeId("aut", "AutomationId")
export type AutomationId = typeof AutomationId.Type
export const AutomationRunId = typeId("run", "AutomationRunId")
export type AutomationRunId = typeof AutomationRunId.Type
export const HookId = typeId("hook", "HookId")
export type HookId = typeof HookId.Type
export const HookReceiptId = typeId("hrc", "HookReceiptId")
export type HookReceiptId = typeof HookReceiptId.Type
export const OauthGrantId = typeId("grant", "OauthGrantId")
export type OauthGrantId = typeof OauthGrantId.Type
export const OauthClientId = typeId("ocl", "OauthClientId")
export type OauthClientId = typeof OauthClientId.Type
export const OperationId = typeId("op", "OperationId")
export type OperationId = typeof OperationId.Type

/** The time of the newest id, and its number within the millisecond. */
let newest = { ms: 0, number: 0 }

/** The numbers of one millisecond. The ids beyond them take the next millisecond. */
const numbers = 0x1000

/** Random bytes for the next ids, because 16 bytes cost as much to get as 4096. */
const random = { bytes: new Uint8Array(4096), used: 4096 }

const randomBytes = (count: number): Uint8Array => {
  if (random.used + count > random.bytes.length) {
    crypto.getRandomValues(random.bytes)
    random.used = 0
  }
  random.used += count
  return random.bytes.slice(random.used - count, random.used)
}

/** A UUIDv7 of the time `now`, above all earlier ones of this process, also when the clock goes back. */
const nextUuid = (now: number): Uint8Array => {
  const bytes = randomBytes(16)
  if (now > newest.ms) newest = { ms: now, number: (((bytes[6] ?? 0) << 8) | (bytes[7] ?? 0)) & 0x7ff }
  else if (newest.number + 1 < numbers) newest = { ms: newest.ms, number: newest.number + 1 }
  else newest = { ms: newest.ms + 1, number: 0 }
  for (let index = 0; index < 6; index++) bytes[index] = Math.floor(newest.ms / 2 ** (8 * (5 - index))) & 0xff
  bytes[6] = 0x70 | (newest.number >> 8)
  bytes[7] = newest.number & 0xff
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  return bytes
}

/** A new id of the given kind. Ids made by one process ascend. */
export const newId = <Brand>(schema: {
  readonly prefix: string
  readonly make: (id: string, options: { readonly disableValidation: true }) => Brand
}): Effect.Effect<Brand> =>
  Effect.withFiberRuntime((fiber) => {
    const now = unsafeMillis(fiber)
    return Effect.succeed(schema.make(`${schema.prefix}_${base32(nextUuid(now))}`, { disableValidation: true }))
  })

const digits = new TextEncoder().encode("0123456789abcdefghjkmnpqrstvwxyz")

/** The 26 characters of a TypeID: 128 bits in groups of five, with two zeros before them. */
const base32 = (bytes: Uint8Array): string => {
  const characters: Array<number> = []
  let bits = 0
  let width = 2
  for (const byte of bytes) {
    bits = (bits << 8) | byte
    for (width += 8; width >= 5; bits &= (1 << width) - 1) {
      width -= 5
      characters.push(digits[bits >>> width] ?? 0)
    }
  }
  return String.fromCharCode(...characters)
}

/** Makes every later id sort above this one. Another process may have made it while its clock was ahead. */
export const ascendFrom = (id: string): Effect.Effect<void> =>
  Effect.sync(() => {
    const ms = TypeID.fromString(id)
      .toUUIDBytes()
      .subarray(0, 6)
      .reduce((sum, byte) => sum * 256 + byte, 0)
    if (ms >= newest.ms) newest = { ms, number: numbers - 1 }
  })
