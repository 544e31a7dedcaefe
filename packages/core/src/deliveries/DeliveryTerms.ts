import type { ConnectionId } from "@reins/base/domain/Ids"
import { oneOf } from "@reins/base/domain/Installed"
import type { Principal } from "@reins/base/domain/Principal"
import { branchName, isRefName } from "@reins/base/domain/RefName"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Array as Arr, Effect, ParseResult, Schema } from "effect"
import type { Changeset } from "../changes/Changeset.js"
import { ConnectionKinds } from "../connections/ConnectionKinds.js"
import { Connections } from "../connections/Connections.js"
import { Projects } from "../projects/Projects.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { defaultBranches, notBranch } from "./BranchName.js"
import type { DeliveryInput } from "./DeliveriesApi.js"
import { DeliveryStore, type DeliveryTarget } from "./DeliveryStore.js"

/**
 * Gives the function that finds the targets of a requested delivery, the best first. There are several where no branch is asked for, because
 * another branch of the remote may be in the way. With `onto: head` it is one that the session has delivered. The project version of the session fills in the transport and the
 * prefix of the branch where the request leaves them open. Fails with `connection_required` for a connection that git cannot use, and with
 * `invalid_transition` for a branch of a session without a repository, and for the head of a branch that the session has not delivered.
 */
export const deliveryTargets = Effect.gen(function* () {
  const connections = yield* Connections
  const { forGit } = yield* ConnectionKinds
  const projects = yield* Projects
  const openBranch = yield* makeOpenBranch

  const requireGit = Effect.fnUntraced(function* (principal: Principal, session: SessionRow, id: ConnectionId) {
    const connection = yield* connections.get(principal, id)
    if (connection.workspace_id !== session.workspace_id) return yield* notFound()
    if (!forGit.includes(connection.kind)) return yield* notGit(connection.kind, forGit)
  })

  return Effect.fnUntraced(function* (
    principal: Principal,
    session: SessionRow,
    changeset: Changeset,
    input: DeliveryInput
  ) {
    if (input.connection_id !== undefined) yield* requireGit(principal, session, input.connection_id)
    const { delivery } = yield* projects.specOf(session)
    if (input.onto === "head") {
      const targetRef = yield* openBranch(session, input)
      return Arr.of<DeliveryTarget>({ changesetId: changeset.id, transport: "git_branch", targetRef })
    }
    const transport =
      input.transport ?? delivery?.transport ?? (session.tree.repository === null ? "patch" : "git_branch")
    if (transport === "git_branch" && session.tree.repository === null) return yield* noRepository
    const names =
      input.target_ref === undefined
        ? defaultBranches((delivery?.branch_prefix ?? "reins").replace(/\/$/, ""), session.id, changeset.id)
        : Arr.of(branchName(input.target_ref))
    if (!names.every(isRefName)) return yield* notBranch("target_ref", input.target_ref)
    return Arr.map(names, (targetRef): DeliveryTarget => ({ changesetId: changeset.id, transport, targetRef }))
  })
})

/** Finds the branch that a commit on top of a head goes to. */
const makeOpenBranch = Effect.gen(function* () {
  const store = yield* DeliveryStore
  return Effect.fnUntraced(function* (session: SessionRow, { target_ref, transport, update_strategy }: DeliveryInput) {
    if (transport === "patch") return yield* notOntoHead("a patch has no branch")
    if (update_strategy === "force_with_lease") return yield* notOntoHead("force_with_lease replaces the head")
    if (session.tree.repository === null) return yield* noRepository
    const wanted = target_ref === undefined ? undefined : branchName(target_ref)
    if (wanted !== undefined && !isRefName(wanted)) return yield* notBranch("target_ref", target_ref)
    const branch = yield* store.openBranch(session.id, session.tree.repository, wanted)
    return branch ?? (yield* nothingOpen)
  })
})

const notOntoHead = (why: string): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", "onto"],
    issue: new ParseResult.Type(Schema.String.ast, "head", `Input should be "base", because ${why}`),
    input: "head"
  })

const nothingOpen = new ReinsError({
  code: "invalid_transition",
  message:
    'The session has no delivered branch that the commit could go onto. Wait for the event delivery.succeeded of one, or deliver with onto "base".',
  details: { resource: "delivery", transport: "git_branch" }
})

const notGit = (kind: string, kinds: ReadonlyArray<string>): ReinsError<"connection_required"> =>
  new ReinsError({
    code: "connection_required",
    message: `A delivery needs a connection of the kind ${oneOf(kinds)}. Choose one of these, or none.`,
    details: { kind }
  })

const noRepository = new ReinsError({
  code: "invalid_transition",
  message:
    'The session did not start from a repository, so there is no branch to deliver to. Use the transport "patch".',
  details: { resource: "delivery", transport: "git_branch" }
})
