import { fn } from "@reins/base/base/Traced"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { Access, actorOf, type Denied, type ScopeMissing, type Unseen } from "../access/Access.js"
import { makePauseAllOf } from "../automations/Pausing.js"
import { JobStore } from "../jobs/JobStore.js"
import { projectDeletionKind } from "../jobs/SessionRows.js"
import { projectRemoval } from "../projects/ProjectRemoval.js"
import { ProjectStore } from "../projects/ProjectStore.js"
import { projectUses } from "../sessions/ProjectUses.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { Deletion } from "./DeletionsApi.js"
import { resourceReceipts } from "./ResourceReceipts.js"

/** Deletes projects for good. Their sessions go on as conversations. */
export class ProjectDeletions extends Context.Tag("@reins/core/deletion/ProjectDeletions")<
  ProjectDeletions,
  {
    /**
     * Takes a project from everybody's sight, and has a job delete its versions, its secrets and what its setups have left. Its slug is free at
     * once. Sessions that were made from it keep their files and settings, and have no project. A project that is deleted already gives its
     * receipt. Needs the scope `admin`. Fails with `turn_active` while a session of the project has a turn.
     */
    readonly deleteProject: (
      principal: Principal,
      projectId: string
    ) => Command<Deletion, Denied | ScopeMissing | ReinsError<"turn_active">>
    /** The receipt of a project. Fails with `not_found` for a project that is not deleted. */
    readonly get: (principal: Principal, projectId: string) => Effect.Effect<Deletion, Unseen>
  }
>() {
  static readonly layer = Layer.effect(
    ProjectDeletions,
    Effect.gen(function* () {
      const access = yield* Access
      const jobs = yield* JobStore
      const journal = yield* Journal
      const projects = yield* ProjectStore
      const receipts = yield* resourceReceipts
      const removal = yield* projectRemoval
      const uses = yield* projectUses
      const pauseAutomations = yield* makePauseAllOf

      const find = Effect.fnUntraced(function* (projectId: string) {
        const stored = yield* receipts.find(projectId)
        return stored?.receipt.kind === "project" ? stored.receipt : undefined
      })

      const begin = Effect.fnUntraced(function* (principal: Principal, projectId: string) {
        const project = yield* projects.lock(projectId)
        yield* access.write(principal, project.workspace_id)
        const turn = yield* uses.findLiveTurn(project.id)
        if (turn !== undefined) return yield* inUse(turn)
        yield* removal.hide(project.id)
        yield* pauseAutomations("project_id", project.id)
        const operation = yield* jobs.enqueue({
          kind: projectDeletionKind,
          subject: { type: "project", id: project.id },
          workspaceId: project.workspace_id,
          payload: {},
          // An obstacle to a deletion passes, or the operator mends it.
          maxAttempts: 1_000_000
        })
        return yield* receipts.begin(
          { kind: "project", id: project.id, workspaceId: project.workspace_id },
          { actor: actorOf(principal), accountId: principal.accountId },
          operation
        )
      })

      return ProjectDeletions.of({
        deleteProject: (principal, projectId) =>
          journal.command(
            "ProjectDeletions.deleteProject",
            { by: principal, about: { type: "project", id: projectId } },
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              const receipt = yield* find(projectId)
              if (receipt === undefined) return yield* begin(principal, projectId)
              yield* access.write(principal, receipt.workspace_id ?? "")
              return receipt
            })
          ),
        get: fn("ProjectDeletions.get")(function* (principal, projectId) {
          const receipt = yield* find(projectId)
          if (receipt === undefined) return yield* notFound()
          yield* access.read(principal, receipt.workspace_id ?? "")
          return receipt
        })
      })
    })
  )
}

const inUse = ({ id, session_id }: { readonly id: string; readonly session_id: string }) =>
  new ReinsError({
    code: "turn_active",
    message: `A turn waits or runs in the session ${session_id} of this project. Cancel it or wait until it has ended, then delete the project.`,
    details: { turn_id: id, queued_turns: 0 }
  })
