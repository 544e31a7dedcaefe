import type { AgentMissing } from "@reins/machine/bench/Agents"
import type { GitError } from "@reins/machine/repository/run/GitError"
import { Data } from "effect"
import type { Unopenable } from "../../connections/ConnectionStore.js"
import type { TurnReason } from "../../sessions/rows/Turn.js"

/** The reason that a turn could not be started. A `retryable` refusal is temporary. */
export class TurnRefused extends Data.TaggedError("TurnRefused")<{
  readonly reason: TurnReason
  readonly message: string
  readonly retryable: boolean
}> {}

/** The record is whole, and the session goes on with it where its paths are given. */
export const otherPaths = (backend: string) =>
  unavailable(
    `The agent keeps its record of this conversation under the paths of a sandbox, which the executor "${backend}" cannot give it. ` +
      "Release the executor and activate the session in a sandbox again, or create a new session with a summary as its first message."
  )

const unavailable = (message: string): TurnRefused =>
  new TurnRefused({ reason: "executor_unavailable", message, retryable: false })

/** The refusal for an agent that cannot run here. A provider that was added and is gone again leaves its sessions behind. */
export const notThere = (providerId: string, { message, reason }: AgentMissing): TurnRefused => {
  if (reason === "no_executor") return unavailable(message)
  return reason === "no_provider"
    ? unavailable(
        `This server has no provider ${providerId} any more. Enable it again, or put its manifest back in the place it came from.`
      )
    : unavailable(
        `The agent of ${providerId} is not installed on this server. Run: reins harnesses install ${providerId}`
      )
}

/** An agent would begin in an empty directory, and everything that was not captured would look deleted. */
export const filesMissing = unavailable(
  "The files of this session are not on this machine. If another machine has them, run the turn there; if they were removed, restore them " +
    "from a backup, or create a new session from a changeset of this one."
)

export const treeNotMade = (error: GitError): TurnRefused =>
  new TurnRefused({
    reason: error.kind === "quota_exhausted" ? "quota_exhausted" : "executor_unavailable",
    message: `The workspace could not be made. ${error.message}`,
    retryable: mayPass(error)
  })

/** True for temporary failures of a remote. */
export const mayPass = ({ kind }: GitError): boolean => kind === "remote_unavailable" || kind === "timeout"

/** The reason that a turn gives for each refusal of its connection. */
const connectionReasons = {
  not_found: "connection_required",
  connection_revoked: "connection_required",
  connection_required: "connection_required",
  credential_invalid: "credential_invalid"
} as const satisfies Record<Unopenable["code"], TurnReason>

export const connectionRefused = (error: Unopenable): TurnRefused =>
  new TurnRefused({ reason: connectionReasons[error.code], message: error.message, retryable: false })

export const contextChanged = new TurnRefused({
  reason: "context_unavailable",
  message:
    "The agent's own record of this conversation was changed or lost since its last turn, so it cannot go on with it. " +
    "Create a new session with a summary as its first message.",
  retryable: false
})
