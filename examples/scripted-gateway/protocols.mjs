// @ts-check
/**
 * Four ways to ask a model.
 *
 * @typedef {import("./gateway.mjs").ChatMessage} ChatMessage
 * @typedef {import("./script.mjs").ToolCall} ToolCall
 * @typedef {import("./speech.mjs").Answer} Answer
 * @typedef {import("./speech.mjs").Protocol} Protocol
 */

import { gemini } from "./gemini.mjs"
import { imagesOf, speak, textOf, tokens } from "./speech.mjs"

/** @type {Protocol} */
const chat = {
  serves: (path) => path === "/v1/chat/completions",
  read: (body) => {
    /** @type {ChatMessage[]} */
    const messages = []
    for (const message of body.messages ?? []) {
      const text = textOf(message.content)
      if (message.role === "tool") messages.push({ role: "tool_result", text })
      else
        messages.push({
          role: message.role === "developer" ? "system" : message.role,
          text,
          ...imagesOf(message.content)
        })
      for (const call of message.tool_calls ?? [])
        messages.push({ role: "tool_call", text: call.function?.arguments ?? "" })
    }
    const tools = (body.tools ?? []).map((/** @type {any} */ tool) => ({
      name: tool.function?.name,
      schema: tool.function?.parameters
    }))
    return { messages, tools }
  },
  whole: (answer) => ({
    id: answer.id,
    object: "chat.completion",
    created: 1,
    model: answer.model,
    choices: [
      {
        index: 0,
        finish_reason: chatEnd(answer),
        message: {
          role: "assistant",
          content: answer.say || null,
          ...(answer.call ? { tool_calls: [chatCall(answer.call)] } : {})
        }
      }
    ],
    usage: chatUsage
  }),
  stream: async function* (answer, sse) {
    const base = { id: answer.id, object: "chat.completion.chunk", created: 1, model: answer.model }
    const delta = (/** @type {object} */ delta, /** @type {string | null} */ finish_reason = null) =>
      sse.send({ ...base, choices: [{ index: 0, delta, finish_reason }] })
    delta({ role: "assistant", content: "" })
    yield* speak(answer, answer.think, (word) => delta({ reasoning_content: word }))
    yield* speak(answer, answer.say, (word) => delta({ content: word }))
    if (answer.call) delta({ tool_calls: [{ index: 0, ...chatCall(answer.call) }] })
    delta({}, chatEnd(answer))
    sse.send({ ...base, choices: [], usage: chatUsage })
    sse.raw("data: [DONE]\n\n")
  },
  error: (status, message, code) => ({
    error: { type: status === 401 ? "invalid_request_error" : "api_error", code: code ?? status, message }
  })
}

/** @param {Answer} answer */
const chatEnd = ({ call, lack }) =>
  lack === "cut" ? "length" : lack === "withheld" ? "content_filter" : call ? "tool_calls" : "stop"

const chatUsage = {
  prompt_tokens: tokens.input,
  completion_tokens: tokens.output,
  total_tokens: tokens.input + tokens.output,
  prompt_tokens_details: { cached_tokens: tokens.cached }
}

/** @param {ToolCall} call */
const chatCall = (call) => ({
  id: call.id,
  type: "function",
  function: { name: call.name, arguments: JSON.stringify(call.args) }
})

/** @type {Protocol} */
const responses = {
  serves: (path) => path === "/v1/responses",
  read: (body) => {
    /** @type {ChatMessage[]} */
    const messages = []
    for (const item of Array.isArray(body.input) ? body.input : [{ role: "user", content: body.input }]) {
      if (/_call$/.test(item.type ?? "")) messages.push({ role: "tool_call", text: item.arguments ?? item.input ?? "" })
      else if (/_call_output$/.test(item.type ?? "")) messages.push({ role: "tool_result", text: textOf(item.output) })
      else if (item.role)
        messages.push({
          role: item.role === "developer" ? "system" : item.role,
          text: textOf(item.content),
          ...imagesOf(item.content)
        })
    }
    const tools = (body.tools ?? []).flatMap((/** @type {any} */ tool) =>
      tool.type === "namespace"
        ? tool.tools.map((/** @type {any} */ { name, parameters }) => ({
            name,
            namespace: tool.name,
            schema: parameters
          }))
        : tool.type === "custom"
          ? [{ name: tool.name, freeform: true }]
          : tool.name
            ? [{ name: tool.name, schema: tool.parameters }]
            : []
    )
    return { messages, tools }
  },
  whole: (answer) => responsesBody(answer, responsesOutput(answer)),
  stream: async function* (answer, sse) {
    let sequence_number = 0
    const send = (/** @type {string} */ type, /** @type {object} */ data) =>
      sse.send({ type, sequence_number: sequence_number++, ...data }, type)
    const output = responsesOutput(answer)
    send("response.created", { response: { ...responsesBody(answer, []), status: "in_progress", usage: null } })
    for (const [output_index, item] of output.entries()) {
      const place = { item_id: item.id, output_index }
      if (item.type === "reasoning") {
        send("response.output_item.added", { output_index, item: { ...item, summary: [] } })
        send("response.reasoning_summary_part.added", {
          ...place,
          summary_index: 0,
          part: { type: "summary_text", text: "" }
        })
        yield* speak(answer, answer.think, (delta) =>
          send("response.reasoning_summary_text.delta", { ...place, summary_index: 0, delta })
        )
        send("response.reasoning_summary_text.done", { ...place, summary_index: 0, text: answer.think })
        send("response.reasoning_summary_part.done", {
          ...place,
          summary_index: 0,
          part: { type: "summary_text", text: answer.think }
        })
      } else if (item.type === "message") {
        send("response.output_item.added", { output_index, item: { ...item, status: "in_progress", content: [] } })
        send("response.content_part.added", {
          ...place,
          content_index: 0,
          part: { type: "output_text", text: "", annotations: [] }
        })
        yield* speak(answer, answer.say, (delta) =>
          send("response.output_text.delta", { ...place, content_index: 0, delta })
        )
        send("response.output_text.done", { ...place, content_index: 0, text: answer.say })
        send("response.content_part.done", { ...place, content_index: 0, part: item.content[0] })
      } else {
        send("response.output_item.added", { output_index, item: { ...item, status: "in_progress" } })
        if (item.type === "function_call") {
          send("response.function_call_arguments.delta", { ...place, delta: item.arguments })
          send("response.function_call_arguments.done", { ...place, arguments: item.arguments })
        }
      }
      send("response.output_item.done", { output_index, item })
    }
    send(answer.lack === undefined ? "response.completed" : "response.incomplete", {
      response: responsesBody(answer, output)
    })
  },
  error: chat.error
}

