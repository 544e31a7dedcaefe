import {
  CLIENT_CAPABILITIES_META_KEY,
  type McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext
} from "@modelcontextprotocol/server"
import { ReinsApiError, ReinsConnectionError, ReinsValidationError } from "@reins/client"
import { z } from "zod"
import { abilitiesOf } from "./Asking.js"
import { cancelDeliveryOf, stateOfDelivery } from "./DeliveryTask.js"
import { isObject } from "./Input.js"
import { methodOf } from "./Messages.js"
import { mostOfTaskId, type NamedTask, taskOf } from "./TaskId.js"
import { handleOf, shownTask, type TaskState } from "./TaskState.js"
import { type Caller, cut, type Work } from "./Tool.js"
import { answerTurn, cancelTurnOf, stateOfTurn } from "./TurnTask.js"

/** The name of the extension. Both sides declare it, the client with each request. */
const extension = "io.modelcontextprotocol/tasks"

const needed = { extensions: { [extension]: {} } }

const declares = (capabilities: unknown): boolean => {
  const extensions = isObject(capabilities) ? capabilities["extensions"] : undefined
  return isObject(extensions) && isObject(extensions[extension])
}

const capabilitiesIn = ({ mcpReq }: ServerContext): unknown => {
  const envelope: Readonly<Record<string, unknown>> | undefined = mcpReq.envelope
  return envelope?.[CLIENT_CAPABILITIES_META_KEY]
}

/** The way for a tool to go on as a task; undefined for a client that does not take tasks. */
export const startTaskOf = (server: McpServer, context: ServerContext) => {
  if (!declares(capabilitiesIn(context))) return undefined
  const forms = abilitiesOf(server, context).showsForms
  return (work: Work) => {
    const at = Date.now()
    if (work.tool === "deliver") return handleOf({ ...work, at })
    const { seconds, ...turn } = work
    return handleOf({ ...turn, forms, at, until: seconds === undefined ? null : at + seconds * 1000 })
  }
}

/** Serves the tasks of the extension. Only requests of 2026 can ask for them. */
export const registerTasks = (server: McpServer, caller: Caller): void => {
  const protocol = server.server
  const serve = (
    method: "tasks/get" | "tasks/update" | "tasks/cancel",
    answer: (task: NamedTask, context: ServerContext) => Promise<Record<string, unknown>>
  ) =>
    protocol.setRequestHandler(
      method,
      { params: z.looseObject({ taskId: z.string() }) },
      async ({ taskId }, context) => {
        if (!declares(capabilitiesIn(context)))
          throw new MissingRequiredClientCapabilityError(
            { requiredCapabilities: needed },
            `${method} needs ${extension}.`
          )
        const task = taskOf(taskId)
        if (task === undefined) throw noTask(taskId)
        try {
          return await answer(task, context)
        } catch (error) {
          throw faultOf(taskId, error)
        }
      }
    )
  protocol.registerCapabilities(needed)
  serve("tasks/get", async (task, context) => {
    const state = await stateOf(caller, task)
    if (state.status === "input_required" && !abilitiesOf(server, context).showsForms)
      throw new MissingRequiredClientCapabilityError(
        { requiredCapabilities: { elicitation: { form: {} } } },
        "The task asks its person, and this client declares no forms."
      )
    return shownTask(task, state)
  })
  serve("tasks/update", async (task, { mcpReq }) => {
    const { droppedInputResponseKeys: dropped = [], inputResponses } = mcpReq
    if (inputResponses === undefined) throw invalid("tasks/update needs inputResponses.")
    if (dropped.length > 0) throw invalid(`These are no responses: ${cut(dropped.join(", "), 500)}.`)
    // A delivery asks before it begins, and never after.
    refuse(task.tool === "deliver" ? undefined : await answerTurn(caller, task, inputResponses), invalid)
    return {}
  })
  serve("tasks/cancel", async (task) => {
    refuse(task.tool === "deliver" ? await cancelDeliveryOf(caller, task) : await cancelTurnOf(caller, task), refused)
    return {}
  })
}

const stateOf = (caller: Caller, task: NamedTask): Promise<TaskState> =>
  task.tool === "deliver" ? stateOfDelivery(caller, task) : stateOfTurn(caller, task)

const invalid = (sentence: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, sentence)

const refused = (sentence: string) => new ProtocolError(ProtocolErrorCode.InvalidRequest, sentence)

const refuse = (sentence: string | undefined, as: (sentence: string) => ProtocolError): void => {
  if (sentence !== undefined) throw as(sentence)
}

const noTask = (id: string) =>
  invalid(`not_found: There is no task "${cut(id, mostOfTaskId)}", or these credentials may not see it.`)

/** A refusal of the API or of the way to it, as an error of the protocol. */
const faultOf = (id: string, error: unknown): unknown => {
  if (error instanceof ReinsApiError)
    return error.code === "not_found" ? noTask(id) : refused(`${error.code}: ${error.message}`)
  if (error instanceof ReinsValidationError) return noTask(id)
  if (error instanceof ReinsConnectionError)
    return new ProtocolError(ProtocolErrorCode.InternalError, `unreachable: ${error.message}`)
  return error
}

/** The scope that a request about a task needs; undefined for any other request. */
export const scopeOfTask = (message: unknown): "read" | "act" | "write" | undefined => {
  const method = methodOf(message)
  if (method === "tasks/get") return "read"
  if (method === "tasks/update") return "write"
  if (method !== "tasks/cancel") return undefined
  return taskOf(String(paramsOf(message)["taskId"]))?.tool === "deliver" ? "write" : "act"
}

/** The error for a client that wants to hear of tasks and does not declare that it takes them. The package knows nothing of it. */
export const lackOfTasks = (message: unknown): Record<string, unknown> | undefined => {
  if (methodOf(message) !== "subscriptions/listen") return undefined
  const { _meta: meta, notifications } = paramsOf(message)
  if (!isObject(notifications) || !Array.isArray(notifications["taskIds"])) return undefined
  const capabilities = isObject(meta) ? meta[CLIENT_CAPABILITIES_META_KEY] : undefined
  if (capabilities === undefined || declares(capabilities)) return undefined
  const {
    code,
    data,
    message: words
  } = new MissingRequiredClientCapabilityError({ requiredCapabilities: needed }, `taskIds need ${extension}.`)
  return { jsonrpc: "2.0", id: isObject(message) ? message["id"] : null, error: { code, message: words, data } }
}

const paramsOf = (message: unknown): Readonly<Record<string, unknown>> => {
  const params = isObject(message) ? message["params"] : undefined
  return isObject(params) ? params : {}
}
