import { Args, Command, Options } from "@effect/cli"
import type { Reins, Session } from "@reins/client"
import { Option } from "effect"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { isInteractive } from "../terminal/Prompts.js"
import { harmless, table } from "../terminal/Style.js"
import { withBudgets } from "./Budgets.js"
import { allowOption, deliver, newestChangeset, tellDelivery, tellDiagnostics, writeDiff } from "./Deliver.js"
import { display, exitCodeOf, follow, tellEnd } from "./Follow.js"
import { attempt, connect, exitCodes } from "./Remote.js"

const session = Args.text({ name: "session" }).pipe(Args.withDescription("The id of a session"))
const json = Options.boolean("json").pipe(Options.withDescription("Lines of JSON in the place of text"))

const ls = Command.make(
  "ls",
  {
    json,
    workspace: Options.text("workspace").pipe(
      Options.withDescription("The workspace, by name or id (your own)"),
      Options.optional
    ),
    limit: Options.integer("limit").pipe(Options.withDescription("How many at most (20)"), Options.withDefault(20))
  },
  ({ json, limit, workspace }) =>
    attempt(async () => {
      if (limit < 1 || limit > 100) throw new CommandFailed({ message: "--limit has to be a number from 1 to 100." })
      const { reins, workspaceId } = await connect(Option.getOrUndefined(workspace))
      const { items } = await reins.sessions.list({ workspace_id: workspaceId, limit })
      if (json) return items.forEach(printJsonNow)
      if (items.length === 0) return tell('There is no session yet. Begin one: reins run "what to do"')
      const rows = items.map((session) => ({ cells: rowOf(session), budget: session.budget }))
      process.stdout.write(table(withBudgets(rows, ["SESSION", "STATE", "UPDATED", "MODEL", "TITLE"])))
    })
).pipe(Command.withDescription("List the newest sessions"))

const rowOf = ({ activity, harness, id, lifecycle, title, updated_at }: Session): ReadonlyArray<string> => [
  id,
  lifecycle === "open" ? activity : lifecycle,
  updated_at.slice(0, 16).replace("T", " "),
  harness.model ?? "-",
  harmless((title ?? "").replaceAll(/\s+/g, " "))
]

const watch = Command.make("watch", { session, json }, ({ json, session }) =>
  attempt(async () => {
    const { reins } = await connect()
    const view = display(json)
    let code: number | undefined
    for (;;) {
      const { active_turn_id } = await reins.sessions.get({ session_id: session })
      if (active_turn_id === null) break
      const turn = await follow({
        reins,
        sessionId: session,
        turnId: active_turn_id,
        after: await beginOf(reins, session, active_turn_id),
        display: view,
        answering: !json && isInteractive() ? "ask" : "leave",
        interrupt: "leave"
      })
      if (!json) tellEnd(turn, session)
      code = exitCodeOf(turn)
      if (turn === undefined) break
    }
    if (code === undefined) tell("Nothing runs in this session now.")
    process.exitCode = code ?? 0
  })
).pipe(
  Command.withDescription(
    "Follow what runs in a session, from the beginning of its turn to the end of its queue. Ctrl-C leaves it running. Exits as `run` does"
  )
)

/** The `seq` before the first event of a turn. */
const beginOf = async (reins: Reins, session_id: string, turn_id: string): Promise<number> => {
  const { items } = await reins.sessions.listEvents({ session_id, turn_id, limit: 1 })
  return (items[0]?.seq ?? 1) - 1
}

const diff = Command.make("diff", { session }, ({ session }) =>
  attempt(async () => {
    const { reins } = await connect()
    const changeset = await newestChangeset(reins, session)
    tellDiagnostics(changeset)
    if (changeset.empty) return tell("The session changed nothing.")
    await writeDiff(reins, changeset)
  })
).pipe(Command.withDescription("Print the newest changeset of a session as a diff"))

const deliverSession = Command.make(
  "deliver",
  {
    session,
    json,
    branch: Options.text("branch").pipe(Options.withDescription("The name of the branch"), Options.optional),
    allow: allowOption,
    title: Options.text("title").pipe(Options.withDescription("The first line of the commit"), Options.optional),
    patch: Options.boolean("patch").pipe(Options.withDescription("Print a patch in the place of pushing a branch"))
  },
  ({ allow, branch, json, patch, session, title }) =>
    attempt(async () => {
      const { reins } = await connect()
      const changeset = await newestChangeset(reins, session)
      if (changeset.empty)
        throw new CommandFailed({ message: "The session changed nothing, so there is nothing to deliver." })
      const delivery = await deliver(reins, changeset, {
        allow,
        branch: Option.getOrUndefined(branch),
        title: Option.getOrUndefined(title),
        transport: patch ? "patch" : undefined
      })
      if (json) printJsonNow(delivery)
      else {
        if (patch && delivery.patch !== null) process.stdout.write(delivery.patch)
        tellDelivery(delivery)
      }
      process.exitCode = delivery.state === "succeeded" ? 0 : exitCodes.deliveryFailed
    })
).pipe(
  Command.withDescription(
    "Deliver the newest changeset of a session as a branch. Exits with 4 when that does not succeed"
  )
)

const set = Command.make(
  "set",
  {
    session,
    repo: Options.text("repo").pipe(
      Options.withDescription("The present URL of its repository, after that was renamed or moved")
    )
  },
  ({ repo, session }) =>
    attempt(async () => {
      const { reins } = await connect()
      await reins.sessions.update({ session_id: session, repository: { url: repo } })
      tell(`The session clones and delivers at ${repo} from now on.`)
    })
).pipe(Command.withDescription("Change a session"))

export const sessions = Command.make("sessions").pipe(
  Command.withDescription("What agents work and have worked on"),
  Command.withSubcommands([ls, watch, diff, deliverSession, set])
)
