import { type Hearers, makeHearers } from "@reins/base/base/Hearers"
import type { Principal } from "@reins/base/domain/Principal"
import { Context, Effect, Layer } from "effect"
import type { CareInput } from "../../projects/CarePolicy.js"
import type { Commit } from "../../store/Commit.js"
import type { SeenCheck } from "./CheckLogs.js"
import type { MergeRequest } from "./MergeRequest.js"
import type { RequestReview, RequestThread } from "./RequestParts.js"

/** An open merge request as a look has just found it. */
export interface RequestSight {
  /** It has its standing. */
  readonly request: MergeRequest
  /** The checks of its head. */
  readonly checks: ReadonlyArray<SeenCheck>
  readonly reviews: ReadonlyArray<RequestReview>
  readonly threads: ReadonlyArray<RequestThread>
  /** True for people who may write to the repository, by their logins. Somebody who was not asked about is absent. */
  readonly writers: Readonly<Record<string, boolean>>
  /** True when its branch is in another repository. */
  readonly isFork: boolean
  /** The parts that this look could not read. Their rows are those of an earlier one. */
  readonly unread: ReadonlySet<"checks" | "reviews" | "threads">
  /** The first of the looks in a row that could not read the checks of the base branch; null for none. In milliseconds since 1970. */
  readonly baseUnreadSinceMs: number | null
  /** Since its head was first seen, in milliseconds. */
  readonly headAgeMs: number
  /** The time of the look, in milliseconds since 1970. */
  readonly nowMs: number
}

/** Why a forge shows a merge request no more. */
export type LastingRefusal = "auth_required" | "branch_gone"

/** A room that has to know of merge requests in the very commit that changes them. It may write, and must not fail. */
export interface RequestListener {
  /** One is to be opened, by a principal. `care` is what the request or the project says; undefined for nothing. */
  readonly requested: (
    request: MergeRequest,
    by: Principal,
    care: CareInput | undefined
  ) => Effect.Effect<void, never, Commit>
  /** A look has read an open one. Gives the milliseconds until it has to be looked at again; undefined for no wish. */
  readonly looked: (sight: RequestSight) => Effect.Effect<number | undefined, never, Commit>
  /** The forge has not shown an open one for so long that a person has to know. */
  readonly refused: (request: MergeRequest, why: LastingRefusal) => Effect.Effect<void, never, Commit>
  /** One was merged or closed. */
  readonly ended: (request: MergeRequest) => Effect.Effect<void, never, Commit>
  /** True when a look has to ask which people may write to the repository. */
  readonly wantsWriters: (request: MergeRequest) => Effect.Effect<boolean>
}

/** The rooms above that listen to merge requests. They register here, so that merge requests need not know them. */
export class RequestListeners extends Context.Tag("@reins/core/requests/rows/RequestListeners")<
  RequestListeners,
  RequestListener & Pick<Hearers<Partial<RequestListener>>, "register">
>() {
  static readonly layer = Layer.sync(RequestListeners, () => {
    const { ask, register, tell } = makeHearers<Partial<RequestListener>>()
    return RequestListeners.of({
      register,
      requested: (request, by, care) => tell((listener) => listener.requested?.(request, by, care)),
      looked: Effect.fnUntraced(function* (sight) {
        let soonest: number | undefined
        yield* tell(
          ({ looked }) =>
            looked &&
            Effect.map(looked(sight), (waitMs) => {
              if (waitMs !== undefined) soonest = Math.min(waitMs, soonest ?? waitMs)
            })
        )
        return soonest
      }),
      refused: (request, why) => tell((listener) => listener.refused?.(request, why)),
      ended: (request) => tell((listener) => listener.ended?.(request)),
      wantsWriters: (request) =>
        Effect.map(
          ask(({ wantsWriters }) => wantsWriters && Effect.map(wantsWriters(request), (does) => does || undefined)),
          (found) => found ?? false
        )
    })
  })
}
