import { CoreConfig } from "@reins/base/base/CoreConfig"
import { shortened } from "@reins/base/base/CutText"
import { foreignName } from "@reins/base/base/ForeignText"
import { InteractionKind } from "@reins/base/domain/Form"
import { toMillis } from "@reins/base/domain/Timestamp"
import { Vault } from "@reins/base/secrets/Vault"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Clock, Effect, Redacted, Schema } from "effect"
import type { Follower, HeldCommit } from "../events/Follower.js"
import { FollowerStore } from "../events/FollowerStore.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { WorkspaceEntry } from "../store/WorkspaceLog.js"
import { PushStore, type StandingRow } from "./PushStore.js"
import type { PushSubscriptionInput } from "./PushSubscription.js"
import { pushFollower } from "./PushSubscriptions.js"
import { browserContext } from "./SealedBrowsers.js"
import { vapidKeysOf } from "./VapidKeys.js"

/** The sentence for each kind of question. No notice has buttons to answer with, so that each says where to see what is asked. */
const questions: Readonly<Record<InteractionKind, string>> = {
  approval: "Asks for your approval. Open it to see what for.",
  question: "Asks you a question. Open it to read it.",
  form: "Asks you for values. Open it to see which.",
  link: "Asks you to visit a page. Open it to see which.",
  budget: "Its budget is used up. Open it to raise it.",
  tool_call: "Waits for the answer to a function. Open it to see the call."
}

/** The sentence for each sort of thing that an agent asks leave for. It has no word of the agent. */
const wishes: Readonly<Record<string, (files: number) => string>> = {
  command: () => "Asks to run a command.",
  edit: (files) => (files === 1 ? "Asks to change a file." : `Asks to change ${files > 0 ? files : "some"} files.`),
  read: () => "Asks to read something.",
  fetch: () => "Asks to fetch a page.",
  search: () => "Asks to search for something.",
  tool: () => "Asks to use a tool.",
  delegate: () => "Asks to hand work to another agent."
}

/** The sentence for each type of event that a person is told of. No word of an agent is among them, because it may be a secret. */
const sentences: Readonly<Record<string, string>> = {
  "turn.action_required": "Needs your answer.",
  "turn.failed": "The turn failed.",
  "turn.interrupted": "The turn was interrupted.",
  "turn.succeeded": "The turn has ended.",
  "merge_request.care_handed_over": "A merge request needs you.",
  "merge_request.care_proposed": "A merge request has a proposal for you."
}

/** A push service that does not take a notice is asked again, until the notice is so old. */
const retryMs = 30_000
const staleMs = 10 * 60_000

/** The notices that wait for a browser. Older ones give way. */
const mostWaiting = 20

/** Push services answer 400, 401 or 403 to a browser that subscribed with another key. It subscribes anew when its page is open. */
const refusedKey =
  "A push service refused a notice, as it does after REINS_PUSH_KEY has changed. Its browser is forgotten, and subscribes anew when the page is open."

/** One thing that a browser is told. */
interface Notice {
  /** The position of its event in the workspace. */
  readonly position: number
  readonly sessionId: string
  readonly body: string
  readonly atMs: number
}

/**
 * Tells browsers what happens in their workspaces. A notice waits in this process alone, so that one is lost with it and none comes twice. A browser
 * that its push service no longer knows or refuses, or whose account may not see the workspace any more, is forgotten.
 */
export const notifier = Effect.gen(function* () {
  const { pushKey } = yield* CoreConfig
  const store = yield* PushStore
  const positions = (yield* FollowerStore)(pushFollower)
  const tell = yield* makeTell
  const waiting = new Map<string, Array<Notice>>()
  const forget = (key: string, commit: HeldCommit) =>
    commit(Effect.all([store.remove(key), positions.end(key), positions.wake(key)], { discard: true })).pipe(
      Effect.zipRight(Effect.sync(() => waiting.delete(key))),
      Effect.as(undefined)
    )

  const send = Effect.fnUntraced(function* (row: StandingRow, commit: HeldCommit) {
    const notices = waiting.get(row.id) ?? []
    while (notices[0] !== undefined) {
      const [notice] = notices
      const isStale = (yield* Clock.currentTimeMillis) - notice.atMs > staleMs
      const told = isStale ? "told" : yield* tell(row, notice)
      if (told === "refused") yield* Effect.logWarning(refusedKey, { host: row.host })
      if (told === "dropped")
        yield* Effect.logWarning("A push service did not take a notice, which is dropped.", { host: row.host })
      if (told === "gone" || told === "refused") return yield* forget(row.id, commit)
      if (told === "later") return { waitMs: retryMs }
      notices.shift()
    }
    return undefined
  })

  return {
    name: pushFollower,
    list: pushKey === null ? Effect.succeed([]) : store.all,
    begin: Effect.fnUntraced(function* (key) {
      const row = yield* store.find(key)
      if (row === undefined) {
        waiting.delete(key)
        return undefined
      }
      return {
        filter: { types: Object.keys(sentences) },
        take: (events) =>
          Effect.sync(() => {
            const known = waiting.get(key) ?? []
            // A commit may run again.
            const fresh = events.filter(({ seq }) => known.every(({ position }) => position !== seq))
            waiting.set(key, [...known, ...fresh.map(noticeOf)].slice(-mostWaiting))
          }),
        work: (commit) => (row.isStanding ? send(row, commit) : forget(key, commit))
      }
    })
  } satisfies Follower
})

