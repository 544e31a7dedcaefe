import { type Entry, group } from "@reins/cli/Command"
import { keys as keysOfClient } from "@reins/cli/client/Keys"

/** The database is read where a key is made, and not where a server is asked. */
const create: Entry = {
  name: "create",
  about: "Make an API key; it is printed once",
  load: async () => (await import("./Accounts.js")).createKey
}

/** `reins keys` */
export const keys = group(create, ...keysOfClient.entries)
