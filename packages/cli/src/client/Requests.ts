import type { FormContent } from "@reins/base/domain/Form"
import {
  askedText,
  escapeUnseen,
  type Interaction,
  type Reins,
  ReinsApiError,
  shownName,
  type WorkList
} from "@reins/client"
import { argument, flag, option, optionalArgument } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { ask, isInteractive } from "../terminal/Prompts.js"
import { harmless } from "../terminal/Style.js"
import { didYouMean } from "../terminal/Suggestion.js"
import { table } from "../terminal/Table.js"
import { isMeant, seenOf, shownDetails } from "./Approvals.js"
import { valuesOf } from "./Forms.js"
import { remoteCommand, workspaceOption } from "./Remote.js"
import { optionalSession, sessionNamed } from "./Resolve.js"

/** The open questions of a session. */
const openOf = (reins: Reins, session_id: string): Promise<ReadonlyArray<Interaction>> =>
  reins.interactions.list({ session_id, state: "pending", limit: 100 }).all()

/** The open questions of the sessions that wait for a person. */
const openIn = async (reins: Reins, workspace_id: string): Promise<ReadonlyArray<Interaction>> => {
  const found: Array<Interaction> = []
  for (const id of await askingIn(reins, workspace_id)) found.push(...(await openOf(reins, id)))
  return found
}

/** The sessions that ask something. A server of an earlier release has no list of them, so that all are looked through. */
const askingIn = async (reins: Reins, workspace_id: string): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  try {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = { workspace_id, view: "waiting" as const, limit: 200, ...(cursor !== undefined && { cursor }) }
      const page: WorkList = await reins.workspaces.listWork(query)
      found.push(...page.items.filter(({ questions }) => questions.length > 0).map(({ session_id }) => session_id))
      cursor = page.next_cursor
    }
    return found
  } catch (error) {
    if (!(error instanceof ReinsApiError) || error.status !== 404) throw error
    for await (const { activity, id } of reins.sessions.list({ workspace_id, limit: 100 }))
      if (activity === "requires_action") found.push(id)
    return found
  }
}

/** `reins requests` */
export const requests = remoteCommand({
  takes: {
    session: optionalSession("Only the questions of one session"),
    json: flag("json", "Lines of JSON in the place of text"),
    workspace: workspaceOption
  },
  examples: [
    ["reins requests", "What waits for you"],
    ["reins requests sess_01h… --json", "The questions of one session, for a program"]
  ],
  run: async ({ json, session, workspace }, connect) => {
    const remote = await connect(workspace)
    const { reins, workspaceId } = remote
    const found =
      session === undefined
        ? await openIn(reins, workspaceId)
        : await openOf(reins, await sessionNamed(remote, session))
    if (json) return found.forEach(printJsonNow)
    if (found.length === 0) return tell("Nothing waits for you.")
    const rows = found.map(({ expires_at, id, options, session_id, title }) => [
      id,
      session_id,
      expires_at.slice(11, 16),
      options.map((each) => each.id).join(",") || "--result",
      shownName(title)
    ])
    process.stdout.write(table([["REQUEST", "SESSION", "UNTIL", "ANSWERS", "QUESTION"], ...rows]))
    process.stdout.write(found.map(detailsOf).join(""))
  }
})

/** The text of a question beyond its title. It is empty where the title says all. */
const detailsOf = (asked: Interaction): string => {
  const text = asked.tool === null ? askedText(asked) : escapeUnseen(JSON.stringify(asked.tool.input, null, 2))
  return text === "" ? "" : `\n${asked.id}:\n${text.replaceAll(/^/gm, "  ")}\n`
}

