import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Vault } from "@reins/base/secrets/Vault"
import * as RequestCredit from "@reins/core/placement/cluster/RequestCredit"
import type { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { logDefect } from "@reins/core/store/FailedStatement"
import * as Loop from "@reins/core/store/Loop"
import { Effect, type Scope } from "effect"
import type { Exchange } from "../Exchange.js"
import { subjectOf, tell } from "./RateAnswers.js"

/** The share of the limit that a node lets through before it has told the others: what is filled in within a second. */
const untoldShare = 1 / 60
/** The longest time for which it keeps less than that to itself, in milliseconds. */
const tellMs = 1000
/** The time in which the database has to answer, in milliseconds. */
const patienceMs = 5000
/** The time between two tries when it does not, in milliseconds. */
const againMs = 1000
/** Callers that are remembered before those who have all of their requests are forgotten. */
const remembered = 10_000

/**
 * Counts the requests of callers at all nodes together. A request is let through by what this node knows, and is told to the others beside it, so it
 * waits for nothing; more of them at once than the untold share wait until the database has counted them. While the database does not answer, the node
 * goes by its own count.
 */
export const sharedRateLimit = (
  requestsPerMinute: number
): Effect.Effect<
  (exchange: Exchange) => Effect.Effect<void, ReinsError<"rate_limited">>,
  never,
  Bell | Database | Scope.Scope | Vault
> =>
  Effect.gen(function* () {
    const vault = yield* Vault
    // Addresses of clients are nobody's business who reads the table.
    const counter = new Counter(requestsPerMinute, (subject) => vault.mac("request credit", subject))
    const credit = RequestCredit.make(yield* Database, requestsPerMinute)
    const charged = (charges: ReadonlyArray<RequestCredit.RequestCharge>) =>
      credit.charge(charges).pipe(
        Effect.disconnect,
        Effect.timeoutTo({ duration: patienceMs, onSuccess: (answer) => answer, onTimeout: () => undefined }),
        Effect.catchAllDefect((defect) => Effect.as(logDefect("requests could not be counted", defect), undefined))
      )
    const telling = Effect.gen(function* () {
      yield* counter.due.await
      yield* Effect.timeoutOption(counter.urgent.await, tellMs)
      const { charges, settle } = counter.collect()
      const answer = yield* charged(charges)
      settle(answer)
      if (answer === undefined) yield* Effect.sleep(againMs)
    })
    // Requests wake it, and no ring.
    yield* Effect.forkScoped(Effect.forever(telling))
    yield* Loop.start({ failure: "old counts could not be deleted", everyMs: 3_600_000, round: credit.purge })
    return (exchange) =>
      Effect.flatMap(counter.take(subjectOf(exchange)), ({ isFree, left }) =>
        tell(exchange, { requestsPerMinute, left, isFree })
      )
  })

/** The answer to a request, and the requests that its caller has left after it. */
interface Taken {
  readonly isFree: boolean
  readonly left: number
}

/** A caller as this node knows it. `id` stands for it in the database. */
interface Account {
  readonly id: string
  /**
   * The time at which the caller has all of its requests again, as far as this node was told and has let requests through itself, by the monotonic
   * clock of the process in milliseconds.
   */
  fullAt: number
  /** Requests that were let through and are not told of. */
  used: number
  /** Those that are being told of. */
  telling: number
  /** Requests that wait for leave. Each is told whether it may go on. */
  waiting: Array<(isFree: boolean) => void>
}

/** The counts of a node. */
class Counter {
  private readonly accounts = new Map<string, Account>()
  /** The accounts of which there is something to tell. */
  private changed = new Set<Account>()
  private readonly untold: number
  private readonly requestMs: number
  /** True while the database does not answer. */
  private isAlone = false
  /** Open while there is something to tell, and while that is not to be kept for longer. */
  readonly due = Effect.unsafeMakeLatch(false)
  readonly urgent = Effect.unsafeMakeLatch(false)

  constructor(
    private readonly perMinute: number,
    private readonly idOf: (subject: string) => string
  ) {
    this.untold = Math.max(1, Math.floor(perMinute * untoldShare))
    this.requestMs = 60_000 / perMinute
  }

  /** Counts a request. */
  take(subject: string): Effect.Effect<Taken> {
    return Effect.suspend(() => {
      const account = this.accountOf(subject)
      if (this.leftOf(account) < 1) return Effect.succeed(this.taken(account, false))
      const untold = account.used + account.telling
      if (this.isAlone || untold < this.untold) {
        this.use(account)
        if (untold + 1 >= this.untold / 2) this.urgent.unsafeOpen()
        return Effect.succeed(this.taken(account, true))
      }
      return Effect.async<Taken>((resume) => {
        account.waiting.push((isFree) => resume(Effect.succeed(this.taken(account, isFree))))
        this.note(account)
        this.urgent.unsafeOpen()
      })
    })
  }

  /** Takes what is to be told, and the way to settle it with the answer; undefined when there was none. */
  collect() {
    this.due.unsafeClose()
    this.urgent.unsafeClose()
    const told = [...this.changed].map((account) => {
      const waiting = account.waiting
      account.telling = account.used
      account.used = 0
      account.waiting = []
      return { account, waiting }
    })
    this.changed = new Set()
    return {
      charges: told.map(({ account: { id, telling }, waiting }) => ({
        subject: id,
        used: telling,
        wanted: waiting.length
      })),
      settle: (answer: ReadonlyArray<RequestCredit.Charged> | undefined) => {
        this.isAlone = answer === undefined
        const found = new Map(answer?.map((each) => [each.subject, each]))
        for (const { account, waiting } of told) this.settle(account, waiting, found.get(account.id))
      }
    }
  }

  private settle(account: Account, waiting: Account["waiting"], answer: RequestCredit.Charged | undefined): void {
    if (answer === undefined) {
      account.used += account.telling
      this.note(account)
    } else account.fullAt = performance.now() + answer.fullInMs + account.used * this.requestMs
    account.telling = 0
    for (const [index, resume] of waiting.entries()) {
      const isFree = answer === undefined ? this.leftOf(account) >= 1 : index < answer.granted
      if (isFree && answer === undefined) this.use(account)
      resume(isFree)
    }
  }

  /** Lets a request through that the others are told of later. */
  private use(account: Account): void {
    account.fullAt = Math.max(account.fullAt, performance.now()) + this.requestMs
    account.used++
    this.note(account)
  }

  /** Has the others told of an account. */
  private note(account: Account): void {
    this.changed.add(account)
    this.due.unsafeOpen()
  }

  private taken(account: Account, isFree: boolean): Taken {
    return { isFree, left: this.leftOf(account) }
  }

  private leftOf({ fullAt }: Account): number {
    return this.perMinute - Math.max(0, fullAt - performance.now()) / this.requestMs
  }

  private accountOf(subject: string): Account {
    const known = this.accounts.get(subject)
    if (known !== undefined) return known
    if (this.accounts.size >= remembered) this.forgetFull()
    const account = { id: this.idOf(subject), fullAt: Number.NEGATIVE_INFINITY, used: 0, telling: 0, waiting: [] }
    this.accounts.set(subject, account)
    return account
  }

  private forgetFull(): void {
    for (const [subject, account] of this.accounts) {
      const isTold = account.used + account.telling + account.waiting.length === 0
      if (isTold && this.leftOf(account) >= this.perMinute) this.accounts.delete(subject)
    }
  }
}
