import { type Session, shownName } from "@reins/client"
import { argument, type Entry, type Example, entry, flag } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { ask, isInteractive } from "../terminal/Prompts.js"
import { harmless } from "../terminal/Style.js"
import { shownDetails } from "./Approvals.js"
import { spentOf } from "./Budgets.js"
import { nameOf } from "./Providers.js"
import { type Remote, remoteCommand } from "./Remote.js"
import { sessionArgument as session, sessionNamed } from "./Resolve.js"

const json = flag("json", "The session as a line of JSON")

const show = remoteCommand({
  takes: { session, json },
  examples: [
    ["reins sessions show sess_01h…", "What the session is and how it stands"],
    ["reins sessions show sess_01h… --json | jq .usage", "What it has used, for a program"]
  ],
  run: async ({ json, session }, connect) => {
    const remote = await connect()
    const { reins, url } = remote
    const session_id = await sessionNamed(remote, session)
    const found = await reins.sessions.get({ session_id })
    if (json) return printJsonNow(found)
    const { items } = await reins.catalog.listHarnesses()
    const agent = items.find(({ provider_id }) => provider_id === found.harness.provider_id)
    const facts: ReadonlyArray<readonly [string, string | null]> = [
      ["Session", found.id],
      ["Title", found.title],
      ["State", stateOf(found)],
      ["Agent", agent === undefined ? found.harness.provider_id : nameOf(agent)],
      ["Model", found.harness.model],
      ["Repository", found.base.repository],
      ["Branch", found.base.ref],
      ["Commit", found.base.commit],
      ["Budget", found.budget === null ? null : spentOf(found.budget)],
      ["Cost", found.usage.cost_usd === null ? null : `$${found.usage.cost_usd}`],
      ["Updated", found.updated_at],
      ["Page", `${url}/ui/sessions/${found.id}`]
    ]
    for (const [name, value] of facts)
      if (value !== null) process.stdout.write(`${name.padEnd(11)} ${harmless(value)}\n`)
    if (found.activity === "requires_action")
      for await (const asked of reins.interactions.list({ session_id, state: "pending" }))
        process.stdout.write(
          `\n${[`Asks: ${shownName(asked.title)}`, shownDetails(asked, process.stdout)].join("\n").trimEnd()}\n`
        )
  }
})

/** The state of a session: its activity while it is open, and the failure of its last turn. */
export const stateOf = ({ activity, lifecycle }: Pick<Session, "activity" | "lifecycle">): string =>
  lifecycle === "open" ? activity.replaceAll("_", " ") : lifecycle

/** Waits for a person's yes to what cannot be taken back. Without a terminal `--yes` says it. */
export const requireYes = async (question: string, yes: boolean): Promise<void> => {
  if (yes) return
  if (!isInteractive())
    throw new CommandFailed({ message: "This cannot be taken back. Say that you mean it with --yes." })
  if (!(await ask.confirmation(question, false))) throw new CommandFailed({ message: "Nothing was done." })
}

export const yes = flag("yes", "Do it without asking")

const rename = remoteCommand({
  takes: { session, title: argument("title", "The new title") },
  examples: [
    ['reins sessions rename sess_01h… "Fix the login"', "Give it another title"],
    ["reins sessions list", "See the titles"]
  ],
  run: async ({ session, title }, connect) => {
    const remote = await connect()
    await remote.reins.sessions.update({ session_id: await sessionNamed(remote, session), title })
    tell(`The session is called "${title}" now.`)
  }
})

/** A command that changes the state of one session. */
const moved = (
  change: (reins: Remote["reins"], session_id: string) => Promise<unknown>,
  said: string,
  examples: readonly [Example, Example]
) =>
  remoteCommand({
    takes: { session },
    examples,
    run: async ({ session }, connect) => {
      const remote = await connect()
      await change(remote.reins, await sessionNamed(remote, session))
      tell(said)
    }
  })

const archive = moved(
  (reins, session_id) => reins.sessions.archive({ session_id }),
  "Archived. `reins sessions unarchive` opens it again.",
  [
    ["reins sessions archive sess_01h…", "Put a session away"],
    ["reins sessions unarchive sess_01h…", "Open it again"]
  ]
)

const unarchive = moved((reins, session_id) => reins.sessions.unarchive({ session_id }), "It is open again.", [
  ["reins sessions unarchive sess_01h…", "Open an archived session"],
  ["reins sessions list", "See the sessions"]
])

const close = remoteCommand({
  takes: { session, yes },
  details: "A closed session keeps what was said and changed, and takes no more messages.",
  examples: [
    ["reins sessions close sess_01h…", "Close it, after a question"],
    ["reins sessions close sess_01h… --yes", "Close it without one"]
  ],
  run: async ({ session, yes }, connect) => {
    const remote = await connect()
    const { reins } = remote
    const session_id = await sessionNamed(remote, session)
    const { title } = await reins.sessions.get({ session_id })
    await requireYes(`Close "${harmless(title ?? session_id)}" for good?`, yes)
    await reins.sessions.close({ session_id })
    tell("Closed.")
  }
})

/** Waits until a receipt says that nothing is left. */
export const untilDeleted = async (receipt: () => Promise<{ readonly state: string }>): Promise<void> => {
  while ((await receipt()).state !== "deleted") await new Promise((resume) => setTimeout(resume, 250))
}

const remove = remoteCommand({
  takes: { session, yes },
  details:
    "Its messages, files, changesets and events go, with the sessions that work for it. Waits until nothing is left.",
  examples: [
    ["reins sessions delete sess_01h…", "Delete it, after a question"],
    ["reins sessions delete sess_01h… --yes", "Delete it without one"]
  ],
  run: async ({ session, yes }, connect) => {
    const remote = await connect()
    const { reins } = remote
    const session_id = await sessionNamed(remote, session)
    const { title } = await reins.sessions.get({ session_id })
    await requireYes(`Delete "${harmless(title ?? session_id)}" for good, with its files and changes?`, yes)
    await reins.sessions.delete({ session_id })
    await untilDeleted(() => reins.sessions.getDeletion({ session_id }))
    tell("Deleted. Nothing is left of it.")
  }
})

const cancel = remoteCommand({
  takes: { session },
  examples: [
    ["reins sessions cancel sess_01h…", "Stop the turn that runs"],
    ["reins sessions watch sess_01h…", "See first what runs"]
  ],
  run: async ({ session }, connect) => {
    const remote = await connect()
    const { reins } = remote
    const { active_turn_id } = await reins.sessions.get({ session_id: await sessionNamed(remote, session) })
    if (active_turn_id === null) throw new CommandFailed({ message: "Nothing runs in this session now." })
    await reins.turns.cancel({ turn_id: active_turn_id })
    tell("The turn is being cancelled.")
  }
})

/** The commands that show a session and change its state. */
export const stateCommands: ReadonlyArray<Entry> = [
  entry("show", "Show a session", show),
  entry("rename", "Give a session another title", rename),
  entry("cancel", "Cancel the turn that runs in a session", cancel),
  entry("archive", "Put a session away", archive),
  entry("unarchive", "Open an archived session again", unarchive),
  entry("close", "Close a session for good", close),
  entry("delete", "Delete a session for good, with its files", remove)
]
