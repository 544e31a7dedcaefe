import type { Reins, Session } from "@reins/client"
import { choice, entry, flag, group, option, requiredOption, whole } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { isInteractive } from "../terminal/Prompts.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { withBudgets } from "./Budgets.js"
import {
  allowOption,
  changesetBefore,
  deliver,
  newestChangeset,
  tellDelivery,
  tellDiagnostics,
  writeDiff
} from "./Deliver.js"
import { exportSession } from "./Export.js"
import { display, exitCodeOf, follow, tellEnd, tellSummary } from "./Follow.js"
import { forgeConnection } from "./ForgeConnection.js"
import { openRequest, tellRequest } from "./OpenRequest.js"
import { exitCodes, remoteCommand, workspaceOption } from "./Remote.js"
import { sessionArgument as session, sessionNamed } from "./Resolve.js"
import { stateCommands, stateOf } from "./SessionState.js"
import { shareCommands } from "./Shares.js"

const json = flag("json", "Lines of JSON in the place of text")

const list = remoteCommand({
  takes: { limit: whole("limit", "How many at most (20)", [1, 100]), json, workspace: workspaceOption },
  examples: [
    ["reins sessions list", "The newest sessions"],
    ["reins sessions list --limit 5 --json | jq -r .id", "The ids of five, for a program"]
  ],
  run: async ({ json, limit = 20, workspace }, connect) => {
    const { reins, workspaceId } = await connect(workspace)
    const { items } = await reins.sessions.list({ workspace_id: workspaceId, limit })
    if (json) return items.forEach(printJsonNow)
    if (items.length === 0) return tell('There is no session yet. Begin one: reins run "what to do"')
    const rows = await Promise.all(
      items.map(async (session) => ({ cells: rowOf(session, await endOf(reins, session)), budget: session.budget }))
    )
    process.stdout.write(table(withBudgets(rows, ["SESSION", "STATE", "UPDATED", "MODEL", "TITLE"])))
  }
})

/** "failed" for an idle session whose last turn has failed; undefined for every other one. */
const endOf = async (reins: Reins, { activity, id, lifecycle }: Session): Promise<string | undefined> => {
  if (lifecycle !== "open" || activity !== "idle") return undefined
  const { items, next_cursor } = await reins.turns.list({ session_id: id, limit: 200 })
  const last = next_cursor === null ? items.at(-1) : undefined
  return last?.state === "failed" ? "failed" : undefined
}

const rowOf = (session: Session, end: string | undefined): ReadonlyArray<string> => [
  session.id,
  end ?? stateOf(session),
  session.updated_at.slice(0, 16).replace("T", " "),
  session.harness.model ?? "-",
  harmless((session.title ?? "").replaceAll(/\s+/g, " "))
]

const watch = remoteCommand({
  takes: { session, json },
  details:
    "It begins with the turn that runs and goes on to the end of the queue. Ctrl-C leaves it running. Exits as `reins run` does.",
  examples: [
    ["reins sessions watch sess_01h…", "See what runs"],
    ["reins sessions watch sess_01h… --json | jq -r .type", "The types of its events"]
  ],
  run: async ({ json, session: named }, connect) => {
    const remote = await connect()
    const { reins, url } = remote
    const session = await sessionNamed(remote, named)
    const view = await display(json)
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
      if (!json) {
        tellEnd(turn, session)
        tellSummary(turn, url)
      }
      code = exitCodeOf(turn)
      if (turn === undefined) break
    }
    if (code === undefined) tell("Nothing runs in this session now.")
    process.exitCode = code ?? 0
  }
})

/** The `seq` before the first event of a turn. */
const beginOf = async (reins: Reins, session_id: string, turn_id: string): Promise<number> => {
  const { items } = await reins.sessions.listEvents({ session_id, turn_id, limit: 1 })
  return (items[0]?.seq ?? 1) - 1
}

