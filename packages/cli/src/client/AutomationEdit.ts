import type { Automation, AutomationsUpdateInput } from "@reins/client"
import { argument, choice, flag, type Given, option, options, whole } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { budgetForms, budgetOf } from "./Budgets.js"
import { remoteCommand } from "./Remote.js"
import { sessionNamed, sessionOption } from "./Resolve.js"
import { missedTimes, overlaps } from "./Words.js"

type Trigger = Automation["trigger"]
type Target = Automation["target"]

const takes = {
  automation: argument("automation", "The id of an automation"),
  name: option("name", "Its new name"),
  message: option("message", "The message to the agent"),
  cron: option("cron", "Minute, hour, day, month, weekday: '30 2 * * 1-5'", { value: "fields" }),
  timezone: option("timezone", "The zone of the times", { value: "zone" }),
  jitter: whole("jitter", "The seconds by which its times are spread at most", [0, 600]),
  at: option("at", "One time, as 2026-12-24T18:00:00Z", { value: "time" }),
  hook: option("hook", "Each call of this hook", { value: "id" }),
  events: option("events", "Only these events of the hook: push,issues; or all", { value: "names" }),
  on: option("on", "Each of these events of the workspace: turn.failed,delivery.*", { value: "types" }),
  ofProject: option("of-project", "Only events of the sessions of this project; or all", { value: "id" }),
  ofLabel: option("of-label", "Only events of sessions with this label: name=value; or all", { value: "label" }),
  filter: option("filter", 'The conditions, as JSON: \'[{"pointer": "/ref", "is": "main"}]\'', { value: "json" }),
  pick: option("pick", "The values that follow the message: /issue/title,/issue/body; or all, or none", {
    value: "pointers"
  }),
  session: sessionOption("Send the message to this session"),
  project: option("project", "The project that each new session starts from; or none", { value: "id" }),
  provider: option("provider", "The agent of each new session", { value: "id" }),
  model: option("model", "Its model", { value: "model" }),
  connection: option("connection", "The connection of each new session; or none", { value: "id" }),
  target: option("target", "The whole target, as JSON of the API", { value: "json" }),
  overlap: choice("overlap", overlaps, "If the run before goes on"),
  maxParallel: whole("max-parallel", "The most runs at once with --overlap parallel", [2, 5]),
  missed: choice("missed", missedTimes, "Run times that were missed, or not"),
  startWithin: whole("start-within", "The seconds after which a time counts as missed", [60, 86_400]),
  maxMinutes: option("max-minutes", "Cancel a run after so many minutes; or none", { value: "minutes" }),
  pauseAfter: option("pause-after", "Pause after so many failed runs; or none", { value: "runs" }),
  budget: option("budget", `The limit of one run: ${budgetForms}; or none`, { value: "amount" }),
  totalBudget: option("total-budget", "The limit of all runs together; or none", { value: "amount" }),
  deliver: option("deliver", "Deliver changes: branch, merge-request, none, or JSON of the API", {
    value: "what"
  }),
  labels: options("label", "A label of each new session: name=value", { value: "label" }),
  title: option("title", "The title of each new session", { value: "text" }),
  json: flag("json", "The changed automation as JSON in the place of text")
}

type Edits = Given<typeof takes>

/** `reins automations edit` */
export const edit = remoteCommand({
  takes,
  details:
    "All else stays as it is. It acts for you from then on. Another trigger begins anew, and what was due before is void.",
  examples: [
    ["reins automations edit aut_01h… --cron '0 4 * * *' --timezone Europe/Berlin", "Begin at another time"],
    [
      "reins automations edit aut_01h… --message 'Update the lock file.' --model gpt-5",
      "Say something else, to another model"
    ],
    ["reins automations edit aut_01h… --overlap wait --budget none", "Have runs wait, without a limit"]
  ],
  run: async (given, connect) => {
    const { automation: automation_id, json, labels, ...named } = given
    if (labels.length === 0 && Object.values(named).every((value) => value === undefined))
      throw new CommandFailed({ message: "Say what to change. reins automations edit --help lists the options." })
    const remote = await connect()
    const { reins } = remote
    const before = await reins.automations.get({ automation_id })
    const edited = patchOf(given, before)
    const patch =
      given.session !== undefined && edited.target?.kind === "session"
        ? { ...edited, target: { ...edited.target, session_id: await sessionNamed(remote, given.session) } }
        : edited
    const after = await reins.automations.update({ automation_id, expected_version: before.version, ...patch })
    if (json) return printJsonNow(after)
    const changes = changesBetween(before, after)
    if (changes.length === 0) return tell("It was so already.")
    process.stdout.write(table([["FIELD", "BEFORE", "NOW"], ...changes]))
    if (after.acts_for !== before.acts_for) tell("It acts for you from now on.")
  }
})

