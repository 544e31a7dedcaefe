import type { Reins } from "@reins/client"
import { argument, entry, flag, group } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { didYouMean } from "../terminal/Suggestion.js"
import { table } from "../terminal/Table.js"
import { remoteCommand } from "./Remote.js"
import { requireYes, untilDeleted, yes } from "./SessionState.js"

const workspace = argument("workspace", "The workspace, by name or id")
const json = flag("json", "A line of JSON in the place of text")

/** The one workspace that a name or an id means. What cannot be taken back never falls on the first of two. */
const named = async (reins: Reins, wanted: string) => {
  const { workspaces } = await reins.accounts.getMe()
  const found = workspaces.filter(({ id, name }) => id === wanted || name === wanted)
  const [only] = found
  if (only !== undefined && found.length === 1) return only
  const known = (found.length > 1 ? found : workspaces).map(({ id, name }) => `${harmless(name)} (${id})`).join(", ")
  throw new CommandFailed({
    message:
      found.length > 1
        ? `More than one workspace has this name. Give the id: ${known}.`
        : `There is no workspace "${harmless(wanted)}".${didYouMean(
            wanted,
            workspaces.flatMap(({ id, name }) => [name, id])
          )} There are: ${known}.`
  })
}

const list = remoteCommand({
  takes: { json },
  examples: [
    ["reins workspaces list", "Your workspaces, and your role in each"],
    ["reins workspaces list --json | jq -r .id", "Their ids alone"]
  ],
  run: async ({ json }, connect) => {
    const { reins } = await connect()
    const rows: Array<ReadonlyArray<string>> = []
    for await (const each of reins.workspaces.list({})) {
      if (json) printJsonNow(each)
      else rows.push([each.id, each.role, each.personal ? "personal" : "shared", harmless(each.name)])
    }
    if (!json) process.stdout.write(table([["WORKSPACE", "YOUR ROLE", "KIND", "NAME"], ...rows]))
  }
})

const create = remoteCommand({
  takes: { name: argument("name", "The name of the new workspace"), json },
  details: "You are its owner. Needs a key with the scope admin.",
  examples: [
    ["reins workspaces create Payments", "Make a workspace for a team"],
    ["reins workspaces create Payments --json | jq -r .id", "Its id, for a program"]
  ],
  run: async ({ json, name }, connect) => {
    const { reins } = await connect()
    const made = await reins.workspaces.create({ name })
    if (json) printJsonNow(made)
    else tell(`The workspace "${harmless(made.name)}" is there: ${made.id}. Give its name with --workspace.`)
  }
})

const rename = remoteCommand({
  takes: { workspace, name: argument("name", "The new name") },
  examples: [
    ["reins workspaces rename Payments Billing", "Give it another name"],
    ["reins workspaces list", "See the names"]
  ],
  run: async ({ name, workspace }, connect) => {
    const { reins } = await connect()
    const { id } = await named(reins, workspace)
    await reins.workspaces.update({ workspace_id: id, name })
    tell(`The workspace is called "${harmless(name)}" now.`)
  }
})

const leave = remoteCommand({
  takes: { workspace, yes },
  details: "Your keys for it end. Only an owner can invite you again. The last owner cannot leave.",
  examples: [
    ["reins workspaces leave Payments", "Leave it, after a question"],
    ["reins workspaces leave Payments --yes", "Leave it without one"]
  ],
  run: async ({ workspace, yes }, connect) => {
    const { reins } = await connect()
    const { id, name } = await named(reins, workspace)
    await requireYes(`Leave "${harmless(name)}"? You see it again only when an owner invites you.`, yes)
    await reins.workspaces.leave({ workspace_id: id })
    tell(`You have left "${harmless(name)}".`)
  }
})

const remove = remoteCommand({
  takes: { workspace, yes },
  details:
    "Its sessions, projects, connections, keys, webhooks, budgets and files go, and what runs in it is cancelled. Waits until nothing is left.",
  examples: [
    ["reins workspaces delete Payments", "Delete it, after a question"],
    ["reins workspaces delete wsp_01h… --yes", "Delete it without one"]
  ],
  run: async ({ workspace, yes }, connect) => {
    const { reins } = await connect()
    const { id: workspace_id, name } = await named(reins, workspace)
    await requireYes(`Delete "${harmless(name)}" for good, with all that is in it?`, yes)
    await reins.workspaces.delete({ workspace_id, confirm: name })
    tell("Nobody sees it any more. What is in it is being deleted…")
    await untilDeleted(() => reins.workspaces.getDeletion({ workspace_id }))
    tell("Nothing is left of it.")
  }
})

const keepDays = (given: string): number | null => {
  const days = Number(given)
  if (given === "forever") return null
  if (Number.isInteger(days) && days >= 1) return days
  throw new CommandFailed({ message: `"${harmless(given)}" is no number of days. Give one, or "forever".` })
}

const retention = remoteCommand({
  takes: {
    workspace,
    days: argument("days", "The days after the last use for which archived and closed sessions are kept, or forever"),
    yes
  },
  details: "Older ones are deleted for good, within an hour and from then on. Says first how many go.",
  examples: [
    ["reins workspaces retention Payments 90", "Keep them for three months"],
    ["reins workspaces retention Payments forever", "Delete none by itself"]
  ],
  run: async ({ days: given, workspace, yes }, connect) => {
    const days = keepDays(given)
    const { reins } = await connect()
    const { id: workspace_id, name } = await named(reins, workspace)
    if (days !== null) {
      const { sessions } = await reins.workspaces.getRetentionPreview({ workspace_id, sessions_days: days })
      await requireYes(
        `Delete archived and closed sessions of "${harmless(name)}" ${days} days after their last use? ${sessions} go now.`,
        yes
      )
    }
    await reins.workspaces.update({ workspace_id, retention: { sessions_days: days } })
    tell(days === null ? "Sessions are kept for ever." : `Sessions are kept for ${days} days after their last use.`)
  }
})

/** `reins workspaces` */
export const workspaces = group(
  entry("list", "List your workspaces", list),
  entry("create", "Make a workspace", create),
  entry("rename", "Give a workspace another name", rename),
  entry("leave", "Leave a workspace", leave),
  entry("retention", "Say how long archived and closed sessions are kept", retention),
  entry("delete", "Delete a workspace for good, with all that is in it", remove)
)
