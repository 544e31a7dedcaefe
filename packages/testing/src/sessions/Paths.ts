import { CoreConfig } from "@reins/core/base/CoreConfig"
import { sessionPaths } from "@reins/core/bench/SessionPaths"
import type { SessionId } from "@reins/core/domain/Ids"
import { Effect } from "effect"

/** The places of the files of a session on the bench of this process. */
export const pathsOf = (session: SessionId) => Effect.map(CoreConfig, ({ dataDir }) => sessionPaths(dataDir, session))
