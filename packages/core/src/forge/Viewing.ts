import { Effect, Schema } from "effect"
import { cutText } from "../base/CutText.js"
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

const longestBody = 65_536

/** The text of a comment, at most 65,536 characters. */
export const bodyOf = (text: string | null | undefined): string => cutText(text ?? "", longestBody)

/** Gives the answer to a call, which is sent once in a view. */
export type Get = (call: ForgeCall) => Effect.Effect<unknown, ForgeError | Refusal>

/** Values of a part. `complete` is false when the forge has more than was read. */
export interface Loaded<A> {
  readonly value: A
  readonly complete: boolean
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

/** Reads a merge request by its parts. A part whose answers all have the marks of the memory is `unchanged`, for one call an answer. */
export const viewBy = Effect.fnUntraced(function* (ask: Ask, memory: ViewMemory, parts: ViewParts) {
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
    partReader(marked, memory.parts?.request)("", (get) =>
      Effect.map(parts.request(get), (value) => ({ value, complete: true }))
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
    partReader(marked, known)(about, (get) => load(get, about)).pipe(
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
      head,
      ...(base !== undefined && { base }),
      isRed,
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

const partReader =
  (
    marked: (call: ForgeCall, known: string | undefined) => Effect.Effect<MarkedAnswer, ForgeError | Refusal>,
    before: PartMemory | undefined
  ) =>
  <A>(of: string, load: (get: Get) => Effect.Effect<Loaded<A>, ForgeError | Refusal>) =>
    Effect.gen(function* () {
      if (before?.of === of && before.calls.length > 0) {
        let isChanged = false
        for (const { call, mark } of before.calls) {
          const { answer } = yield* marked(call, mark)
          isChanged = isChanged || answer !== undefined
        }
        if (!isChanged) return { part: { state: "unchanged" } satisfies KnownPart<A>, memory: before }
      }
      const calls: Array<MarkedCall> = []
      const { complete, value } = yield* load((call) =>
        Effect.map(marked(call, undefined), ({ answer, mark }) => {
          calls.push({ call, mark })
          return answer?.body
        })
      )
      const part: KnownPart<A> = { state: "read", value, complete }
      return { part, memory: { of, calls } satisfies PartMemory }
    })

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

/** Reads the pages of a list, up to `most` items. `path` takes the number of a page, from 1 on. */
export const allPages = Effect.fnUntraced(function* <A, I>(
  get: Get,
  {
    itemsOf,
    most,
    path,
    schema,
    size
  }: {
    readonly path: (page: number) => string
    /** A page with fewer items is the last one. */
    readonly size: number
    readonly most: number
    readonly schema: Schema.Schema<A, I>
    /** The list in an answer that is no list. */
    readonly itemsOf?: string
  }
) {
  const items: Array<A> = []
  const list = Schema.Array(schema)
  for (let page = 1; ; page++) {
    const body = yield* get({ method: "GET", path: path(page) })
    const found =
      itemsOf === undefined
        ? yield* decodeAnswer(list)(body)
        : (yield* decodeAnswer(Schema.Struct({ [itemsOf]: list }))(body))[itemsOf]
    items.push(...(found ?? []))
    if ((found ?? []).length < size) return { value: items.slice(0, most), complete: items.length <= most }
    if (items.length > most) return { value: items.slice(0, most), complete: false }
  }
})

/** The newest of each key, by the order of the list: a later one takes the place of one before it. */
export const newestOf = <A>(items: ReadonlyArray<A>, keyOf: (item: A) => string): ReadonlyArray<A> => [
  ...new Map(items.map((item) => [keyOf(item), item])).values()
]
