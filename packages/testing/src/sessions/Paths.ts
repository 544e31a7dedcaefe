import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { SessionId } from "@reins/base/domain/Ids"
import { sessionPaths } from "@reins/machine/bench/SessionPaths"
import { Effect } from "effect"

/** The places of the files of a session on the bench of this process. */
export const pathsOf = (session: SessionId) => Effect.map(CoreConfig, ({ dataDir }) => sessionPaths(dataDir, session))
