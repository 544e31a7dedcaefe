import type * as acp from "@agentclientprotocol/sdk/unstable"
import { cutText } from "@reins/base/base/CutText"
import { Effect, Redacted, Ref, Schema } from "effect"
import type { OptionChoices } from "../AgentReport.js"
import type { PromptBlock } from "../TurnInput.js"
import { agentFailure, askAgent, startFailure, tellTurn } from "./AcpAgent.js"
import { ConfigOptions, InitializeResult, SessionResult } from "./AcpSchema.js"
import type { AcpAgent } from "./AcpState.js"
import * as Failures from "./Failures.js"
import type * as JsonRpc from "./JsonRpc.js"

/**
 * The abilities of this side that agents may use. Agents work on files and run commands themselves, so neither is offered. Input is asked for only where
 * somebody answers.
 */
const capabilities = ({ input }: AcpAgent): acp.ClientCapabilities => ({
  fs: { readTextFile: false, writeTextFile: false },
  terminal: false,
  session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
  plan: {},
  ...(input.isAnswered === true && { elicitation: { form: {}, url: {} } })
})

/** Makes the handshake. */
export const initialize = Effect.fnUntraced(function* (agent: AcpAgent, peer: JsonRpc.Peer) {
  const clientInfo = { name: "reins", version: "1" }
  const params = { protocolVersion: 1, clientCapabilities: capabilities(agent), clientInfo }
  const result = yield* askAgent(agent, peer, "initialize", params, InitializeResult).pipe(
    Effect.catchTag("RpcError", startFailure(agent))
  )
  yield* Ref.set(agent.offered, result.agentCapabilities ?? {})
  const known = agent.runtime.agent
  yield* tellTurn(agent)([
    {
      _tag: "ready",
      agent_name: result.agentInfo?.name ?? known.name,
      agent_version: result.agentInfo?.version ?? known.version
    }
  ])
})

/** The place of a native session, with the further directories and the servers of tools that the agent can be told of. */
const placeOf = ({ input, offered, settings }: AcpAgent) =>
  Effect.map(Ref.get(offered), ({ mcpCapabilities, sessionCapabilities }) => ({
    cwd: (input.seenAt ?? input).workspaceDir,
    ...(settings.session_meta && { _meta: settings.session_meta }),
    ...(sessionCapabilities?.additionalDirectories != null &&
      input.additionalDirectories !== undefined &&
      input.additionalDirectories.length > 0 && { additionalDirectories: [...input.additionalDirectories] }),
    mcpServers: (mcpCapabilities?.http === true ? (input.toolServers ?? []) : []).map(
      ({ name, token, url }): acp.McpServer => ({
        type: "http",
        name,
        url,
        headers: [{ name: "Authorization", value: `Bearer ${Redacted.value(token)}` }]
      })
    )
  }))

/** Resumes a native session. Fails when that is impossible, because a new session in its place would have forgotten everything. */
const resume = Effect.fnUntraced(function* (agent: AcpAgent, peer: JsonRpc.Peer, sessionId: string) {
  const { resume } = agent.settings
  if (resume === "none")
    return yield* Failures.contextUnavailable(agent.runtime, Failures.heard("it has no way to resume"))
  const params = { sessionId, ...(yield* placeOf(agent)) }
  return yield* askAgent(agent, peer, `session/${resume}`, params, Schema.NullishOr(SessionResult)).pipe(
    Effect.map((result) => ({ ...result, sessionId })),
    Effect.catchTag("RpcError", (error) => {
      const meaning = Failures.reported(Failures.rpcText(error), agent)
      return Effect.fail(
        meaning.reason === "credential_invalid"
          ? meaning
          : Failures.contextUnavailable(agent.runtime, Failures.rpcText(error))
      )
    })
  )
})

/** Opens a new native session, or resumes the session of the conversation. */
export const openSession = Effect.fnUntraced(function* (agent: AcpAgent, peer: JsonRpc.Peer) {
  const { nativeSessionId } = agent.input
  const session =
    nativeSessionId === null
      ? yield* askAgent(agent, peer, "session/new", yield* placeOf(agent), SessionResult).pipe(
          Effect.catchTag("RpcError", startFailure(agent))
        )
      : yield* resume(agent, peer, nativeSessionId)
  const id = session.sessionId
  if (id === null || id === undefined) return yield* Failures.protocolBroken(agent.runtime, "session/new")
  agent.facts.opened(session)
  yield* tellTurn(agent)([{ _tag: "native_session", id, resumed: nativeSessionId !== null }])
  return id
})

