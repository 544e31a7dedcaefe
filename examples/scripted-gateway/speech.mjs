// @ts-check
/**
 * The parts that all ways to ask a model share. Each way reads a request into plain messages and tools, and writes an answer, streamed or not.
 *
 * @typedef {import("./gateway.mjs").ChatMessage} ChatMessage
 * @typedef {import("./script.mjs").Tool} Tool
 * @typedef {import("./script.mjs").ToolCall} ToolCall
 * @typedef {{ id: string, model: string, think: string, say: string, call: ToolCall | null, lack?: "cut" | "withheld" | undefined, pause: () => Promise<void>, closed: () => boolean }} Answer
 * @typedef {{ send: (data: object, event?: string) => void, raw: (text: string) => void }} Sse
 * @typedef {{ serves: (path: string) => boolean, asked?: (path: string) => { model: string, stream: boolean }, read: (body: any) => { messages: ChatMessage[], tools: Tool[] }, whole: (answer: Answer) => object, stream: (answer: Answer, sse: Sse) => AsyncGenerator<void>, error: (status: number, message: string, code?: string) => object }} Protocol
 */

export const tokens = { input: 1000, output: 20, cached: 100 }

/** @param {any} content @returns {string} */
export const textOf = (content) => {
  if (typeof content === "string") return content
  return Array.isArray(content) ? content.map((part) => part.text ?? textOf(part.content ?? "")).join("\n") : ""
}

/**
 * The images of a message, as data URLs or as addresses.
 *
 * @param {any} content @returns {{ images?: string[] }}
 */
export const imagesOf = (content) => {
  const parts = Array.isArray(content) ? content : []
  const images = parts.flatMap(({ image_url, source, type }) => {
    if (type === "image" && source?.type === "base64") return [`data:${source.media_type};base64,${source.data}`]
    const url = image_url?.url ?? image_url
    return typeof url === "string" ? [url] : []
  })
  return images.length === 0 ? {} : { images }
}

/** @param {string} text */
const words = (text) => text.match(/\S+\s*|\s+/g) ?? []

/** @param {Answer} answer @param {string} text @param {(word: string) => void} send */
export const speak = async function* (answer, text, send) {
  for (const word of words(text)) {
    if (answer.closed()) return
    send(word)
    yield
    await answer.pause()
  }
}
