import type { MergeRequestId } from "@reins/base/domain/Ids"
import type { Forge, ForgeError } from "@reins/machine/forge/Forge"
import type { ForgeView } from "@reins/machine/forge/ForgeView"
import { Context, type Effect } from "effect"
import type { Commit } from "../../store/Commit.js"
import type { MergeRequest } from "../rows/MergeRequest.js"
import type { LastingRefusal } from "../rows/RequestListeners.js"
import type { AskedWriters } from "./Writers.js"

/** The result of what follows from a look. */
export interface SequelEnd {
  /** The milliseconds until the next look is of use; infinite for none. */
  readonly dueMs: number
  /** True when a merge has begun in the commit of the look. */
  readonly hasBegun: boolean
}

/** The decisions that follow from a look, so that looks need not know who decides by them. */
export class LookSequel extends Context.Tag("@reins/core/requests/looks/LookSequel")<
  LookSequel,
  {
    /**
     * Reads of the forge what a decision needs besides the view and the rights that are known. Gives what follows, for the commit of the look, after its
     * rows.
     */
    readonly prepare: (
      forge: Forge,
      request: MergeRequest,
      view: ForgeView,
      writers: AskedWriters
    ) => Effect.Effect<Effect.Effect<SequelEnd, never, Commit>, ForgeError>
    /**
     * Follows a look that could not read the forge. `why` is given once that lasts. Gives the milliseconds until the next look is of use; infinite
     * for none.
     */
    readonly missed: (id: MergeRequestId, why: LastingRefusal | undefined) => Effect.Effect<number, never, Commit>
  }
>() {}
