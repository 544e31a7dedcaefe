import { type OddElement, readEach } from "@reins/base/base/ForeignList"
import { Clock, Effect, Schema } from "effect"
import { type Ask, decodeAnswer, ForgeError, type MarkedAnswer, type Refusal, refusedWith } from "./Forge.js"
import type { ForgeCall, ForgeLimit } from "./ForgeCalls.js"
import type {
  ForgeView,
  MarkedCall,
  PartMemory,
  PartName,
  RemoteCheck,
  RemoteReview,
  RemoteStanding,
  RemoteThread,
  ViewMemory,
  ViewPart
} from "./ForgeView.js"

/** The most checks of a commit, and the most comments of a merge request, that a view reads. */
export const mostChecks = 300
export const mostComments = 1_000

/** An answer of a list. */
export interface ForgePage {
  readonly body: unknown
  /** False when the forge says that this is the last page; undefined where it does not tell. */
  readonly hasNext: boolean | undefined
}

/** Gives the answer to a call, which is sent once in a view. */
export interface Get {
  (call: ForgeCall): Effect.Effect<unknown, ForgeError | Refusal>
  readonly page: (call: ForgeCall) => Effect.Effect<ForgePage, ForgeError | Refusal>
  /** An extra read, which a part does without where the forge refuses it to the token: undefined then. It is tried again after an hour. */
  readonly extra: <A>(
    what: string,
    read: Effect.Effect<A, ForgeError | Refusal>
  ) => Effect.Effect<A | undefined, ForgeError | Refusal>
}

/** Values of a part. `complete` is false when the forge has more than was read. `odd` has the elements that cannot be read. */
export interface Loaded<A> {
  readonly value: A
  readonly complete: boolean
  readonly odd: ReadonlyArray<OddElement>
}

/** The way in which one kind of forge shows the parts. */
export interface ViewParts {
  readonly request: (get: Get) => Effect.Effect<RemoteStanding, ForgeError | Refusal>
  readonly checks: (
    get: Get,
    headSha: string
  ) => Effect.Effect<Loaded<ReadonlyArray<RemoteCheck>>, ForgeError | Refusal>
  /** The checks of the commit that a branch stands at. */
  readonly baseChecks: (
    get: Get,
    base: string
  ) => Effect.Effect<Loaded<ReadonlyArray<RemoteCheck>>, ForgeError | Refusal>
  readonly reviews: (
    get: Get,
    headSha: string
  ) => Effect.Effect<Loaded<ReadonlyArray<RemoteReview>>, ForgeError | Refusal>
  readonly threads: (
    get: Get,
    headSha: string
  ) => Effect.Effect<Loaded<ReadonlyArray<RemoteThread>>, ForgeError | Refusal>
}

/** The form of what is read. One of before took checks of one name for one check. */
const form = 2

/** An extra read that was refused is tried again after so many milliseconds. */
const refusedMs = 60 * 60_000

