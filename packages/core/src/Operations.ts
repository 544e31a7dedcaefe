import { Effect } from "effect"
import { catalog } from "./catalog/Operations.js"
import { applications, captures, changesets, deliveries, mergeRequests } from "./changes/Operations.js"
import { connections } from "./connections/Operations.js"
import { delegations, makeDelegate } from "./delegations/Operations.js"
import { makeDelete, receipts } from "./deletion/Operations.js"
import { executors } from "./execution/Operations.js"
import { accounts, apiKeys, workspaces } from "./identity/Operations.js"
import { jobs } from "./jobs/Operations.js"
import { projects } from "./projects/Operations.js"
import { interactions, messages, sessions, turns, workspaceUsage } from "./sessions/Operations.js"
import { webhooks } from "./webhooks/Operations.js"
import { files, repositories } from "./worktrees/Operations.js"

/**
 * Every operation that needs no more of a request than its caller and its parts, by group. A door adds the few that do: logins and passwords,
 * streams, a wait, and its own version.
 */
export const operations = Effect.all({
  accounts,
  apiKeys,
  workspaces: Effect.map(
    Effect.all([workspaces, workspaceUsage, receipts, repositories]),
    ([own, usage, listing, checking]) => ({
      ...own,
      ...usage,
      ...listing,
      ...checking
    })
  ),
  connections,
  projects,
  sessions: Effect.map(
    Effect.all([sessions, captures, makeDelegate, executors, files, makeDelete]),
    ([own, ...others]) => {
      const [capturing, spawning, running, filing, removing] = others
      return { ...own, ...capturing, ...spawning, ...running, ...filing, ...removing }
    }
  ),
  messages,
  turns,
  interactions,
  changesets,
  applications,
  deliveries,
  mergeRequests,
  delegations,
  webhooks,
  catalog,
  jobs
})
