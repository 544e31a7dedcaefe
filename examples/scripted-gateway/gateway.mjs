#!/usr/bin/env node
// @ts-check
import { randomBytes } from "node:crypto"
import http from "node:http"
import { pathToFileURL } from "node:url"
import { protocols } from "./protocols.mjs"
import { currentStep, toolCall } from "./script.mjs"

/**
 * @typedef {import("./gateway.mjs").Step} Step
 * @typedef {import("./gateway.mjs").GatewayOptions} GatewayOptions
 * @typedef {import("./gateway.mjs").GatewayRequest} GatewayRequest
 * @typedef {import("./protocols.mjs").Protocol} Protocol
 */

export { script } from "./script.mjs"

export const defaultModels = ["scripted-1", "scripted-2"]

/** @param {http.IncomingMessage} request */
const readBody = async (request) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}")
  } catch {
    return {}
  }
}

/** @param {http.IncomingMessage} request @param {URL} url */
const presentedKey = ({ headers }, url) => {
  const header = headers.authorization ?? headers["x-api-key"] ?? headers["x-goog-api-key"]
  return String(header ?? url.searchParams.get("key") ?? "").replace(/^Bearer /, "")
}

/** @param {http.ServerResponse} response @param {number} status @param {object} body @param {Record<string, string>} [headers] */
const json = (response, status, body, headers = {}) => {
  response.writeHead(status, { "content-type": "application/json", ...headers })
  response.end(JSON.stringify(body))
}

/** The words that providers say with a status, roughly. */
const errorMessages = /** @type {Record<number, string>} */ ({
  401: "Incorrect API key provided.",
  402: "Insufficient credits.",
  403: "This key may not use the model.",
  404: "The model does not exist.",
  429: "Rate limit reached."
})

/** @param {number} status */
const errorMessage = (status) =>
  errorMessages[status] ??
  (status < 500 ? "The request is not valid." : "The server had an error while processing the request.")

/**
 * The images in a request, in the forms of all protocols.
 *
 * @param {any} value
 * @returns {number}
 */
const imagesIn = (value) => {
  if (typeof value !== "object" || value === null) return 0
  const isImage = /^(image|image_url|input_image)$/.test(value.type) || /^image\//.test(value.inlineData?.mimeType)
  return Object.values(value).reduce((sum, inner) => sum + imagesIn(inner), isImage ? 1 : 0)
}

/** @param {number} milliseconds */
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/**
 * The next answer: the step that is due, or words that say why there is none. A request without tools is the agent's own (a title).
 *
 * @param {ReturnType<Protocol["read"]>} read
 * @param {GatewayOptions} options
 * @returns {Step}
 */
const decide = (read, options) => {
  if (read.tools.length === 0) return { say: "Scripted title" }
  const current = currentStep(read.messages, options.plan)
  if (current === null) return { say: options.fallback ?? "This gateway follows a script, and the prompt has none." }
  return current.steps[current.index] ?? { say: "Done." }
}

/**
 * @param {Protocol} protocol
 * @param {any} body
 * @param {Step} step
 * @param {ReturnType<Protocol["read"]>} read
 * @param {http.ServerResponse} response
 */