/** Reads a merge request by its parts. A part whose answers all have the marks of the memory is `unchanged`, for one call an answer. */
export const viewBy = Effect.fnUntraced(function* (ask: Ask, given: ViewMemory, parts: ViewParts) {
  const memory = given.form === form ? given : {}
  const nowMs = yield* Clock.currentTimeMillis
  const refused = new Map(Object.entries(memory.refused ?? {}))
  const answers = new Map<string, MarkedAnswer>()
  let limit: ForgeLimit | undefined
  const marked = Effect.fnUntraced(function* (call: ForgeCall, known: string | undefined) {
    const key = keyOf(call)
    const given = answers.get(key)
    if (given !== undefined && (given.answer !== undefined || given.mark === known)) return given
    const answer = yield* ask.marked(call, known)
    limit = answer.limit ?? limit
    answers.set(key, answer)
    return answer
  })
  const request = yield* Effect.catchTag(
    partReader({ marked, nowMs, refused }, memory.parts?.request)("", (get) =>
      Effect.map(parts.request(get), (value) => ({ value, complete: true, odd: [] }))
    ),
    "Refusal",
    (refusal) => Effect.fail(declined(refusal))
  )
  const head = request.part.state === "read" ? request.part.value.headSha : (memory.head ?? "")
  const base = request.part.state === "read" ? request.part.value.baseBranch : memory.base
  const of = <A>(
    known: PartMemory | undefined,
    about: string,
    load: (get: Get, about: string) => Effect.Effect<Loaded<A>, ForgeError | Refusal>
  ) =>
    partReader({ marked, nowMs, refused }, known)(about, (get) => load(get, about)).pipe(
      Effect.catchTag("Refusal", (refusal) => Effect.fail(declined(refusal))),
      Effect.catchIf(
        ({ kind }) => kind !== "rate_limited" && kind !== "unauthenticated",
        ({ kind, message }) => Effect.succeed({ part: { state: "unread" as const, kind, message }, memory: known })
      )
    )
  const checks = yield* of(memory.parts?.checks, head, parts.checks)
  const isRed = checks.part.state === "read" ? checks.part.value.some(isFailing) : memory.isRed === true
  const isAsked = isRed && checks.part.state !== "unread" && base !== undefined
  // Checks of the head that were read anew are compared with all those of the base.
  const knownBase = checks.part.state === "read" ? undefined : memory.parts?.baseChecks
  const baseChecks = isAsked ? yield* of(knownBase, base, parts.baseChecks) : undefined
  const reviews = yield* of(memory.parts?.reviews, head, parts.reviews)
  const threads = yield* of(memory.parts?.threads, head, parts.threads)
  return {
    request: request.part,
    checks: checks.part,
    baseChecks: baseChecks?.part,
    reviews: reviews.part,
    threads: threads.part,
    limit,
    memory: {
      form,
      head,
      ...(base !== undefined && { base }),
      isRed,
      ...(refused.size > 0 && { refused: Object.fromEntries(refused) }),
      parts: {
        request: request.memory,
        ...memoryOf("checks", checks.memory),
        // One that was not read is read whole the next time.
        ...memoryOf("baseChecks", baseChecks?.part.state === "unread" ? undefined : (baseChecks?.memory ?? knownBase)),
        ...memoryOf("reviews", reviews.memory),
        ...memoryOf("threads", threads.memory)
      }
    }
  } satisfies ForgeView
})

const memoryOf = (name: PartName, memory: PartMemory | undefined): { readonly [Name in PartName]?: PartMemory } =>
  memory === undefined ? {} : { [name]: memory }

const isFailing = ({ optional, state }: RemoteCheck): boolean => !optional && state === "failing"

type KnownPart<A> = Exclude<ViewPart<A>, { readonly state: "unread" }>

const mostOdd = 50

interface Asking {
  readonly marked: (call: ForgeCall, known: string | undefined) => Effect.Effect<MarkedAnswer, ForgeError | Refusal>
  readonly nowMs: number
  /** The extra reads that were refused, and when each is tried again. */
  readonly refused: Map<string, number>
}

const partReader =
  ({ marked, nowMs, refused }: Asking, before: PartMemory | undefined) =>
  <A>(of: string, load: (get: Get) => Effect.Effect<Loaded<A>, ForgeError | Refusal>) =>
    Effect.gen(function* () {
      const isWaiting = (what: string) => (refused.get(what) ?? 0) > nowMs
      if (before?.of === of && before.calls.length > 0) {
        let isChanged = !(before.lacks ?? []).every(isWaiting)
        for (const { call, mark } of before.calls) {
          const { answer } = yield* marked(call, mark)
          isChanged = isChanged || answer !== undefined
        }
        if (!isChanged) return { part: { state: "unchanged" } satisfies KnownPart<A>, memory: before }
      }
      const calls: Array<MarkedCall> = []
      const lacks = new Set<string>()
      const page = (call: ForgeCall) =>
        Effect.map(marked(call, undefined), ({ answer, hasNext, mark }) => {
          calls.push({ call, mark })
          return { body: answer?.body, hasNext }
        })
      const extra = <B>(what: string, read: Effect.Effect<B, ForgeError | Refusal>) => {
        const miss = () => {
          lacks.add(what)
          return undefined
        }
        if (isWaiting(what)) return Effect.sync(miss)
        return read.pipe(
          Effect.catchIf(isHidden, () => {
            refused.set(what, nowMs + refusedMs)
            return Effect.sync(miss)
          })
        )
      }
      const get = Object.assign((call: ForgeCall) => Effect.map(page(call), ({ body }) => body), { extra, page })
      const { complete, odd, value } = yield* load(get)
      const part: KnownPart<A> = {
        state: "read",
        value,
        complete: complete && odd.length === 0,
        odd: odd.slice(0, mostOdd)
      }
      const memory: PartMemory = { of, calls, ...(lacks.size > 0 && { lacks: [...lacks] }) }
      return { part, memory }
    })

