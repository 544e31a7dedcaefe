import type { SigningKey } from "@reins/client"
import { argument, entry, flag, group } from "../Command.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { table } from "../terminal/Table.js"
import { remoteCommand, workspaceOption } from "./Remote.js"

const json = flag("json", "A line of JSON in the place of text")
const asOwner = "Only for owners of the workspace. Needs a key with the scope admin."

const create = remoteCommand({
  takes: { json, workspace: workspaceOption },
  details: `Projects with \`delivery.sign\` sign their commits with the newest key. ${asOwner}`,
  examples: [
    ["reins signing-keys create", "Make a key, and print its public half"],
    ["reins signing-keys create >> allowed_signers.pub", "Keep the public half in a file"]
  ],
  run: async ({ json, workspace }, connect) => {
    const { reins, workspaceId } = await connect(workspace)
    const key = await reins.signingKeys.create({ workspace_id: workspaceId })
    if (json) return printJsonNow(key)
    process.stdout.write(`${key.public_key}\n`)
    tell("Add it to your forge as a signing key, for the account with the address of REINS_GIT_COMMITTER.")
  }
})

const list = remoteCommand({
  takes: { json, workspace: workspaceOption },
  details: asOwner,
  examples: [
    ["reins signing-keys list", "The keys of your workspace; the first one signs"],
    ["reins signing-keys list --json | jq -r .public_key", "Their public halves"]
  ],
  run: async ({ json, workspace }, connect) => {
    const { reins, workspaceId } = await connect(workspace)
    const rows: Array<SigningKey> = []
    for await (const each of reins.signingKeys.list({ workspace_id: workspaceId })) {
      if (json) printJsonNow(each)
      else rows.push(each)
    }
    if (json) return
    if (rows.length === 0) return tell("The workspace has no signing key. Make one: reins signing-keys create")
    process.stdout.write(table([["KEY", "MADE", "FINGERPRINT"], ...rows.map(rowOf)]))
  }
})

const rowOf = ({ created_at, fingerprint, id }: SigningKey): ReadonlyArray<string> => [
  id,
  created_at.slice(0, 16).replace("T", " "),
  fingerprint
]

const remove = remoteCommand({
  takes: { key: argument("key", "The id of a key") },
  details: asOwner,
  examples: [
    ["reins signing-keys remove skey_01h…", "Destroy a key; what it has signed stays signed"],
    ["reins signing-keys list", "See the ids"]
  ],
  run: async ({ key }, connect) => {
    const { reins } = await connect()
    const { fingerprint } = await reins.signingKeys.remove({ signing_key_id: key })
    tell(`The key ${fingerprint} signs nothing any more.`)
  }
})

export const signingKeys = group(
  entry("create", "Make a key that signs commits", create),
  entry("list", "List the signing keys of a workspace", list),
  entry("remove", "Destroy a signing key", remove)
)
