import type { Share } from "@reins/client"
import { argument, choices, type Entry, entry, flag, option } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { table } from "../terminal/Table.js"
import { remoteCommand } from "./Remote.js"
import { sessionArgument as session, sessionNamed } from "./Resolve.js"

const json = flag("json", "JSON in the place of text")

const unit = { h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** The time after a duration as `12h`, `7d` or `2w`. */
const after = (text: string): string => {
  const [, count = "", of = ""] = /^(\d{1,4})([hdw])$/.exec(text) ?? []
  if (of !== "h" && of !== "d" && of !== "w")
    throw new CommandFailed({ message: `--expires takes a time as 12h, 7d or 2w, and "${text}" is none.` })
  return new Date(Date.now() + Number(count) * unit[of]).toISOString()
}

const share = remoteCommand({
  takes: {
    session,
    expires: option("expires", "The time until the link ends, as 12h, 7d or 2w (never)", { value: "time" }),
    with: choices("with", ["reasoning", "tools"], "Show these too; may be given more than once"),
    withoutChanges: flag("without-changes", "Show no diffs"),
    json
  },
  details:
    "Anybody with the link reads the conversation, the plans and the diffs, without an account and without secrets. Tools may have read any file, so " +
    "their inputs and outputs are shown with --with tools alone.",
  examples: [
    ["reins sessions share sess_01h… --expires 7d", "A link for a week"],
    ["reins sessions share sess_01h… --with tools --with reasoning", "A link that shows all that the agent did"]
  ],
  run: async ({ expires, json, session, with: more, withoutChanges }, connect) => {
    const remote = await connect()
    const made = await remote.reins.sessions.share({
      session_id: await sessionNamed(remote, session),
      includes: [...(withoutChanges ? [] : ["changes" as const]), ...more],
      ...(expires !== undefined && { expires_at: after(expires) })
    })
    if (json) return printJsonNow(made)
    process.stdout.write(`${made.url}\n`)
    tell(`Take it back with: reins sessions unshare ${made.id}`)
  }
})

const shares = remoteCommand({
  takes: { session, json },
  examples: [
    ["reins sessions shares sess_01h…", "Who shared the session, and what the links show"],
    ["reins sessions shares sess_01h… --json | jq -r .id", "The ids, for a program"]
  ],
  run: async ({ json, session }, connect) => {
    const remote = await connect()
    const session_id = await sessionNamed(remote, session)
    const rows: Array<Share> = []
    for await (const each of remote.reins.sessions.listShares({ session_id })) {
      if (json) printJsonNow(each)
      else rows.push(each)
    }
    if (json) return
    if (rows.length === 0) return tell(`The session is not shared. Share it: reins sessions share ${session_id}`)
    process.stdout.write(table([["SHARE", "STATE", "SHOWS", "EXPIRES", "MADE"], ...rows.map(rowOf)]))
  }
})

const rowOf = ({ created_at, expires_at, id, includes, state }: Share): ReadonlyArray<string> => [
  id,
  state,
  ["conversation", ...includes].join(", "),
  expires_at === null ? "never" : shortTime(expires_at),
  shortTime(created_at)
]

const shortTime = (time: string): string => time.slice(0, 16).replace("T", " ")

const unshare = remoteCommand({
  takes: { share: argument("share", "The id of a share") },
  examples: [
    ["reins sessions unshare shr_01h…", "Take a link back, also from open pages"],
    ["reins sessions shares sess_01h…", "See the ids"]
  ],
  run: async ({ share }, connect) => {
    const { reins } = await connect()
    await reins.shares.revoke({ share_id: share })
    tell("The link shows nothing any more.")
  }
})

/** The commands that let others see a session. */
export const shareCommands: ReadonlyArray<Entry> = [
  entry("share", "Make a link with which anybody may read a session", share),
  entry("shares", "List the links to a session", shares),
  entry("unshare", "Take a link back", unshare)
]
