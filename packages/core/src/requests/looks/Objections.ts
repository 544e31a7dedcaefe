import type { ForgeAuthor, JudgedReview, RequestThread, SaidReview, SaidThread } from "../rows/RequestParts.js"

// Decides whose word holds a merge up. An objection has the rights of an approval: it counts if its author may write to the repository.

/** True for accounts that may write, by their logins. Null where the forge does not show it; absent for one that was not asked about. */
export type Rights = ReadonlyMap<string, boolean | null>

/** The accounts whose objections count, and those of whom nobody knows whether they do. */
export interface Objectors {
  readonly holding: ReadonlyArray<string>
  readonly unknown: ReadonlyArray<string>
}

/** Programs and the account of the connection were let in by somebody who may write. */
const mayWrite = ({ kind, login }: ForgeAuthor, rights: Rights): boolean | undefined =>
  kind === "person" ? (rights.get(login) ?? undefined) : true

/** The newest review of each account that is more than a comment. Where times do not tell the newest, a request for changes stands. */
export const deciding = <A extends Omit<SaidReview, "official">>(reviews: ReadonlyArray<A>): ReadonlyArray<A> => {
  const byAuthor = new Map<string, Array<A>>()
  for (const review of reviews) {
    if (review.state === "commented") continue
    const own = byAuthor.get(review.author.login)
    if (own === undefined) byAuthor.set(review.author.login, [review])
    else own.push(review)
  }
  return [...byAuthor.values()].flatMap((own) => newestIn(own) ?? [])
}

const newestIn = <A extends Omit<SaidReview, "official">>(own: ReadonlyArray<A>): A | undefined => {
  const timed = own.map((review) => ({ review, ms: Date.parse(review.submitted_at ?? "") }))
  const asking = own.find(({ state }) => state === "changes_requested")
  if (asking !== undefined && own.length > 1 && timed.some(({ ms }) => Number.isNaN(ms))) return asking
  return timed.toSorted((one, other) => (one.ms || 0) - (other.ms || 0)).at(-1)?.review
}

/** The newest review of each account, without those that the forge does not count. */
export const counting = <A extends SaidReview>(reviews: ReadonlyArray<A>): ReadonlyArray<A> =>
  deciding(reviews.filter(({ official }) => official !== false))

/** Those who ask for changes. */
export const askingForChanges = (reviews: ReadonlyArray<JudgedReview>, rights: Rights): Objectors =>
  sortedBy(
    counting(reviews)
      .filter(({ state }) => state === "changes_requested")
      .map(({ author }) => ({ login: author.login, may: mayWrite(author, rights) }))
  )

const isOpen = ({ path, resolved }: SaidThread): boolean => path !== null && resolved === false

/** The people who have a word in a thread. Answers of programs and of our own account take no side. */
const voicesOf = ({ comments }: SaidThread): ReadonlyArray<ForgeAuthor> =>
  comments.map(({ author }) => author).filter(({ kind }, at) => at === 0 || kind === "person")

/** The people whose rights decide whether an open thread or a review holds a merge up. */
export const objectorsOf = (
  reviews: ReadonlyArray<SaidReview>,
  threads: ReadonlyArray<SaidThread>
): ReadonlyArray<ForgeAuthor> => [
  ...counting(reviews)
    .filter(({ state }) => state === "changes_requested")
    .map(({ author }) => author),
  ...threads.filter(isOpen).flatMap(voicesOf)
]

/** Those who have a word in threads about lines that are not resolved. A thread in which somebody who may write has a word counts by that. */
export const inOpenThreads = (threads: ReadonlyArray<RequestThread>, rights: Rights): Objectors =>
  sortedBy(
    threads.filter(isOpen).flatMap((thread) => {
      const voices = voicesOf(thread).map((author) => ({ login: author.login, may: mayWrite(author, rights) }))
      const holding = voices.filter(({ may }) => may === true)
      return holding.length > 0 ? holding : voices
    })
  )

const sortedBy = (voices: ReadonlyArray<{ readonly login: string; readonly may: boolean | undefined }>): Objectors => {
  const loginsOf = (wanted: boolean | undefined) => [
    ...new Set(voices.filter(({ may }) => may === wanted).map(({ login }) => login))
  ]
  return { holding: loginsOf(true), unknown: loginsOf(undefined) }
}

const mostNamed = 5

/** The sentence about those of whom nobody knows whether they may write. `what` is what counts therefore. */
export const unknownRight = ({ unknown }: Objectors, what: string): string => {
  const named = unknown.slice(0, mostNamed).map((login) => JSON.stringify(login))
  const more = unknown.length > mostNamed ? ` and ${unknown.length - mostNamed} more` : ""
  return `It is not known whether ${named.join(", ")}${more} may write to the repository, so ${what} counts.`
}
