import type { Hook, HookReceipt } from "@reins/client"
import { argument, choice, entry, flag, group, option, requiredOption, whole } from "../Command.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { remoteCommand, workspaceOption } from "./Remote.js"
import { hookKinds } from "./Words.js"

const hookId = argument("hook", "The id of a hook")
const json = flag("json", "Lines of JSON in the place of text")

const minute = (time: string | null): string =>
  time === null ? "-" : `${time.replace("T", " ").replace(/:\d\d\.[^:]*$/, "")}`

const list = remoteCommand({
  takes: { json, workspace: workspaceOption },
  details: "Needs a key with the scope admin.",
  examples: [
    ["reins hooks list", "The hooks, and when they were last called"],
    ["reins hooks list --workspace acme --json", "Those of another workspace, for a program"]
  ],
  run: async ({ json, workspace }, connect) => {
    const { reins, workspaceId } = await connect(workspace)
    const hooks: Array<Hook> = []
    for await (const hook of reins.hooks.list({ workspace_id: workspaceId })) hooks.push(hook)
    if (json) return hooks.forEach(printJsonNow)
    if (hooks.length === 0) return tell("There is no hook yet. Make one: reins hooks add --kind github")
    const rows = hooks.map(({ id, kind, label, last_received_at, state }) => [
      id,
      kind,
      state,
      minute(last_received_at),
      harmless(label)
    ])
    process.stdout.write(table([["HOOK", "KIND", "STATE", "LAST CALL", "LABEL"], ...rows]))
  }
})

const add = remoteCommand({
  takes: {
    kind: choice("kind", hookKinds, "The proof of a call (standard)"),
    label: option("label", "The purpose, in your words"),
    json,
    workspace: workspaceOption
  },
  examples: [
    ["reins hooks add --kind github --label shop", "Called by a repository on GitHub"],
    ["reins hooks add --kind token", "Called by anything that can send a header"]
  ],
  run: async ({ json, kind = "standard", label = kind, workspace }, connect) => {
    const { reins, url, workspaceId } = await connect(workspace)
    const hook = await reins.hooks.create({ workspace_id: workspaceId, kind, label })
    showSecret(hook, json)
    if (json) return
    tell(`Its address: ${url.replace(/\/$/, "")}${hook.path}`)
    tell(`Let it start work: reins automations add MESSAGE --name NAME --hook ${hook.id}`)
  }
})

const showSecret = (hook: Hook & { readonly secret: string }, json: boolean): void => {
  if (json) {
    printJsonNow(hook)
    return
  }
  tell(`The secret of ${hook.id} is shown only once:`)
  process.stdout.write(`${hook.secret}\n`)
}

const rotate = remoteCommand({
  takes: {
    hook: hookId,
    overlap: whole("overlap", "The seconds for which the old secret is good too (86400)", [0, 604_800]),
    json
  },
  examples: [
    ["reins hooks rotate hook_01h…", "Take both secrets for a day"],
    ["reins hooks rotate hook_01h… --overlap 0", "Refuse the old one at once"]
  ],
  run: async ({ hook, json, overlap }, connect) => {
    const { reins } = await connect()
    const rotated = await reins.hooks.rotateSecret({
      hook_id: hook,
      ...(overlap !== undefined && { overlap_seconds: overlap })
    })
    showSecret(rotated, json)
    const { secret_overlaps_until: until } = rotated
    if (!json) tell(until === null ? "The one before is refused." : `The one before is good until ${until}.`)
  }
})

const receipts = remoteCommand({
  takes: { hook: hookId, limit: whole("limit", "How many at most (20)", [1, 100]), json },
  examples: [
    ["reins hooks receipts hook_01h…", "What came in, and what it has started"],
    ["reins hooks receipts hook_01h… --json", "The same for a program"]
  ],
  run: async ({ hook, json, limit = 20 }, connect) => {
    const { reins } = await connect()
    const { items } = await reins.hooks.listReceipts({ hook_id: hook, limit })
    if (json) return items.forEach(printJsonNow)
    if (items.length === 0) return tell("Nothing has come in during the last 7 days.")
    process.stdout.write(
      table([["RECEIPT", "CAME", "EVENT", "OUTCOME", "RUNS", "BYTES", "DELIVERY"], ...items.map(rowOf)])
    )
  }
})

