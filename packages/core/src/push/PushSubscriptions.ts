import { CoreConfig } from "@reins/base/base/CoreConfig"
import { fn } from "@reins/base/base/Traced"
import { newId, PushSubscriptionId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import * as Token from "@reins/base/secrets/Token"
import { Vault } from "@reins/base/secrets/Vault"
import { Context, Effect, Layer, Redacted } from "effect"
import { Access, type Unseen } from "../access/Access.js"
import { FollowerStore } from "../events/FollowerStore.js"
import { WorkspaceEvents } from "../events/WorkspaceEvents.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { PushStore, toSubscription } from "./PushStore.js"
import type { PushSubscription, PushSubscriptionInput } from "./PushSubscription.js"
import { browserContext } from "./SealedBrowsers.js"
import { vapidKeysOf } from "./VapidKeys.js"

/** The follower that tells browsers. Its keys are the ids of their subscriptions. */
export const pushFollower = "push"

/** The most browsers of an account for one workspace. */
export const maxSubscriptions = 20

/** Browsers that are told of a workspace. An account sees and changes its own alone. */
export class PushSubscriptions extends Context.Tag("@reins/core/push/PushSubscriptions")<
  PushSubscriptions,
  {
    /** The public key that browsers subscribe with; null where the operator has set none. */
    readonly publicKey: string | null
    readonly list: (
      principal: Principal,
      workspaceId: string,
      page: PageRequest
    ) => Effect.Effect<Page<PushSubscription>, Unseen | ReinsError<"invalid_cursor">>
    /**
     * Tells a browser what happens from now on. One that is told already keeps its subscription. Fails with `invalid_transition` where the
     * operator has set no key, and with `quota_exhausted` for the browser after the twentieth.
     */
    readonly subscribe: (
      principal: Principal,
      workspaceId: string,
      input: PushSubscriptionInput
    ) => Command<PushSubscription, Unseen | ReinsError<"forbidden" | "invalid_transition" | "quota_exhausted">>
    readonly unsubscribe: (principal: Principal, id: string) => Command<PushSubscription, ReinsError<"not_found">>
  }
>() {
  static readonly layer = Layer.effect(
    PushSubscriptions,
    Effect.gen(function* () {
      const access = yield* Access
      const events = yield* WorkspaceEvents
      const journal = yield* Journal
      const positions = (yield* FollowerStore)(pushFollower)
      const store = yield* PushStore
      const vault = yield* Vault
      const { pushKey } = yield* CoreConfig
      const publicKey = pushKey === null ? null : (vapidKeysOf(Redacted.value(pushKey))?.publicKey ?? null)

      const add = Effect.fnUntraced(function* (
        principal: Principal,
        workspace_id: WorkspaceId,
        input: PushSubscriptionInput,
        head: number
      ) {
        const owner = { account_id: principal.accountId, workspace_id }
        const digest = Token.digest(Redacted.make(input.endpoint))
        const known = yield* store.findByDigest(owner, digest)
        if (known === undefined && (yield* store.count(owner)) >= maxSubscriptions) return yield* tooMany
        const id = known?.id ?? (yield* newId(PushSubscriptionId))
        const row = {
          ...owner,
          id,
          digest,
          host: new URL(input.endpoint).host,
          sealed: yield* vault.seal(Redacted.make(JSON.stringify(input)), browserContext({ ...owner, id })),
          created_at: known?.created_at ?? (yield* now)
        }
        if (known !== undefined) yield* store.remove(id)
        yield* store.insert(row)
        yield* positions.begin(id, head)
        yield* positions.wake(id)
        return toSubscription(row)
      })

      return PushSubscriptions.of({
        publicKey,
        list: fn("PushSubscriptions.list")(function* (principal, workspaceId, page) {
          yield* access.read(principal, workspaceId)
          const owner = { account_id: principal.accountId, workspace_id: WorkspaceId.make(workspaceId) }
          return yield* store.list(owner, page)
        }),
        subscribe: (principal, workspaceId, input) =>
          journal.prepared(
            "PushSubscriptions.subscribe",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            Effect.gen(function* () {
              yield* access.read(principal, workspaceId)
              if (publicKey === null) return yield* isOff
              const { head } = yield* events.ends(workspaceId)
              return add(principal, WorkspaceId.make(workspaceId), input, head)
            })
          ),
        unsubscribe: (principal, id) =>
          journal.command(
            "PushSubscriptions.unsubscribe",
            { by: principal, about: { type: "push_subscription", id }, refusable: false },
            Effect.gen(function* () {
              const row = yield* store.find(id)
              const isOwn = row?.account_id === principal.accountId
              const isSeen = principal.workspaceId === null || principal.workspaceId === row?.workspace_id
              if (row === undefined || !isOwn || !isSeen) return yield* notFound()
              yield* positions.end(id)
              yield* store.remove(id)
              yield* positions.wake(id)
              return toSubscription(row)
            })
          )
      })
    })
  )
}

const isOff = new ReinsError({
  code: "invalid_transition",
  message: "This server sends no notifications to browsers. Its operator can set a key: reins push-key.",
  details: { resource: "push_subscription" }
})

const tooMany = new ReinsError({
  code: "quota_exhausted",
  message: `${maxSubscriptions} browsers of yours are told of this workspace, and more cannot be. Remove one.`,
  details: { quota: "push_subscriptions", used: maxSubscriptions, limit: maxSubscriptions }
})