type Patch = Omit<AutomationsUpdateInput, "automation_id" | "expected_version">

const patchOf = (given: Edits, before: Automation): Patch => {
  const trigger = triggerOf(given, before.trigger)
  const target = targetOf(given, before.target)
  const { maxMinutes, maxParallel, missed, name, overlap, pauseAfter, startWithin } = given
  return {
    ...(name !== undefined && { name }),
    ...(trigger !== undefined && { trigger }),
    ...(target !== undefined && { target }),
    ...(overlap !== undefined && { overlap }),
    ...(maxParallel !== undefined && { max_parallel: maxParallel }),
    ...(missed !== undefined && { missed }),
    ...(startWithin !== undefined && { start_within_seconds: startWithin }),
    ...(maxMinutes !== undefined && { max_minutes: numberOrNone("max-minutes", maxMinutes) }),
    ...(pauseAfter !== undefined && { pause_after_failures: numberOrNone("pause-after", pauseAfter) }),
    ...budgetsOf(given, before),
    ...(given.deliver !== undefined && { deliver: deliverOf(given.deliver) })
  }
}

const numberOrNone = (name: string, text: string): number | null => {
  if (text === "none") return null
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw new CommandFailed({ message: `--${name} has to be a number, or none.` })
}

const budgetsOf = ({ budget, totalBudget }: Edits, before: Automation): Patch => {
  if (budget === undefined && totalBudget === undefined) return {}
  const limit = (text: string | undefined, known: ReturnType<typeof budgetOf> | null | undefined) =>
    text === undefined ? (known ?? undefined) : text === "none" ? undefined : budgetOf(text)
  const run = limit(budget, before.budget?.run)
  const total = limit(totalBudget, before.budget?.total)
  if (run === undefined && total === undefined) return { budget: null }
  return { budget: { ...(run !== undefined && { run }), ...(total !== undefined && { total }) } }
}

const deliverOf = (text: string): Patch["deliver"] =>
  text === "none"
    ? null
    : text === "branch"
      ? {}
      : text === "merge-request"
        ? { merge_request: {} }
        : jsonIn("deliver", text)

/** The value of an option that is JSON of the API. The server checks its form. */
// biome-ignore lint/suspicious/noExplicitAny: the server says at which place a value does not fit.
const jsonIn = (name: string, text: string): any => {
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandFailed({ message: `--${name} has to be JSON. Put it in single quotes, because of the shell.` })
  }
}

/** A value whose parts come from options. The server checks its form. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
const asSent = (value: Readonly<Record<string, unknown>>): any => value

const listIn = (text: string): ReadonlyArray<string> => text.split(",").map((part) => part.trim())

/** The trigger with the named parts. Parts of the same kind of trigger stay. Undefined where no part of it is named. */
const triggerOf = (given: Edits, before: Trigger): Trigger | undefined => {
  const { at, cron, hook, on } = given
  if ([at, cron, hook, on].filter((one) => one !== undefined).length > 1)
    throw new CommandFailed({ message: "An automation has one trigger: --cron, --at, --hook or --on." })
  const kind =
    cron !== undefined
      ? "schedule"
      : at !== undefined
        ? "once"
        : hook !== undefined
          ? "hook"
          : on !== undefined
            ? "event"
            : before.kind
  const isNamed = [at, cron, hook, on, ...partsOf(given).map(({ value }) => value)].some((one) => one !== undefined)
  if (!isNamed) return undefined
  for (const { kinds, name, value } of partsOf(given))
    if (value !== undefined && !kinds.includes(kind))
      throw new CommandFailed({ message: `--${name} is no part of a trigger of the kind ${kind}.` })
  const known: Readonly<Record<string, unknown>> = kind === before.kind ? { ...before } : {}
  const next: Record<string, unknown> = { ...known, kind }
  const set = (field: string, value: unknown) => {
    if (value === undefined) delete next[field]
    else next[field] = value
  }
  if (cron !== undefined) set("expression", cron)
  if (kind === "schedule")
    set("timezone", given.timezone ?? known["timezone"] ?? Intl.DateTimeFormat().resolvedOptions().timeZone)
  if (given.jitter !== undefined) set("jitter_seconds", given.jitter)
  if (at !== undefined) set("at", timeIn(at))
  if (hook !== undefined) set("hook_id", hook)
  if (on !== undefined) set("types", listIn(on))
  if (given.events !== undefined) set("events", given.events === "all" ? undefined : listIn(given.events))
  if (given.ofProject !== undefined) set("project_id", given.ofProject === "all" ? undefined : given.ofProject)
  if (given.ofLabel !== undefined) set("label", given.ofLabel === "all" ? undefined : given.ofLabel)
  if (given.filter !== undefined) set("filter", jsonIn("filter", given.filter))
  if (given.pick !== undefined)
    set("pick", given.pick === "all" ? undefined : given.pick === "none" ? [] : listIn(given.pick))
  return asSent(next)
}