const answer = async (protocol, body, step, read, response) => {
  if (step.error !== undefined) {
    const headers = step.retry_after === undefined ? {} : { "retry-after": String(step.retry_after) }
    return json(
      response,
      step.error,
      protocol.error(step.error, step.message ?? errorMessage(step.error), step.code),
      headers
    )
  }
  if (step.garble !== undefined) return void response.writeHead(200).end(step.garble)
  if (step.hang && step.say === undefined) return
  const id = randomBytes(8).toString("hex")
  const call = step.tool === undefined ? null : toolCall(step, read.tools, `call_${id}`)
  const missing = step.tool !== undefined && call === null
  const model = {
    id,
    model: String(body.model ?? ""),
    think: step.think ?? "",
    say: missing
      ? `No offered tool can ${step.tool}: ${read.tools.map((tool) => tool.name).join(", ")}.`
      : (step.say ?? ""),
    call,
    lack: step.lack,
    pause: () => (step.slow_ms ? sleep(step.slow_ms) : Promise.resolve()),
    closed: () => response.destroyed
  }
  if (body.stream !== true) return step.drop ? response.destroy() : json(response, 200, protocol.whole(model))
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" })
  const raw = (/** @type {string} */ text) => void response.write(text)
  const send = (/** @type {object} */ data, /** @type {string | undefined} */ event) =>
    raw(`${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`)
  const interrupted = step.drop === true || step.hang === true
  let spoken = 0
  for await (const _ of protocol.stream(
    { ...model, say: interrupted ? model.say || "one two " : model.say },
    { send, raw }
  )) {
    if (interrupted && ++spoken === 2) break
  }
  if (step.drop) {
    // A reset throws away what was not sent yet, and the words before it are the point.
    await new Promise((resolve) => response.write("\n", resolve))
    await sleep(20)
    return response.socket?.resetAndDestroy()
  }
  if (!step.hang && !response.destroyed) response.end()
}

/**
 * @param {GatewayOptions} [options]
 * @returns {Promise<import("./gateway.mjs").Gateway>}
 */
export const startGateway = async (options = {}) => {
  const models = options.models ?? defaultModels
  /** @type {GatewayRequest[]} */
  const requests = []

  /** @param {http.IncomingMessage} request @param {http.ServerResponse} response */
  const handle = async (request, response) => {
    const url = new URL(request.url ?? "/", "http://gateway")
    const path = url.pathname
    const authorized = options.apiKey === undefined || presentedKey(request, url) === options.apiKey
    const protocol = protocols.find((candidate) => candidate.serves(path))
    const given = request.method === "POST" ? await readBody(request) : {}
    const body = { ...given, ...protocol?.asked?.(path) }
    const read = protocol?.read(body) ?? { messages: [], tools: [] }
    const step = protocol === undefined ? {} : decide(read, options)
    /** @type {GatewayRequest} */
    const record = {
      method: request.method ?? "",
      path,
      authorized,
      model: body.model,
      stream: body.stream === true,
      messages: read.messages,
      tools: read.tools.map((tool) => tool.name),
      images: imagesIn(body.messages ?? body.input ?? body.contents),
      step
    }
    requests.push(record)
    options.onRequest?.(record)
    if (!authorized) return json(response, 401, (protocol ?? protocols[0])?.error(401, errorMessage(401)) ?? {})
    if (request.method === "GET" && path === "/v1beta/models") {
      const listed = models.map((id) => ({ name: `models/${id}`, displayName: id, inputTokenLimit: 128_000 }))
      return json(response, 200, { models: listed })
    }
    if (request.method === "GET" && path === "/v1/models") {
      const data = models.map((id) => ({
        id,
        object: "model",
        type: "model",
        display_name: id,
        created: 1,
        owned_by: "scripted"
      }))
      return json(response, 200, { object: "list", data, has_more: false })
    }
    if (protocol === undefined)
      return json(response, 404, { error: { type: "not_found_error", message: `Nothing is served at ${path}.` } })
    await answer(protocol, body, step, read, response)
  }

  const server = http.createServer((request, response) => {
    handle(request, response).catch((error) => {
      if (!response.headersSent) json(response, 500, { error: { type: "server_error", message: String(error) } })
      else response.destroy()
    })
  })
  await new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(options.port ?? 0, options.host ?? "127.0.0.1", () => resolve(undefined))
  })
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/v1`,
    geminiUrl: `http://127.0.0.1:${port}/v1beta`,
    port,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const port = Number(process.env.PORT ?? 0)
  const apiKey = process.env.GATEWAY_API_KEY
  const say = (/** @type {string} */ base_url) =>
    process.stdout.write(`${JSON.stringify({ event: "ready", base_url, models: defaultModels })}\n`)
  startGateway({ port, ...(apiKey === undefined ? {} : { apiKey }) }).then(({ url }) => say(url))
}
