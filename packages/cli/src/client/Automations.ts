import type { Automation, AutomationRun, AutomationsCreateInput } from "@reins/client"
import { argument, choice, type Example, entry, flag, group, option, requiredOption, whole } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { edit } from "./AutomationEdit.js"
import { tryFilter } from "./AutomationTry.js"
import { budgetForms, budgetOf } from "./Budgets.js"
import { remoteCommand, workspaceOption } from "./Remote.js"
import { openProjectRepository } from "./RepositoryToken.js"
import { sessionNamed, sessionOption } from "./Resolve.js"
import { automationStates, overlaps, runStates } from "./Words.js"

const automationId = argument("automation", "The id of an automation")
const json = flag("json", "Lines of JSON in the place of text")

const minute = (time: string | null): string => (time === null ? "-" : time.slice(0, 16).replace("T", " "))

const triggerText = ({ trigger }: Automation): string =>
  trigger.kind === "once"
    ? minute(trigger.at)
    : trigger.kind === "hook"
      ? trigger.hook_id
      : trigger.kind === "event"
        ? trigger.types.join(" ")
        : `${trigger.expression} ${trigger.timezone}`

const stateText = ({ pause_reason, state }: Automation): string =>
  state === "paused" ? `paused (${pause_reason?.replaceAll("_", " ")})` : state

const list = remoteCommand({
  takes: {
    state: choice("state", automationStates, "Only automations in this state"),
    json,
    workspace: workspaceOption
  },
  examples: [
    ["reins automations list", "What begins by itself, and when"],
    ["reins automations list --state paused", "What has stopped"]
  ],
  run: async ({ json, state, workspace }, connect) => {
    const { reins, workspaceId } = await connect(workspace)
    const found: Array<Automation> = []
    const asked = { workspace_id: workspaceId, ...(state !== undefined && { state }) }
    for await (const automation of reins.automations.list(asked)) found.push(automation)
    if (json) return found.forEach(printJsonNow)
    if (found.length === 0) return tell("There is no automation yet. Make one: reins automations add --help")
    const rows = found.map((automation) => [
      automation.id,
      stateText(automation),
      minute(automation.next_run_at),
      automation.last_run?.state ?? "-",
      triggerText(automation),
      harmless(automation.name)
    ])
    process.stdout.write(table([["AUTOMATION", "STATE", "NEXT (UTC)", "LAST RUN", "WHEN", "NAME"], ...rows]))
  }
})

const add = remoteCommand({
  takes: {
    message: argument("message", "The message to the agent"),
    name: requiredOption("name", "Its name"),
    cron: option("cron", "Minute, hour, day, month, weekday: '30 2 * * 1-5'", { value: "fields" }),
    at: option("at", "One time, as 2026-12-24T18:00:00Z", { value: "time" }),
    hook: option("hook", "Each call of this hook, with its body as data", { value: "id" }),
    on: option("on", "Each of these events of the workspace: turn.failed,delivery.*", { value: "types" }),
    timezone: option("timezone", "The zone of the times (that of this machine)", { value: "zone" }),
    project: option("project", "The project that each new session starts from", { value: "id" }),
    session: sessionOption("Send the message to this session"),
    provider: option("provider", "The agent of each new session", { value: "id" }),
    model: option("model", "Its model", { value: "model" }),
    overlap: choice("overlap", overlaps, "If the run before goes on (skip for times, else wait)"),
    deliver: choice("deliver", ["branch", "merge-request"], "Deliver what each run has changed"),
    budget: option("budget", `The limit of one run: ${budgetForms}`, { value: "amount" }),
    json,
    workspace: workspaceOption
  },
  examples: [
    [
      "reins automations add 'Update what is outdated.' --name Deps --cron '30 2 * * 1-5' --project prj_01h…",
      "Each working night"
    ],
    ["reins automations add 'Look again.' --name Later --at 2026-12-24T18:00:00Z --session sess_01h…", "Once"],
    [
      "reins automations add 'Find out why.' --name Failed --on delivery.failed --deliver merge-request",
      "Whenever a delivery fails"
    ]
  ],
  run: async (given, connect) => {
    const trigger = triggerOf(given)
    const wanted = targetOf(given)
    const remote = await connect(given.workspace)
    const target =
      wanted.kind === "session" ? { ...wanted, session_id: await sessionNamed(remote, wanted.session_id) } : wanted
    const { reins, workspaceId } = remote
    if (given.project !== undefined) await openProjectRepository(remote, given.project, given.json)
    const automation = await reins.automations.create({
      workspace_id: workspaceId,
      name: given.name,
      trigger,
      target,
      ...(given.overlap !== undefined && { overlap: given.overlap }),
      ...(given.deliver !== undefined && { deliver: given.deliver === "branch" ? {} : { merge_request: {} } }),
      ...(given.budget !== undefined && { budget: { run: budgetOf(given.budget) } })
    })
    if (given.json) return printJsonNow(automation)
    process.stdout.write(`${automation.id}\n`)
    tell(`It begins ${beginsText(automation)}. Try it now: reins automations run ${automation.id}`)
  }
})

