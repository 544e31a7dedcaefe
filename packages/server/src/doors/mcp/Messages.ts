import { isObject, jsonIn } from "./Input.js"

// Messages of clients, before the package of the protocol reads them. It refuses null where nothing is meant.

/** A message, or a list of them, as the package takes it. */
export const readMessages = (given: unknown): unknown =>
  Array.isArray(given) ? given.map(readMessage) : readMessage(given)

/** A message whose parameters have no null, and whose arguments of a tool are an object. */
export const readMessage = (given: unknown): unknown => {
  if (!isObject(given) || typeof given["method"] !== "string") return given
  const { params, ...message } = given
  if (params === undefined || params === null) return message
  if (!isObject(params)) return given
  return { ...message, params: paramsOf(given["method"], params) }
}

const paramsOf = (method: string, params: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const kept = withoutNull(params)
  const meta = kept["_meta"]
  if (isObject(meta)) kept["_meta"] = withoutNull(meta)
  const given = kept["arguments"]
  if (method === "tools/call" && typeof given === "string") {
    if (given.trim() === "") delete kept["arguments"]
    else kept["arguments"] = jsonIn(given) ?? given
  }
  return kept
}

const withoutNull = (given: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))

export const methodOf = (message: unknown): string | undefined =>
  isObject(message) && typeof message["method"] === "string" ? message["method"] : undefined

/** The tool that a message calls; undefined for any other message. */
export const toolOf = (message: unknown): unknown => {
  if (methodOf(message) !== "tools/call" || !isObject(message)) return undefined
  const { params } = message
  return isObject(params) ? params["name"] : undefined
}
