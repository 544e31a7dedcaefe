import { Effect, Schema } from "effect"
import { typeidUnboxed } from "typeid-js"

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
export const InteractionId = typeId("int", "InteractionId")
export type InteractionId = typeof InteractionId.Type
export const OperationId = typeId("op", "OperationId")
export type OperationId = typeof OperationId.Type

/** A new id of the given kind. Ids made by one process ascend. */
export const newId = <Brand>(schema: {
  readonly prefix: string
  readonly make: (id: string) => Brand
}): Effect.Effect<Brand> => Effect.sync(() => schema.make(typeidUnboxed(schema.prefix)))
