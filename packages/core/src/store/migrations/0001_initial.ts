import { access } from "./0001_initial/access.js"
import { changes } from "./0001_initial/changes.js"
import { connections } from "./0001_initial/connections.js"
import { delegations } from "./0001_initial/delegations.js"
import { identity } from "./0001_initial/identity.js"
import { jobs } from "./0001_initial/jobs.js"
import { projects } from "./0001_initial/projects.js"
import { sessions } from "./0001_initial/sessions.js"
import { store } from "./0001_initial/store.js"

/**
 * The tables of each room of the core, after those that they refer to. Portable to SQLite and PostgreSQL: text and integer columns only,
 * times as RFC 3339 text, JSON as text, booleans as 0 and 1. One statement an entry, since SQLite takes one statement a call.
 */
export const initial: ReadonlyArray<string> = [
  ...identity,
  ...access,
  ...connections,
  ...projects,
  ...sessions,
  ...changes,
  ...delegations,
  ...jobs,
  ...store
]