const diff = remoteCommand({
  takes: {
    session,
    since: option("since", "`last` or the id of a changeset: what has changed since it", { value: "changeset" })
  },
  examples: [
    ["reins sessions diff sess_01h…", "See what the session has changed"],
    ["reins sessions diff sess_01h… --since last", "See what has changed since the last changeset"],
    ["reins sessions diff sess_01h… | git apply", "Apply it to your working tree"]
  ],
  run: async ({ session, since }, connect) => {
    const remote = await connect()
    const { reins } = remote
    const changeset = await newestChangeset(reins, await sessionNamed(remote, session))
    tellDiagnostics(changeset)
    const against = since === "last" ? await changesetBefore(reins, changeset) : since
    if (changeset.empty && against === undefined) return tell("The session changed nothing.")
    await writeDiff(reins, changeset, against)
  }
})

const deliverSession = remoteCommand({
  takes: {
    session,
    branch: option("branch", "The name of the branch", { value: "branch" }),
    title: option("title", "The first line of the commit"),
    onto: choice("onto", ["base", "head"], "A branch of its own, or the head of the branch that was delivered before"),
    author: choice("author", ["requester", "service"], "The author of the commit (as the project says)"),
    patch: flag("patch", "Print a patch in the place of pushing a branch"),
    request: flag("request", "Open a merge request for the branch, and say what it waits for"),
    allow: allowOption,
    json
  },
  details: "Exits with 4 when the delivery does not succeed.",
  examples: [
    ["reins sessions deliver sess_01h… --branch fix-login", "Push the changes as a branch"],
    ["reins sessions deliver sess_01h… --onto head", "Add a commit to the branch of the last delivery"],
    ["reins sessions deliver sess_01h… --patch > changes.patch", "Take them as a patch"]
  ],
  run: async ({ allow, author, branch, json, onto, patch, request: wantsRequest, session: named, title }, connect) => {
    if (patch && wantsRequest)
      throw new CommandFailed({ message: "A patch has no merge request. Leave out one of them." })
    const remote = await connect()
    const { reins } = remote
    const session = await sessionNamed(remote, named)
    const changeset = await newestChangeset(reins, session)
    if (changeset.empty && onto !== "head")
      throw new CommandFailed({ message: "The session changed nothing, so there is nothing to deliver." })
    const delivery = await deliver(reins, changeset, {
      allow,
      author,
      branch,
      connection: wantsRequest
        ? await forgeConnection(reins, await reins.sessions.get({ session_id: session }))
        : undefined,
      onto,
      title,
      transport: patch ? "patch" : undefined
    })
    if (json) printJsonNow(delivery)
    else {
      if (patch && delivery.patch !== null) process.stdout.write(delivery.patch)
      tellDelivery(delivery)
    }
    const isDelivered = delivery.state === "succeeded"
    const request = wantsRequest && isDelivered ? await openRequest(remote, delivery, "") : undefined
    if (request !== undefined && json) printJsonNow(request)
    else if (request !== undefined) tellRequest(request)
    process.exitCode = isDelivered && request?.state !== "failed" ? 0 : exitCodes.deliveryFailed
  }
})

const set = remoteCommand({
  takes: {
    session,
    repo: requiredOption("repo", "The present URL of its repository, after a rename or a move", { value: "url" })
  },
  examples: [
    ["reins sessions set sess_01h… --repo https://example.com/new/name", "Follow a rename"],
    ["reins sessions list", "See first which session it is"]
  ],
  run: async ({ repo, session }, connect) => {
    const remote = await connect()
    const session_id = await sessionNamed(remote, session)
    await remote.reins.sessions.update({ session_id, repository: { url: repo } })
    tell(`The session clones and delivers at ${repo} from now on.`)
  }
})

export const sessions = group(
  entry("list", "List the newest sessions", list),
  entry("watch", "Follow the turn that runs in a session", watch),
  entry("diff", "Print the newest changes of a session as a diff", diff),
  entry("deliver", "Deliver the newest changes of a session as a branch", deliverSession),
  entry("set", "Tell a session the new URL of its repository", set),
  entry("export", "Keep a session as a file", exportSession),
  ...shareCommands,
  ...stateCommands
)
