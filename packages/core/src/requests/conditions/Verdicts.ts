import { fn } from "@reins/base/base/Traced"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import { isAccount, type Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import type { Denied, Unseen } from "../../access/Access.js"
import { Changesets } from "../../changes/Changesets.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import type { Command } from "../../store/Command.js"
import { Journal } from "../../store/Journal.js"
import type { ChangesetVerdict, VerdictInput } from "./ChangesetVerdict.js"
import { VerdictStore } from "./VerdictStore.js"

/** Judgements of sealed changesets by members of the workspace. */
export class Verdicts extends Context.Tag("@reins/core/requests/conditions/Verdicts")<
  Verdicts,
  {
    /** The verdicts on a changeset, newest first. Fails with `not_found` unless the principal may see its session. */
    readonly list: (
      principal: Principal,
      changesetId: string,
      page: PageRequest
    ) => Effect.Effect<Page<ChangesetVerdict>, Unseen | ReinsError<"invalid_cursor">>
    /**
     * Judges a sealed changeset, bound to its `subject_digest`. Fails with `stale_subject` for one that is not sealed or has another digest than was
     * expected. Fails with `forbidden` for anybody but a member who acts on their own. An agent or an automation judges for nobody.
     */
    readonly give: (
      principal: Principal,
      changesetId: string,
      input: VerdictInput
    ) => Command<ChangesetVerdict, Denied | ReinsError<"stale_subject">>
  }
>() {
  static readonly layer = Layer.effect(
    Verdicts,
    Effect.gen(function* () {
      const changesets = yield* Changesets
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const store = yield* VerdictStore
      return Verdicts.of({
        list: fn("Verdicts.list")(function* (principal, changesetId, page) {
          const changeset = yield* changesets.get(principal, changesetId)
          return yield* store.list(changeset.id, page)
        }),
        give: (principal, changesetId, input) =>
          journal.command(
            "Verdicts.give",
            { by: principal, about: { type: "changeset", id: changesetId } },
            Effect.gen(function* () {
              const changeset = yield* changesets.get(principal, changesetId)
              const session = yield* sessions.writable(principal, changeset.session_id)
              if (!isAccount(principal)) return yield* notMember(session.workspace_id)
              const { state, subject_digest: digest } = changeset
              if (digest === null) return yield* notSealed(state)
              if (input.subject_digest !== undefined && input.subject_digest !== digest)
                return yield* anotherDigest(digest, input.subject_digest)
              return yield* store.add(session.id, {
                changeset_id: changeset.id,
                subject_digest: digest,
                verdict: input.verdict,
                note: input.note ?? null,
                from: "member",
                account_id: principal.accountId,
                delegation_id: null
              })
            })
          )
      })
    })
  )
}

const notMember = (workspaceId: string) =>
  new ReinsError({
    code: "forbidden",
    message: "Only a member of the workspace judges a changeset. An agent judges through the result of a delegation.",
    details: { role: null, workspace_id: workspaceId }
  })

const notSealed = (state: string) =>
  new ReinsError({
    code: "stale_subject",
    message: "Only a sealed changeset can be judged. Wait for the event changeset.ready, or capture a new one.",
    details: { state }
  })

const anotherDigest = (generation: string, expected: string) =>
  new ReinsError({
    code: "stale_subject",
    message: "The changeset has another digest than the one that was judged. Read its diff again, then judge that.",
    details: { generation, expected_generation: expected }
  })
