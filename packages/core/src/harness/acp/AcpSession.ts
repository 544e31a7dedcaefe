import { Effect, Schema } from "effect"
import { type AcpAgent, ask, failed, tell } from "./AcpAgent.js"
import { InitializeResult, SessionResult } from "./AcpSchema.js"
import * as Failures from "./Failures.js"
import type * as JsonRpc from "./JsonRpc.js"

/** Makes the handshake. */
export const initialize = Effect.fnUntraced(function* (agent: AcpAgent, peer: JsonRpc.Peer) {
  const capabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false }
  const params = { protocolVersion: 1, clientCapabilities: capabilities, clientInfo: { name: "reins", version: "1" } }
  const result = yield* ask(agent, peer, "initialize", params, InitializeResult).pipe(
    Effect.catchTag("RpcError", failed(agent))
  )
  const known = agent.runtime.agent
  yield* tell(agent)([
    {
      _tag: "ready",
      agent_name: result.agentInfo?.name ?? known.name,
      agent_version: result.agentInfo?.version ?? known.version
    }
  ])
})

/** Resumes a native session. Fails when that is impossible, because a new session in its place would have forgotten everything. */
const resume = (agent: AcpAgent, peer: JsonRpc.Peer, sessionId: string) => {
  const { resume } = agent.settings
  if (resume === "none") return Effect.fail(Failures.contextUnavailable(agent.runtime, "it has no way to resume"))
  const params = { sessionId, cwd: agent.input.workspaceDir, mcpServers: [] }
  return ask(agent, peer, `session/${resume}`, params, Schema.NullishOr(SessionResult)).pipe(
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
}

/** Opens a new native session, or resumes the session of the conversation. */
export const openSession = Effect.fnUntraced(function* (agent: AcpAgent, peer: JsonRpc.Peer) {
  const { nativeSessionId, workspaceDir } = agent.input
  const session =
    nativeSessionId === null
      ? yield* ask(agent, peer, "session/new", { cwd: workspaceDir, mcpServers: [] }, SessionResult).pipe(
          Effect.catchTag("RpcError", failed(agent))
        )
      : yield* resume(agent, peer, nativeSessionId)
  const id = session.sessionId
  if (id === null || id === undefined) return yield* Failures.protocolBroken(agent.runtime, "session/new")
  yield* tell(agent)([{ _tag: "native_session", id, resumed: nativeSessionId !== null }])
  return { id, session }
})

/** Selects the model. A resumed session may still have the model of its last turn. */
export const selectModel = Effect.fnUntraced(function* (
  agent: AcpAgent,
  peer: JsonRpc.Peer,
  id: string,
  session: SessionResult
) {
  const { model_selector, model_value } = agent.settings
  const { model } = agent.input
  if (model === null || model_selector === "none") return
  const wanted = model_value.replaceAll("{{model}}", model)
  const refused = failed(agent)
  if (model_selector === "set_model") {
    if (session.models?.currentModelId === wanted) return
    const params = { sessionId: id, modelId: wanted }
    yield* Effect.catchTag(ask(agent, peer, "session/set_model", params, Schema.Unknown), "RpcError", refused)
    return
  }
  const option = session.configOptions?.find((each) => each.category === "model")
  if (option === undefined || option.currentValue === wanted) return
  const params = { sessionId: id, configId: option.id, value: wanted }
  yield* Effect.catchTag(ask(agent, peer, "session/set_config_option", params, Schema.Unknown), "RpcError", refused)
})
