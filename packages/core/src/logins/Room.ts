import { onTopOf } from "@reins/base/base/Layered"
import { Effect } from "effect"
import { ConnectionLoginStore, loginRecords } from "./ConnectionLoginStore.js"
import { ConnectionLogins } from "./ConnectionLogins.js"
import * as operations from "./Operations.js"

/** Logins of people at servers of tools, in a browser. A connection is made of each. */
export const logins = {
  name: "logins",
  layer: ConnectionLogins.layer.pipe(onTopOf(ConnectionLoginStore.layer)),
  tables: ["connection_logins"],
  sealed: loginRecords,
  sweeps: { logins: Effect.map(ConnectionLoginStore, ({ purge }) => purge) },
  operations
} as const