const beginsText = ({ next_run_at, trigger }: Automation): string =>
  trigger.kind === "hook"
    ? `when ${trigger.hook_id} is called`
    : trigger.kind === "event"
      ? `with ${trigger.types.join(" and ")}`
      : `at ${minute(next_run_at)} UTC`

interface GivenTimes {
  readonly on: string | undefined
  readonly at: string | undefined
  readonly hook: string | undefined
  readonly cron: string | undefined
  readonly timezone: string | undefined
}

const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

const triggerOf = ({ at, cron, hook, on, timezone }: GivenTimes): AutomationsCreateInput["trigger"] => {
  if ([at, cron, hook, on].filter((given) => given !== undefined).length !== 1)
    throw new CommandFailed({
      message:
        "Say when: --cron '30 2 * * 1-5', --at 2026-12-24T18:00:00Z, --hook hook_01h… or --on turn.failed, and one of them."
    })
  if (hook !== undefined) return { kind: "hook", hook_id: hook }
  if (on !== undefined) {
    const [first = "", ...others] = on.split(",").map((type) => type.trim())
    return { kind: "event", types: [first, ...others] }
  }
  if (cron !== undefined) return { kind: "schedule", expression: cron, timezone: timezone ?? localZone() }
  const time = Date.parse(at ?? "")
  if (Number.isNaN(time)) throw new CommandFailed({ message: `"${at}" is no time. Write it as 2026-12-24T18:00:00Z.` })
  return { kind: "once", at: new Date(time).toISOString() }
}

interface GivenTarget {
  readonly message: string
  readonly model: string | undefined
  readonly project: string | undefined
  readonly provider: string | undefined
  readonly session: string | undefined
}

const targetOf = ({ message, model, project, provider, session }: GivenTarget): AutomationsCreateInput["target"] => {
  if (session !== undefined) {
    if (project !== undefined || provider !== undefined || model !== undefined)
      throw new CommandFailed({ message: "A session has its project, agent and model. Leave these options out." })
    return { kind: "session", session_id: session, message }
  }
  if (model !== undefined && provider === undefined)
    throw new CommandFailed({ message: "Name the agent of the model with --provider." })
  return {
    kind: "new_session",
    message,
    ...(project !== undefined && { project_id: project }),
    ...(provider !== undefined && { harness: { provider_id: provider, ...(model !== undefined && { model }) } })
  }
}

const show = remoteCommand({
  takes: { automation: automationId },
  examples: [
    ["reins automations show aut_01h…", "Print an automation as JSON"],
    ["reins automations runs aut_01h…", "See what it did"]
  ],
  run: async ({ automation }, connect) => {
    const { reins } = await connect()
    printJsonNow(await reins.automations.get({ automation_id: automation }))
  }
})