const rowOf = ({
  created_at,
  delivery_id,
  event,
  id,
  outcome,
  reason,
  runs,
  size
}: HookReceipt): ReadonlyArray<string> => [
  id,
  minute(created_at),
  event === null ? "-" : harmless(event),
  reason === null ? outcome : `${outcome} (${harmless(reason.replaceAll("_", " "))})`,
  String(runs),
  String(size),
  harmless(delivery_id)
]

const replay = remoteCommand({
  takes: { receipt: argument("receipt", "The id of a receipt"), json },
  examples: [
    ["reins hooks replay hrc_01h…", "Ring again with what came in"],
    ["reins hooks receipts hook_01h…", "See first what came in"]
  ],
  run: async ({ json, receipt }, connect) => {
    const { reins } = await connect()
    const replayed = await reins.hooks.replayReceipt({ hook_receipt_id: receipt })
    if (json) return printJsonNow(replayed)
    tell(`Runs that the delivery has made: ${replayed.runs}.`)
  }
})

const remove = remoteCommand({
  takes: { hook: hookId },
  examples: [
    ["reins hooks remove hook_01h…", "Remove a hook, and pause the automations that it rings"],
    ["reins hooks list", "See first which one it is"]
  ],
  run: async ({ hook }, connect) => {
    const { reins } = await connect()
    const { label } = await reins.hooks.remove({ hook_id: hook })
    tell(`${harmless(label)} (${hook}) is not there any more.`)
  }
})

const register = remoteCommand({
  takes: {
    hook: hookId,
    connection: requiredOption("connection", "The connection to the forge", { value: "id" }),
    repository: requiredOption("repository", "The URL of the repository", { value: "url" }),
    json
  },
  details: "The token of the connection has to manage webhooks.",
  examples: [
    [
      "reins hooks register hook_01h… --connection con_01h… --repository https://github.com/you/shop.git",
      "Have the forge make it"
    ],
    ["reins hooks show hook_01h…", "See what the forge said"]
  ],
  run: async ({ connection, hook, json, repository }, connect) => {
    const { reins } = await connect()
    const asked = await reins.hooks.register({ hook_id: hook, connection_id: connection, repository })
    if (json) return printJsonNow(asked)
    tell(`The forge is asked. See what it says: reins hooks show ${hook}`)
  }
})

const unregister = remoteCommand({
  takes: { hook: hookId },
  examples: [
    ["reins hooks unregister hook_01h…", "Have the forge forget it"],
    ["reins hooks show hook_01h…", "See what the forge said"]
  ],
  run: async ({ hook }, connect) => {
    const { reins } = await connect()
    await reins.hooks.removeRegistration({ hook_id: hook })
    tell("The forge is asked to forget the hook, which stays here.")
  }
})

const show = remoteCommand({
  takes: { hook: hookId },
  examples: [
    ["reins hooks show hook_01h…", "Print a hook as JSON, with its registration"],
    ["reins hooks receipts hook_01h…", "See what came in"]
  ],
  run: async ({ hook }, connect) => {
    const { reins } = await connect()
    printJsonNow(await reins.hooks.get({ hook_id: hook }))
  }
})

export const hooks = group(
  entry("list", "List the hooks", list),
  entry("add", "Make a hook; its secret is printed once", add),
  entry("show", "Print a hook as JSON", show),
  entry("register", "Have a forge make the hook with the token of a connection", register),
  entry("unregister", "Have the forge forget the hook", unregister),
  entry("receipts", "List what came in", receipts),
  entry("replay", "Ring again with what came in", replay),
  entry("rotate", "Replace the secret; the new one is printed once", rotate),
  entry("remove", "Remove a hook, and pause the automations that it rings", remove)
)
