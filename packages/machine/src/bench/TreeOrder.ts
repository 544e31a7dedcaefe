import { ExecutorLimits } from "@reins/base/domain/ExecutorLimits"
import { ChangesetId, SessionId } from "@reins/base/domain/Ids"
import { NetworkAccess } from "@reins/base/domain/NetworkAccess"
import { Redacted, Schema } from "effect"

/** A secret of a program's environment, which is told apart from a plain value on the way too. */
const SecretValue = Schema.transform(Schema.Struct({ secret: Schema.String }), Schema.RedactedFromSelf(Schema.String), {
  strict: true,
  decode: ({ secret }) => Redacted.make(secret),
  encode: (value) => ({ secret: Redacted.value(value) })
})

/** The variables that a program gets. Those that are secrets are redacted. */
export const AgentVariables = Schema.Record({ key: Schema.String, value: Schema.Union(Schema.String, SecretValue) })
export type AgentVariables = typeof AgentVariables.Type

/** The credential with which git asks a remote. */
export const GitLogin = Schema.Union(
  Schema.Struct({ username: Schema.String, password: Schema.Redacted(Schema.String) }),
  Schema.Struct({ token: Schema.Redacted(Schema.String) }),
  Schema.Struct({ privateKey: Schema.Redacted(Schema.String), knownHosts: Schema.String })
)

/** A command that prepares the files of a session. */
export const SetupCommand = Schema.Struct({
  name: Schema.String,
  argv: Schema.Array(Schema.String),
  timeout_seconds: Schema.Int
})
export type SetupCommand = typeof SetupCommand.Type

/** The bounds that the executor of an agent, or of a setup, has to enforce. */
export const ExecutorBounds = Schema.Struct({
  networks: Schema.optionalWith(Schema.Array(NetworkAccess), { exact: true }),
  limits: Schema.optionalWith(Schema.typeSchema(ExecutorLimits), { exact: true })
})

/** The commands that prepare the files of a session. */
export const SetupOrder = Schema.Struct({
  steps: Schema.Array(SetupCommand),
  variables: AgentVariables,
  /** The hosts that the commands may connect to; absent where the project says nothing. */
  network: Schema.optionalWith(NetworkAccess, { exact: true }),
  /** The limits of each command; absent for those of the executor. */
  limits: Schema.optionalWith(Schema.typeSchema(ExecutorLimits), { exact: true }),
  backend: Schema.String,
  bounds: ExecutorBounds,
  /** All that the result depends on besides the base. Sessions for which it is the same share the result. */
  sameness: Schema.Record({ key: Schema.String, value: Schema.Unknown })
})
export type SetupOrder = typeof SetupOrder.Type

/** The commit and the branch that the files of a session start from. */
export const TreeBase = Schema.Struct({
  base_commit: Schema.NullOr(Schema.String),
  base_ref: Schema.NullOr(Schema.String)
})
export type TreeBase = typeof TreeBase.Type

/** The repository of a session, and what of it the session has. */
export const TreeOrigin = Schema.Struct({
  session: SessionId,
  /** The tenant. Sessions of one share the objects of a repository, and no two tenants do. */
  workspace: Schema.String,
  /** The URL; null for files that begin empty. */
  repository: Schema.NullOr(Schema.String),
  ...TreeBase.fields,
  /** The folders that the working tree holds; null for all. */
  sparse: Schema.NullOr(Schema.Array(Schema.String))
})
export type TreeOrigin = typeof TreeOrigin.Type

/** The place of the objects of a changeset: a session of this bench, or a directory that was made of a snapshot for the while. */
export const ObjectSource = Schema.Union(
  Schema.Struct({ session: SessionId }),
  Schema.Struct({ scratch: Schema.String })
)
export type ObjectSource = typeof ObjectSource.Type

/** The tree of a changeset that new files take on top of their base. */
export const TreeSeed = Schema.Struct({
  changeset: ChangesetId,
  base: Schema.NullOr(Schema.String),
  tree: Schema.String
})
export type TreeSeed = typeof TreeSeed.Type

/** The files of a session that are to be made. */
export const TreeOrder = Schema.Struct({
  ...TreeOrigin.fields,
  seed: Schema.NullOr(TreeSeed),
  setup: Schema.NullOr(SetupOrder)
})
export type TreeOrder = typeof TreeOrder.Type
