import type { Reins } from "@reins/client"
import { argument, entry, flag, group } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless, table } from "../terminal/Style.js"
import { didYouMean } from "../terminal/Suggestion.js"
import { remoteCommand } from "./Remote.js"
import { requireYes, yes } from "./SessionState.js"

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

/** `reins workspaces` */
export const workspaces = group(
  entry("list", "List your workspaces", list),
  entry("create", "Make a workspace", create),
  entry("rename", "Give a workspace another name", rename),
  entry("leave", "Leave a workspace", leave)
)