/** @param {Answer} answer @returns {any[]} */
const responsesOutput = ({ call, id, say, think }) => [
  ...(think
    ? [{ type: "reasoning", id: `rs_${id}`, summary: [{ type: "summary_text", text: think }], encrypted_content: null }]
    : []),
  ...(say
    ? [
        {
          type: "message",
          id: `msg_${id}`,
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: say, annotations: [] }]
        }
      ]
    : []),
  ...(call
    ? [
        call.freeform === undefined
          ? {
              type: "function_call",
              id: `fc_${id}`,
              call_id: call.id,
              name: call.name,
              ...(call.namespace === undefined ? {} : { namespace: call.namespace }),
              arguments: JSON.stringify(call.args),
              status: "completed"
            }
          : {
              type: "custom_tool_call",
              id: `ctc_${id}`,
              call_id: call.id,
              name: call.name,
              input: call.freeform,
              status: "completed"
            }
      ]
    : [])
]

/** @param {Answer} answer @param {any[]} output */
const responsesBody = (answer, output) => ({
  id: `resp_${answer.id}`,
  object: "response",
  created_at: 1,
  model: answer.model,
  status: answer.lack === undefined ? "completed" : "incomplete",
  ...(answer.lack !== undefined && {
    incomplete_details: { reason: answer.lack === "cut" ? "max_output_tokens" : "content_filter" }
  }),
  output,
  usage: {
    input_tokens: tokens.input,
    input_tokens_details: { cached_tokens: tokens.cached },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: answer.think ? 5 : 0 },
    total_tokens: tokens.input + tokens.output
  }
})

/** @type {Protocol} */
const messages = {
  serves: (path) => path === "/v1/messages",
  read: (body) => {
    /** @type {ChatMessage[]} */
    const read = []
    for (const message of body.messages ?? []) {
      for (const part of typeof message.content === "string"
        ? [{ type: "text", text: message.content }]
        : (message.content ?? [])) {
        if (part.type === "tool_use") read.push({ role: "tool_call", text: JSON.stringify(part.input) })
        else if (part.type === "tool_result") read.push({ role: "tool_result", text: textOf(part.content) })
        else read.push({ role: message.role, text: part.text ?? "", ...imagesOf([part]) })
      }
    }
    return {
      messages: read,
      tools: (body.tools ?? []).map((/** @type {any} */ tool) => ({ name: tool.name, schema: tool.input_schema }))
    }
  },
  whole: (answer) => messagesBody(answer),
  stream: async function* (answer, sse) {
    const send = (/** @type {string} */ type, /** @type {object} */ data) => sse.send({ type, ...data }, type)
    const body = messagesBody(answer)
    send("message_start", { message: { ...body, content: [], stop_reason: null } })
    for (const [index, block] of body.content.entries()) {
      const delta = (/** @type {object} */ delta) => send("content_block_delta", { index, delta })
      if (block.type === "thinking") {
        send("content_block_start", { index, content_block: { type: "thinking", thinking: "", signature: "" } })
        yield* speak(answer, answer.think, (thinking) => delta({ type: "thinking_delta", thinking }))
        delta({ type: "signature_delta", signature: block.signature })
      } else if (block.type === "text") {
        send("content_block_start", { index, content_block: { type: "text", text: "" } })
        yield* speak(answer, answer.say, (text) => delta({ type: "text_delta", text }))
      } else {
        send("content_block_start", { index, content_block: { ...block, input: {} } })
        delta({ type: "input_json_delta", partial_json: JSON.stringify(block.input) })
      }
      send("content_block_stop", { index })
    }
    send("message_delta", { delta: { stop_reason: body.stop_reason, stop_sequence: null }, usage: body.usage })
    send("message_stop", {})
  },
  error: (status, message, code) => ({
    type: "error",
    error: { type: code ?? (status === 401 ? "authentication_error" : "api_error"), message }
  })
}

/** @param {Answer} answer @returns {any} */
const messagesBody = ({ call, id, lack, model, say, think }) => ({
  id: `msg_${id}`,
  type: "message",
  role: "assistant",
  model,
  content: [
    ...(think ? [{ type: "thinking", thinking: think, signature: "c2NyaXB0ZWQ=" }] : []),
    ...(say ? [{ type: "text", text: say }] : []),
    ...(call ? [{ type: "tool_use", id: `toolu_${call.id}`, name: call.name, input: call.args }] : [])
  ],
  stop_reason: lack === "cut" ? "max_tokens" : lack === "withheld" ? "refusal" : call ? "tool_use" : "end_turn",
  stop_sequence: null,
  usage: {
    input_tokens: tokens.input,
    output_tokens: tokens.output,
    cache_read_input_tokens: tokens.cached,
    cache_creation_input_tokens: 0
  }
})

export const protocols = [chat, responses, messages, gemini]
