import { randomUUID } from "node:crypto"
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  inputResponse,
  type McpRequestContext,
  type McpServer,
  type ServerContext
} from "@modelcontextprotocol/server"
import { isObject } from "./Input.js"
import type { PersonalAnswer, PersonalQuestion } from "./Tool.js"

/** The time that a person has to answer on a connection of 2025, in milliseconds. The question stays open after it. */
const personMs = 600_000

/** The first version whose forms have titled choices. The one before has `enumNames` for that, and knows neither modes nor links. */
const titledChoices = "2025-11-25"

/** Puts questions to the person, in the form that the client's version of the protocol has. */
export const askingOf =
  (server: McpServer, era: McpRequestContext["era"], context: ServerContext) =>
  async (question: PersonalQuestion): Promise<PersonalAnswer> => {
    const { showsForms, showsLinks } = abilitiesOf(server, context)
    const asForm = showsForms && question.choices.length > 0
    if (!asForm && !showsLinks) return { kind: "unable" }
    if (era === "modern") return asForm ? askInRounds(context, question) : showInRounds(context, question)
    const isOld = (server.server.getNegotiatedProtocolVersion() ?? "") < titledChoices
    try {
      return asForm ? await askNow(context, question, isOld) : await showNow(context, question)
    } catch (error) {
      if (context.mcpReq.signal.aborted) throw error
      // The client did not answer, or cannot show this. The question stays open either way.
      return { kind: "unable" }
    }
  }

/** A request of 2026 brings the abilities of the client along. A connection of 2025 begins with them. One that names no mode has forms. */
export const abilitiesOf = ({ server }: McpServer, { mcpReq }: ServerContext) => {
  const envelope: Readonly<Record<string, unknown>> | undefined = mcpReq.envelope
  const told = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities()
  const modes = isObject(told) ? told["elicitation"] : undefined
  if (!isObject(modes)) return { showsForms: false, showsLinks: false }
  const has = (mode: string) => modes[mode] !== undefined && modes[mode] !== null && modes[mode] !== false
  return { showsForms: has("form") || !has("url"), showsLinks: has("url") }
}

export const formOf = ({ choices, message }: PersonalQuestion) => ({
  message,
  requestedSchema: schemaOf({
    type: "string" as const,
    title: "Your answer",
    oneOf: choices.map(({ id, name }) => ({ const: id, title: name }))
  })
})

const oldFormOf = ({ choices, message }: PersonalQuestion) => ({
  message,
  requestedSchema: schemaOf({
    type: "string" as const,
    title: "Your answer",
    enum: choices.map(({ id }) => id),
    enumNames: choices.map(({ name }) => name)
  })
})

const schemaOf = <Choice>(choice: Choice) => ({
  type: "object" as const,
  properties: { choice },
  required: ["choice"]
})

/** The choice that is meant. Programs that show a line of text send the words that their person has typed. */
export const choiceOf = <Choice extends { readonly id: string; readonly name: string }>(
  given: unknown,
  choices: ReadonlyArray<Choice>
): Choice | undefined => {
  if (typeof given !== "string") return undefined
  const word = given.trim().toLowerCase()
  const named = choices.filter(({ name }) => name.trim().toLowerCase() === word)
  return (
    choices.find(({ id }) => id === given) ??
    choices.find(({ id }) => id.toLowerCase() === word) ??
    (named.length === 1 ? named[0] : undefined)
  )
}

const chosen = (content: unknown, { choices }: PersonalQuestion): PersonalAnswer => {
  const id = choiceOf(isObject(content) ? content["choice"] : undefined, choices)?.id
  return id === undefined ? { kind: "unclear" } : { kind: "chosen", id }
}

/** In the protocol of 2026 the question is the result of the call, which comes again with the answer of the person. */
const askInRounds = ({ mcpReq }: ServerContext, question: PersonalQuestion): PersonalAnswer => {
  const given = inputResponse(mcpReq.inputResponses, "person")
  const { seen } = question
  if (given.kind === "missing")
    return {
      kind: "asking",
      result: inputRequired({
        inputRequests: { person: inputRequired.elicit(formOf(question)) },
        ...(seen !== undefined && { requestState: seen })
      })
    }
  // The state comes back as it was sent with the question that the person has answered.
  if (seen !== undefined && mcpReq.requestState() !== seen) return { kind: "changed" }
  const content = acceptedContent(mcpReq.inputResponses, "person")
  return content === undefined ? { kind: "declined" } : chosen(content, question)
}

const showInRounds = ({ mcpReq }: ServerContext, { message, page }: PersonalQuestion): PersonalAnswer => {
  const given = inputResponse(mcpReq.inputResponses, "person")
  if (given.kind === "missing")
    return {
      kind: "asking",
      result: inputRequired({ inputRequests: { person: inputRequired.elicitUrl({ message, url: page }) } })
    }
  return { kind: given.kind === "elicit" && given.action === "accept" ? "shown" : "declined" }
}

/** In the protocol of 2025 a connection can ask. A request over HTTP is no connection, and shows no capabilities. */
const askNow = async (
  { mcpReq }: ServerContext,
  question: PersonalQuestion,
  isOld: boolean
): Promise<PersonalAnswer> => {
  const params = isOld ? oldFormOf(question) : { mode: "form" as const, ...formOf(question) }
  const { action, content } = await mcpReq.send({ method: "elicitation/create", params }, waiting(mcpReq))
  return action === "accept" ? chosen(content, question) : { kind: "declined" }
}

const showNow = async ({ mcpReq }: ServerContext, { message, page }: PersonalQuestion): Promise<PersonalAnswer> => {
  const params = { mode: "url" as const, message, url: page, elicitationId: randomUUID() }
  const { action } = await mcpReq.send({ method: "elicitation/create", params }, waiting(mcpReq))
  return { kind: action === "accept" ? "shown" : "declined" }
}

const waiting = ({ signal }: ServerContext["mcpReq"]) => ({ signal, timeout: personMs })
