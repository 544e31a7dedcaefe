import { fn } from "@reins/base/base/Traced"
import type { Actor } from "@reins/base/domain/Event"
import type { AccountId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer, ParseResult, Schema } from "effect"
import { Access, actorOf, type Denied, type ScopeMissing, type Unseen } from "../access/Access.js"
import { identityRemoval } from "../identity/Removal.js"
import { WorkspaceStore } from "../identity/WorkspaceStore.js"
import { JobStore } from "../jobs/JobStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { Deletion } from "./DeletionsApi.js"
import { resourceReceipts } from "./ResourceReceipts.js"

/** The kind of the job that deletes a workspace. */
export const workspaceDeletionKind = "workspace.delete"

/** The one who asks for a deletion. The account may read the receipt when nobody is a member any more. */
export interface Asking {
  readonly actor: Actor
  readonly accountId: AccountId | null
}

/** Deletes workspaces for good, with all that is in them. */
export class WorkspaceDeletions extends Context.Tag("@reins/core/deletion/WorkspaceDeletions")<
  WorkspaceDeletions,
  {
    /**
     * Takes a workspace from everybody's sight, cancels all that runs in it, and has a job delete its sessions, projects, connections, keys, webhooks,
     * budgets, files and blobs. `confirm` is its name. A workspace that is deleted already gives its receipt to the account that asked for it. Needs
     * an owner and the scope `admin`. Fails with `RequestInvalid` for another name, and with `invalid_transition` for a personal workspace, which
     * goes with its account.
     */
    readonly deleteWorkspace: (
      principal: Principal,
      workspaceId: string,
      confirm: string
    ) => Command<Deletion, Denied | ScopeMissing | ReinsError<"invalid_transition"> | RequestInvalid>
    /** The receipt of a workspace, for the account that has deleted it. Fails with `not_found` for everybody else. */
    readonly get: (principal: Principal, workspaceId: string) => Effect.Effect<Deletion, Unseen>
  }
>() {
  static readonly layer = Layer.effect(
    WorkspaceDeletions,
    Effect.gen(function* () {
      const access = yield* Access
      const journal = yield* Journal
      const workspaces = yield* WorkspaceStore
      const receipts = yield* resourceReceipts
      const begin = yield* beginWorkspaceDeletion

      /** The receipt, for the account that has asked for it. */
      const find = Effect.fnUntraced(function* ({ accountId, workspaceId: only }: Principal, id: string) {
        const stored = yield* receipts.find(id)
        const isOwn = stored?.accountId === accountId && (only === null || only === id)
        return stored?.receipt.kind === "workspace" && isOwn ? stored.receipt : undefined
      })

      return WorkspaceDeletions.of({
        deleteWorkspace: (principal, workspaceId, confirm) =>
          journal.command(
            "WorkspaceDeletions.deleteWorkspace",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              const receipt = yield* find(principal, workspaceId)
              if (receipt !== undefined) return receipt
              const workspace = yield* workspaces.lock(workspaceId)
              yield* access.own(principal, workspaceId)
              if (workspace === undefined) return yield* notFound()
              if (workspace.personal_account_id !== null) return yield* isPersonal
              if (confirm !== workspace.name) return yield* notConfirmed(confirm)
              return yield* begin(workspace.id, { actor: actorOf(principal), accountId: principal.accountId })
            })
          ),
        get: fn("WorkspaceDeletions.get")(function* (principal, workspaceId) {
          return (yield* find(principal, workspaceId)) ?? (yield* notFound())
        })
      })
    })
  )
}

/** Begins the deletion of a workspace that the commit holds. */
export const beginWorkspaceDeletion = Effect.gen(function* () {
  const jobs = yield* JobStore
  const receipts = yield* resourceReceipts
  const removal = yield* identityRemoval

  return Effect.fnUntraced(function* (id: WorkspaceId, asking: Asking) {
    yield* removal.hideWorkspace(id)
    const operation = yield* jobs.enqueue({
      kind: workspaceDeletionKind,
      subject: { type: "workspace", id },
      // The job outlives the workspace.
      workspaceId: null,
      payload: { actor: asking.actor },
      // An obstacle to a deletion passes, or the operator mends it.
      maxAttempts: 1_000_000
    })
    return yield* receipts.begin({ kind: "workspace", id, workspaceId: id }, asking, operation)
  })
})

const isPersonal = new ReinsError({
  code: "invalid_transition",
  message: "This is the personal workspace of an account, and goes with it. Delete the account.",
  details: { resource: "workspace" }
})

const notConfirmed = (given: string) =>
  new RequestInvalid({
    loc: ["query", "confirm"],
    issue: new ParseResult.Type(Schema.String.ast, given, "Input should be the name of the workspace"),
    input: given
  })