/** The forge does not show it to the token, or does not have it. */
const isHidden = (error: ForgeError | Refusal): boolean =>
  error._tag === "Refusal" ? error.status === 404 || error.status === 410 : error.kind === "forbidden"

const keyOf = ({ body, graphql, path }: ForgeCall): string =>
  graphql === true ? `graphql ${JSON.stringify(body)}` : path

const declined = (refusal: Refusal): ForgeError =>
  new ForgeError({
    kind: refusal.status === 404 || refusal.status === 410 ? "not_found" : "rejected",
    message: `The forge does not show this (${refusedWith(refusal)})`
  })

const BranchHead = Schema.Struct({
  commit: Schema.Struct({ sha: Schema.optional(Schema.String), id: Schema.optional(Schema.String) })
})

/** The commit that a branch stands at. `path` leads to the branch. */
export const headOfBranch = Effect.fnUntraced(function* (get: Get, path: string) {
  const { commit } = yield* decodeAnswer(BranchHead)(yield* get({ method: "GET", path }))
  return (
    commit.sha ??
    commit.id ??
    (yield* new ForgeError({ kind: "rejected", message: "The forge names no commit of the base branch." }))
  )
})

/** Reads the pages of a list element by element, up to `most` elements. `path` takes the number of a page, from 1 on. */
export const allPages = Effect.fnUntraced(function* <A, I>(
  page: Get["page"],
  {
    itemsOf,
    most,
    path,
    schema,
    size
  }: {
    readonly path: (page: number) => string
    /** A page with fewer elements is the last one, where the forge does not tell. */
    readonly size: number
    readonly most: number
    readonly schema: Schema.Schema<A, I>
    /** The list in an answer that is no list. */
    readonly itemsOf?: string
  }
) {
  const elements: Array<unknown> = []
  for (let number = 1; ; number++) {
    const { body, hasNext } = yield* page({ method: "GET", path: path(number) })
    const found = yield* listIn(body, itemsOf)
    elements.push(...found)
    const isLast = !(hasNext ?? found.length >= size)
    if (isLast || found.length === 0 || elements.length > most) {
      const { items, odd } = readEach(schema)(elements.slice(0, most))
      return { value: items, odd, complete: isLast && elements.length <= most } satisfies Loaded<ReadonlyArray<A>>
    }
  }
})

/** The elements by their ids, each once. A forge tells the end of a page again on the next one when the list has grown meanwhile. */
export const eachOnce = <A extends { readonly id: number | string }>(elements: ReadonlyArray<A>): ReadonlyArray<A> => [
  ...new Map(elements.map((element) => [element.id, element])).values()
]

/** The elements of an answer, or of a list in it. */
export const listIn = (body: unknown, itemsOf?: string): Effect.Effect<ReadonlyArray<unknown>, ForgeError> => {
  const list = itemsOf === undefined || typeof body !== "object" || body === null ? body : Reflect.get(body, itemsOf)
  return Array.isArray(list) ? Effect.succeed(list) : Effect.fail(noList)
}

const noList = new ForgeError({
  kind: "unavailable",
  message: "The forge answers with something else than the list that was asked for."
})