/** Sets an option, and notes what the agent says that its options are now. */
const setOption = Effect.fnUntraced(function* (
  agent: AcpAgent,
  peer: JsonRpc.Peer,
  sessionId: string,
  configId: string,
  value: string | boolean
) {
  const params = {
    sessionId,
    configId,
    ...(typeof value === "boolean" ? { type: "boolean" as const, value } : { value })
  }
  const answer = askAgent(agent, peer, "session/set_config_option", params, Schema.Unknown)
  const told = Schema.decodeUnknownOption(ConfigOptions)(
    yield* Effect.catchTag(answer, "RpcError", agentFailure(agent))
  )
  if (told._tag === "Some") agent.facts.opened(told.value)
})

const setModel = (agent: AcpAgent, peer: JsonRpc.Peer, sessionId: string, modelId: string) =>
  Effect.catchTag(
    askAgent(agent, peer, "session/set_model", { sessionId, modelId }, Schema.Unknown),
    "RpcError",
    agentFailure(agent)
  )

/** The longest name of a native session, in characters. */
const nameLength = 80

/**
 * Names a native session by the first line of its prompt, where the agent would otherwise ask a model for a name. An agent that refuses its name
 * works all the same.
 */
export const nameSession = (
  { settings }: AcpAgent,
  peer: JsonRpc.Peer,
  sessionId: string,
  prompt: ReadonlyArray<PromptBlock>
): Effect.Effect<void> => {
  if (settings.naming === "none") return Effect.void
  const text = prompt.flatMap((block) => (block.type === "text" ? block.text.trim().split("\n") : []))[0] ?? ""
  return Effect.ignore(
    peer.request("session/set_title", { sessionId, title: cutText(text, nameLength).trim() || sessionId })
  )
}

/** Selects the model. A resumed session may still have the model of its last agent. */
export const selectModel = Effect.fnUntraced(function* (agent: AcpAgent, peer: JsonRpc.Peer, sessionId: string) {
  const { model_selector: selector, model_value } = agent.settings
  const { model } = agent.input
  if (model === null || selector === "none") return
  const wanted = model_value.replaceAll("{{model}}", model)
  const { options } = agent.facts
  if (selector === "set_model") {
    const present = options.find((option) => option.category === "model" && agent.facts.isOlder(option))
    if (present?.value !== wanted) yield* setModel(agent, peer, sessionId, wanted)
    return
  }
  const option =
    selector === "config_option"
      ? options.find((each) => each.category === "model" && !agent.facts.isOlder(each))
      : options.find(({ id }) => id === selector.config_option)
  if (option === undefined && selector !== "config_option")
    return yield* Failures.notOffered(agent.runtime, `has no option ${selector.config_option} to choose the model with`)
  if (option === undefined || option.value === wanted) return
  yield* setOption(agent, peer, sessionId, option.id, wanted)
})

/** Sets the options that the session chooses, such as the mode and the thought level. Fails for one that the agent does not have. */
export const setOptions = Effect.fnUntraced(function* (
  agent: AcpAgent,
  peer: JsonRpc.Peer,
  sessionId: string,
  wanted: OptionChoices
) {
  for (const [name, value] of Object.entries(wanted)) {
    const { options } = agent.facts
    const option = options.find(({ id }) => id === name) ?? options.find(({ category }) => category === name)
    const isKnown =
      option !== undefined && (option.choices.length === 0 || option.choices.some((choice) => choice.value === value))
    if (!isKnown) {
      const known = option === undefined ? options.map(({ id }) => id) : option.choices.map((choice) => choice.value)
      return yield* Failures.notOffered(
        agent.runtime,
        `has no option ${name}${option === undefined ? "" : ` with the value ${value}`}; it has ${known.join(", ") || "none"}`
      )
    }
    if (option.value === value) continue
    if (!agent.facts.isOlder(option)) yield* setOption(agent, peer, sessionId, option.id, value)
    else if (option.category === "model") yield* setModel(agent, peer, sessionId, String(value))
    else {
      const params = { sessionId, modeId: String(value) }
      yield* Effect.catchTag(
        askAgent(agent, peer, "session/set_mode", params, Schema.Unknown),
        "RpcError",
        agentFailure(agent)
      )
      agent.facts.update("current_mode_update", { currentModeId: value })
    }
  }
})
