// @ts-check
/**
 * @typedef {import("./speech.mjs").Answer} Answer
 * @typedef {import("./speech.mjs").Protocol} Protocol
 * @typedef {import("./gateway.mjs").ChatMessage} ChatMessage
 */

import { speak, tokens } from "./speech.mjs"

/** A model and what is asked of it stand in the path: `/v1beta/models/<model>:streamGenerateContent`. */
const geminiPath = /^\/v1beta\/models\/([^:]+):(generateContent|streamGenerateContent)$/

/** @type {Protocol} */
export const gemini = {
  serves: (path) => geminiPath.test(path),
  asked: (path) => {
    const [, model = "", method = ""] = geminiPath.exec(path) ?? []
    return { model: decodeURIComponent(model), stream: method === "streamGenerateContent" }
  },
  read: (body) => {
    /** @type {ChatMessage[]} */
    const read = (body.systemInstruction?.parts ?? []).map((/** @type {any} */ part) => ({
      role: "system",
      text: part.text ?? ""
    }))
    for (const content of body.contents ?? []) {
      for (const part of content.parts ?? []) {
        if (part.functionCall) read.push({ role: "tool_call", text: JSON.stringify(part.functionCall.args ?? {}) })
        else if (part.functionResponse)
          read.push({ role: "tool_result", text: JSON.stringify(part.functionResponse.response ?? {}) })
        else read.push({ role: content.role === "model" ? "assistant" : "user", text: part.text ?? "" })
      }
    }
    const tools = (body.tools ?? []).flatMap((/** @type {any} */ tool) =>
      (tool.functionDeclarations ?? []).map((/** @type {any} */ declared) => ({
        name: declared.name,
        schema: declared.parametersJsonSchema ?? declared.parameters
      }))
    )
    return { messages: read, tools }
  },
  whole: (answer) => geminiBody(answer, [...geminiParts(answer), ...geminiCall(answer)], geminiEnd(answer)),
  stream: async function* (answer, sse) {
    const part = (/** @type {object} */ part) => sse.send(geminiBody(answer, [part]))
    yield* speak(answer, answer.think, (text) => part({ text, thought: true }))
    yield* speak(answer, answer.say, (text) => part({ text }))
    sse.send(geminiBody(answer, geminiCall(answer), geminiEnd(answer)))
  },
  error: (status, message, code) => ({
    error: { code: status, message, status: code ?? (status === 401 ? "UNAUTHENTICATED" : "INTERNAL") }
  })
}

/** @param {Answer} answer */
const geminiEnd = ({ lack }) => (lack === "cut" ? "MAX_TOKENS" : lack === "withheld" ? "SAFETY" : "STOP")

/** @param {Answer} answer @returns {object[]} */
const geminiParts = ({ say, think }) => [
  ...(think ? [{ text: think, thought: true }] : []),
  ...(say ? [{ text: say }] : [])
]

/** @param {Answer} answer @returns {object[]} */
const geminiCall = ({ call }) => (call ? [{ functionCall: { id: call.id, name: call.name, args: call.args } }] : [])

/** @param {Answer} answer @param {object[]} parts @param {string} [finishReason] */
const geminiBody = ({ id, model }, parts, finishReason) => ({
  candidates: [
    { index: 0, content: { role: "model", parts }, ...(finishReason === undefined ? {} : { finishReason }) }
  ],
  ...(finishReason === undefined
    ? {}
    : {
        usageMetadata: {
          promptTokenCount: tokens.input,
          cachedContentTokenCount: tokens.cached,
          candidatesTokenCount: tokens.output,
          totalTokenCount: tokens.input + tokens.output
        }
      }),
  modelVersion: model,
  responseId: id
})