/** The options that name a part of a trigger, with the kinds of triggers that have it. */
const partsOf = (
  given: Edits
): ReadonlyArray<{ name: string; value: unknown; kinds: ReadonlyArray<Trigger["kind"]> }> => [
  { name: "timezone", value: given.timezone, kinds: ["schedule"] },
  { name: "jitter", value: given.jitter, kinds: ["schedule"] },
  { name: "events", value: given.events, kinds: ["hook"] },
  { name: "of-project", value: given.ofProject, kinds: ["event"] },
  { name: "of-label", value: given.ofLabel, kinds: ["event"] },
  { name: "filter", value: given.filter, kinds: ["hook", "event"] },
  { name: "pick", value: given.pick, kinds: ["hook", "event"] }
]

const timeIn = (text: string): string => {
  const time = Date.parse(text)
  if (Number.isNaN(time))
    throw new CommandFailed({ message: `"${text}" is no time. Write it as 2026-12-24T18:00:00Z.` })
  return new Date(time).toISOString()
}

/** The target with the named parts. Undefined where no part of it is named. */
const targetOf = (given: Edits, before: Target): Target | undefined => {
  const { connection, labels, message, model, project, provider, session, target, title } = given
  const ofNew = [connection, model, project, provider, title].some((one) => one !== undefined) || labels.length > 0
  if (target !== undefined) {
    if (ofNew || session !== undefined || message !== undefined)
      throw new CommandFailed({ message: "--target is the whole target. Leave out the options for its parts." })
    return jsonIn("target", target)
  }
  if (session !== undefined) {
    if (ofNew)
      throw new CommandFailed({ message: "A session has its project, agent and model. Leave these options out." })
    return { kind: "session", session_id: session, message: message ?? before.message }
  }
  if (!ofNew) return message === undefined ? undefined : { ...before, message }
  const known = before.kind === "new_session" ? before : { kind: "new_session" as const, message: before.message }
  const next: Record<string, unknown> = { ...known, ...(message !== undefined && { message }) }
  const name = provider ?? (known.kind === "new_session" && "harness" in known ? known.harness?.provider_id : undefined)
  if (model !== undefined && name === undefined)
    throw new CommandFailed({ message: "Name the agent of the model with --provider." })
  // Another agent has other models and options.
  const kept = provider === undefined && "harness" in known ? known.harness : undefined
  if (name !== undefined && (provider !== undefined || model !== undefined))
    next["harness"] = { ...kept, provider_id: name, ...(model !== undefined && { model }) }
  for (const [field, value] of Object.entries({ project_id: project, connection_id: connection })) {
    if (value === "none") delete next[field]
    else if (value !== undefined) next[field] = value
  }
  if (title !== undefined) next["title"] = title
  if (labels.length > 0) next["labels"] = Object.fromEntries(labels.map(labelIn))
  return asSent(next)
}

const labelIn = (text: string): readonly [name: string, value: string] => {
  const at = text.indexOf("=")
  if (at < 1) throw new CommandFailed({ message: `"${text}" is no label. Write it as name=value.` })
  return [text.slice(0, at), text.slice(at + 1)]
}

const shown = [
  "name",
  "trigger",
  "target",
  "overlap",
  "max_parallel",
  "missed",
  "start_within_seconds",
  "max_minutes",
  "pause_after_failures",
  "budget",
  "deliver",
  "state",
  "next_run_at"
] as const

/** The fields that differ, each with its value before and now. */
const changesBetween = (before: Automation, after: Automation): ReadonlyArray<ReadonlyArray<string>> =>
  shown.flatMap((field) => {
    const [was, is] = [leavesOf(field, before[field]), leavesOf(field, after[field])]
    return [...new Set([...was.keys(), ...is.keys()])]
      .filter((path) => was.get(path) !== is.get(path))
      .map((path) => [path, was.get(path) ?? "-", is.get(path) ?? "-"].map(harmless))
  })

/** The values below a field by their paths. A list is one value. */
const leavesOf = (path: string, value: unknown): ReadonlyMap<string, string> =>
  typeof value !== "object" || value === null || Array.isArray(value)
    ? new Map(value == null ? [] : [[path, typeof value === "string" ? value : JSON.stringify(value)]])
    : new Map(Object.entries(value).flatMap(([name, of]) => [...leavesOf(`${path}.${name}`, of)]))