/** `reins answer` */
export const answer = remoteCommand({
  takes: {
    request: argument("request", "The id of a question"),
    answer: optionalArgument("answer", "The id or name of an answer (asked for on a terminal)"),
    note: option("note", "Words for the agent"),
    content: option("content", "The values of a form, as JSON (asked for on a terminal)", { value: "json" }),
    result: option("result", "The answer to a tool call, as JSON", { value: "json" }),
    error: flag("error", "The result says what went wrong"),
    workspace: workspaceOption
  },
  details: "`reins requests` lists the questions with their answers.",
  examples: [
    ["reins answer int_01h… allow_once", "Allow it once"],
    ['reins answer int_01h… reject --note "Use the test database."', "Refuse it, and say why"],
    [`reins answer int_01h… accept --content '{"port":8080}'`, "Give the values of a form"],
    [`reins answer int_01h… --result '{"title":"Broken"}'`, "Answer the call of a function"]
  ],
  run: async ({ answer: given, content: values, error, note, request, result, workspace }, connect) => {
    const { reins, workspaceId } = await connect(workspace)
    if (result !== undefined) {
      await reins.interactions.answer({ interaction_id: request, result: jsonOf(result), is_error: error })
      return tell("Answered.")
    }
    const found = (await openIn(reins, workspaceId)).find(({ id }) => id === request)
    if (found === undefined) throw new CommandFailed({ message: `No question ${request} is open. See: reins requests` })
    if (found.kind === "tool_call")
      throw new CommandFailed({ message: `${request} is the call of a function. Answer it with --result.` })
    const chosen = await chosenAnswer(found, given)
    const content = await contentOf(found, chosen, values)
    await reins.interactions.answer({
      interaction_id: request,
      answer: chosen,
      ...seenOf(found),
      ...(note !== undefined && { note }),
      ...(content !== undefined && { content })
    })
    tell("Answered.")
  }
})

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandFailed({ message: `--result takes JSON: a text stands in quotes, as in '"done"'.` })
  }
}

/** The values for a form: those that were given, or what the person at the terminal says. The server checks them. */
const contentOf = async (
  { form, options }: Interaction,
  answer: string,
  given: string | undefined
): Promise<FormContent | undefined> => {
  if (given !== undefined) {
    const values = fieldsIn(given)
    if (values === undefined)
      throw new CommandFailed({ message: `--content takes a JSON object, as in '{"port":8080}'.` })
    return values
  }
  const isAcceptance = options.find(({ id }) => id === answer)?.kind === "accept"
  if (form === null || !isAcceptance) return undefined
  if (isInteractive()) return valuesOf(form, new AbortController().signal)
  const names = form.map(({ name }) => name).join(", ")
  throw new CommandFailed({ message: `Give the values with --content, as JSON: ${names}.` })
}

/** The fields of an object in JSON; undefined for anything else. */
const fieldsIn = (text: string): FormContent | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    // Boundary: the server checks the values against the form.
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as FormContent) : undefined
  } catch {
    return undefined
  }
}

const chosenAnswer = async (asked: Interaction, given: string | undefined): Promise<string> => {
  const { options, title } = asked
  if (given === undefined && isInteractive()) {
    const details = shownDetails(asked, process.stderr)
    if (details !== "") tell(details)
    const choices = options.map(({ id, name }) => ({ value: id, label: harmless(name) }))
    const chosen = await ask.choice(shownName(title), choices)
    if (!(await isMeant(asked, chosen))) throw new CommandFailed({ message: "Nothing was answered." })
    return chosen
  }
  const found = options.find(({ id, name }) => id === given || name.toLowerCase() === given?.toLowerCase())
  if (found !== undefined) {
    // A person sees what the answer is about, because it may have changed since it was listed.
    if (asked.subject !== null) tell(shownDetails(asked, process.stderr))
    return found.id
  }
  const ids = options.map(({ id }) => id)
  throw new CommandFailed({
    message:
      given === undefined
        ? `Give an answer: ${ids.join(", ")}.`
        : `"${given}" is no answer to this.${didYouMean(given, ids)} There are: ${ids.join(", ")}.`
  })
}