const runs = remoteCommand({
  takes: {
    automation: automationId,
    state: choice("state", runStates, "Only runs in this state"),
    limit: whole("limit", "How many at most (20)", [1, 100]),
    json
  },
  examples: [
    ["reins automations runs aut_01h…", "The newest runs, and why some did not begin"],
    ["reins automations runs aut_01h… --state failed", "The failed ones"]
  ],
  run: async ({ automation, json, limit = 20, state }, connect) => {
    const { reins } = await connect()
    const asked = { automation_id: automation, limit, ...(state !== undefined && { state }) }
    const { items } = await reins.automations.listRuns(asked)
    if (json) return items.forEach(printJsonNow)
    if (items.length === 0) return tell("There is no such run.")
    process.stdout.write(table([["RUN", "STATE", "DUE (UTC)", "LATE", "SESSION", "REASON"], ...items.map(rowOf)]))
  }
})

const rowOf = ({ due_at, id, late_seconds, missed, reason, reason_message, session_id, state }: AutomationRun) => [
  id,
  reason === null ? state : `${state} (${reason.replaceAll("_", " ")})`,
  minute(due_at),
  missed === null ? `${late_seconds} s` : `${missed} missed`,
  session_id ?? "-",
  harmless(reason_message ?? "").replaceAll(/\s+/g, " ")
]

const run = remoteCommand({
  takes: { automation: automationId, json },
  examples: [
    ["reins automations run aut_01h…", "Begin a run now, also while it is paused"],
    ["reins automations runs aut_01h…", "See what came of it"]
  ],
  run: async ({ automation, json }, connect) => {
    const { reins } = await connect()
    const begun = await reins.automations.startRun({ automation_id: automation })
    if (json) return printJsonNow(begun)
    if (begun.session_id === null) return tell(`${begun.id} is ${begun.state}. ${begun.reason_message ?? ""}`.trim())
    process.stdout.write(`${begun.session_id}\n`)
    tell(`Follow it: reins sessions watch ${begun.session_id}`)
  }
})

const cancel = remoteCommand({
  takes: { run: argument("run", "The id of a run") },
  examples: [
    ["reins automations cancel run_01h…", "Stop a run with its turn"],
    ["reins automations runs aut_01h… --state running", "See first which one it is"]
  ],
  run: async ({ run }, connect) => {
    const { reins } = await connect()
    const { state } = await reins.automations.cancelRun({ automation_run_id: run })
    tell(state === "cancelled" ? "The run is cancelled." : "The run is asked to stop.")
  }
})

const turned = (name: "pause" | "resume", said: string, examples: readonly [Example, Example]) =>
  remoteCommand({
    takes: { automation: automationId },
    examples,
    run: async ({ automation: automation_id }, connect) => {
      const { reins } = await connect()
      const { next_run_at } = await reins.automations[name]({ automation_id })
      tell(next_run_at === null ? said : `${said} It begins at ${minute(next_run_at)} UTC.`)
    }
  })

const pause = turned("pause", "It starts nothing until it is resumed.", [
  ["reins automations pause aut_01h…", "Stop it for a while"],
  ["reins automations resume aut_01h…", "Go on later"]
])
const resume = turned("resume", "It goes on, and acts for you.", [
  ["reins automations resume aut_01h…", "Go on with the next time"],
  ["reins automations run aut_01h…", "Begin a run at once"]
])

const remove = remoteCommand({
  takes: { automation: automationId },
  examples: [
    ["reins automations remove aut_01h…", "Remove an automation; its runs stay readable"],
    ["reins automations list", "See first which one it is"]
  ],
  run: async ({ automation }, connect) => {
    const { reins } = await connect()
    const { name } = await reins.automations.delete({ automation_id: automation })
    tell(`${harmless(name)} (${automation}) starts nothing any more.`)
  }
})

/** `reins automations` */
export const automations = group(
  entry("list", "List the automations, and when they begin", list),
  entry("add", "Make an automation", add),
  entry("edit", "Change an automation, and see what changed", edit),
  entry("show", "Print an automation as JSON", show),
  entry("runs", "List the newest runs of one", runs),
  entry("run", "Begin a run now", run),
  entry("cancel", "Cancel a run with its turn", cancel),
  entry("pause", "Pause an automation", pause),
  entry("resume", "Resume an automation, which acts for you from then on", resume),
  entry("remove", "Remove an automation; its runs stay readable", remove),
  entry("try", "Try its filter on a delivery or a sample", tryFilter)
)