const noticeOf = ({ envelope, seq, type }: WorkspaceEntry): Notice => {
  const { payload, recorded_at, session_id } = JSON.parse(envelope)
  const { kind, subject }: { readonly kind?: unknown; readonly subject?: { kind: string; files: number } | null } =
    (type === "turn.action_required" ? payload?.interaction : undefined) ?? {}
  const wish = subject == null ? undefined : wishes[subject.kind]?.(subject.files)
  const question =
    wish !== undefined
      ? `${wish} Open it to see all of it.`
      : Schema.is(InteractionKind)(kind)
        ? questions[kind]
        : undefined
  return { position: seq, sessionId: session_id, body: question ?? sentences[type] ?? "", atMs: toMillis(recorded_at) }
}

const limits = { timeoutMs: 15_000, bodyWaitMs: 1_000, maxBytes: 4_096 }
/** The seconds for which a push service keeps a notice for a browser that is off. */
const keptSeconds = 24 * 60 * 60
const longestTitle = 100

/** Sends a notice, encrypted for the browser (RFC 8291). */
const makeTell = Effect.gen(function* () {
  const { mailFrom, publicUrl, pushKey } = yield* CoreConfig
  const outbound = yield* Outbound
  const sessions = yield* SessionStore
  const vault = yield* Vault
  const keys = pushKey === null ? undefined : vapidKeysOf(Redacted.value(pushKey))
  const subject = publicUrl.startsWith("https://")
    ? publicUrl
    : `mailto:${/(?<![^\s<>])[^\s<>]+@[^\s<>]+/.exec(mailFrom)?.[0]}`

  return Effect.fnUntraced(function* (row: StandingRow, { body, sessionId }: Notice) {
    const session = yield* sessions.find(sessionId)
    const opened = yield* Effect.option(vault.unseal(row.sealed, browserContext(row)))
    if (session === undefined || keys === undefined || opened._tag === "None") return "told"
    const { auth, endpoint, p256dh }: PushSubscriptionInput = JSON.parse(Redacted.value(opened.value))
    const payload = {
      title: shortened(foreignName(session.title ?? "", 2 * longestTitle) || "Session", longestTitle),
      body,
      session_id: sessionId
    }
    // Only installations with a key need the library.
    const { default: webPush } = yield* Effect.promise(() => import("web-push"))
    const made = yield* Effect.option(
      Effect.try(() =>
        webPush.generateRequestDetails({ endpoint, keys: { p256dh, auth } }, JSON.stringify(payload), {
          vapidDetails: { subject, ...keys },
          TTL: keptSeconds,
          // A later notice of a session takes the place of one that has not been shown.
          topic: sessionId
        })
      )
    )
    // Keys that are none of a browser will never be.
    if (made._tag === "None") return "gone"
    const { headers, method } = made.value
    const request = { method, headers: textsOf(headers), body: made.value.body ?? "" }
    return yield* outbound.fetch(endpoint, request, limits).pipe(
      Effect.map(({ status }) => {
        if (status === 404 || status === 410) return "gone"
        if (status === 400 || status === 401 || status === 403) return "refused"
        if (status === 429 || status >= 500) return "later"
        return status >= 300 ? "dropped" : "told"
      }),
      Effect.catchAll(({ kind }) => Effect.succeed(kind === "refused_address" ? "told" : "later"))
    )
  })
})

const textsOf = (headers: object): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
